"""Classifies handwritten digits as SparkTorch's example does: assemble, fit, save, load, evaluate.

    spark-submit mnist_pipeline.py TRAIN.csv TEST.csv hdfs:///tmp/espalier hdfs:///models/digits \\
        --coordinator head:7700

The tables have no header. The columns are the label, then 784 pixels.
"""
import argparse

from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession

from espalier.spark import EspalierClassifier


def table(spark, path):
    pixels = ", ".join("p%d int" % i for i in range(784))
    return spark.read.csv(path, schema="label int, " + pixels)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("train", "test", "work", "model"):
        parser.add_argument(name)
    parser.add_argument("--coordinator", default="")
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    spark = SparkSession.builder.appName("digits").getOrCreate()

    train, test = table(spark, args.train), table(spark, args.test)
    assembler = VectorAssembler(inputCols=train.columns[1:], outputCol="features")
    classifier = EspalierClassifier(coordinator=args.coordinator, workDirectory=args.work,
                                    labelCol="label", hiddenLayers=[256, 256], stepSize=1e-3,
                                    batchSize=256, maxIter=args.epochs, seed=1,
                                    validationFraction=0.1, job="{data: {features: "
                                    "{scale: {divide: 255}}}}")
    fitted = Pipeline(stages=[assembler, classifier]).fit(train)
    fitted.write().overwrite().save(args.model)

    predictions = PipelineModel.load(args.model).transform(test).cache()
    for metric in ("accuracy", "f1"):
        evaluator = MulticlassClassificationEvaluator(labelCol="label", metricName=metric)
        print("test %s = %.4f" % (metric, evaluator.evaluate(predictions)))
    spark.stop()


if __name__ == "__main__":
    main()
