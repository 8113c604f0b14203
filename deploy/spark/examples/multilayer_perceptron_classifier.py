"""Runs Spark's own example of MultilayerPerceptronClassifier. Only the import of the class differs.

    export ESPALIER_COORDINATOR=head:7700 ESPALIER_WORK_DIRECTORY=hdfs:///tmp/espalier
    spark-submit multilayer_perceptron_classifier.py \\
        $SPARK_HOME/data/mllib/sample_multiclass_classification_data.txt
"""
import argparse

from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.sql import SparkSession

from espalier.spark import MultilayerPerceptronClassifier


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="LIBSVM text")
    args = parser.parse_args()
    spark = SparkSession.builder.appName("multilayer_perceptron").getOrCreate()

    data = spark.read.format("libsvm").load(args.data)
    train, test = data.randomSplit([0.6, 0.4], 1234)

    layers = [4, 5, 4, 3]  # features, two hidden layers, classes
    trainer = MultilayerPerceptronClassifier(maxIter=100, layers=layers, blockSize=128, seed=1234)
    model = trainer.fit(train)

    result = model.transform(test)
    evaluator = MulticlassClassificationEvaluator(metricName="accuracy")
    print("Test set accuracy = %s" % evaluator.evaluate(result.select("prediction", "label")))
    spark.stop()


if __name__ == "__main__":
    main()
