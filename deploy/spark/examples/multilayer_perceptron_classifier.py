"""Spark's own example of MultilayerPerceptronClassifier with another estimator: the same layers,
activation and solver.

    spark-submit multilayer_perceptron_classifier.py \\
        $SPARK_HOME/data/mllib/sample_multiclass_classification_data.txt hdfs:///tmp/espalier \\
        --coordinator head:7700
"""
import argparse

from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.sql import SparkSession

from espalier.spark import EspalierClassifier


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="LIBSVM text")
    parser.add_argument("work")
    parser.add_argument("--coordinator", default="")
    args = parser.parse_args()
    spark = SparkSession.builder.appName("multilayer_perceptron").getOrCreate()

    data = spark.read.format("libsvm").load(args.data)
    train, test = data.randomSplit([0.6, 0.4], 1234)

    # layers=[4, 5, 4, 3]: inputs and classes are the data's.
    trainer = EspalierClassifier(coordinator=args.coordinator, workDirectory=args.work,
                                 hiddenLayers=[5, 4], activation="sigmoid", optimizer="lbfgs",
                                 stepSize=1.0, batchSize=8192, scale="none", maxIter=150, seed=1234)
    model = trainer.fit(train)

    result = model.transform(test)
    evaluator = MulticlassClassificationEvaluator(metricName="accuracy")
    print("Test set accuracy = %.4f" % evaluator.evaluate(result.select("prediction", "label")))
    spark.stop()


if __name__ == "__main__":
    main()
