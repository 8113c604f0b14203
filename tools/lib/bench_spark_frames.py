"""Provides the session and MNIST as frames for the Spark programs of tools/bench."""
import time

from pyspark.ml.feature import ElementwiseProduct, VectorAssembler
from pyspark.ml.linalg import Vectors
from pyspark.sql import SparkSession

PIXELS, CLASSES = 784, 10
HIDDEN = [64]
CONF = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR", "spark.driver.memory": "3g",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


def session():
    builder = SparkSession.builder.master("local[2]").appName("espalier-bench")
    for key, value in CONF.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def digits(spark, folder):
    """Returns a cached frame of labels and of pixels from 0 to 1."""
    names = ["p%d" % i for i in range(PIXELS)]
    frame = spark.read.csv(folder, schema="label double, " + ", ".join(n + " int" for n in names))
    frame = VectorAssembler(inputCols=names, outputCol="bytes").transform(frame)
    frame = ElementwiseProduct(scalingVec=Vectors.dense([1 / 255] * PIXELS), inputCol="bytes",
                               outputCol="features").transform(frame)
    frame = frame.select("label", "features").cache()
    frame.count()
    return frame


def timed(work):
    started = time.monotonic()
    return work(), time.monotonic() - started
