"""Trains a regression as Horovod's estimators do. Parquet is prepared once and read in place. One
column selects the rows for validation, one is the weight of a row, and categories are embedded.

    spark-submit fit_on_parquet.py hdfs:///tmp/sales hdfs:///tmp/espalier --coordinator head:7700

The example generates the sales of shops. A real program would begin with its own tables.
"""
import argparse

from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from espalier.spark import EspalierRegressor


def made_up_sales(spark, rows):
    """Generates sales of a shop on a day from the shop, the weekday, promotion and distance."""
    shop, day = F.col("id") % 40, (F.col("id") / 40).cast("long")
    return (spark.range(rows)
            .withColumn("shop", F.concat(F.lit("shop "), shop.cast("string")))
            .withColumn("weekday", day % 7)
            .withColumn("promotion", (F.rand(1) < 0.3).cast("double"))
            .withColumn("distance", F.exp(F.randn(2)) * 1000)
            .withColumn("sales", (5 + 0.05 * shop + 0.1 * F.sin(F.col("weekday")) +
                                  0.25 * F.col("promotion") -
                                  0.05 * F.log1p("distance") + 0.02 * F.randn(3)))
            .withColumn("open_hours", F.when(F.col("weekday") < 6, 12.0).otherwise(6.0))
            .withColumn("held_out", F.rand(4) < 0.1)
            .drop("id"))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", help="path of the prepared rows, which are written if missing")
    parser.add_argument("work")
    parser.add_argument("--coordinator", default="")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()
    spark = SparkSession.builder.appName("sales").getOrCreate()

    made_up_sales(spark, args.rows).write.mode("overwrite").parquet(args.table)

    estimator = EspalierRegressor(
        coordinator=args.coordinator, workDirectory=args.work,
        inputCols=["promotion", "distance"], categoricalCols=["shop", "weekday"],
        embeddingSizes=[8, 3], labelCol="sales", weightCol="open_hours",
        validationIndicatorCol="held_out", hiddenLayers=[64, 32], stepSize=5e-3, batchSize=256,
        maxIter=args.epochs, patience=5, seed=7)
    model = estimator.fit_on_parquet(args.table)
    print("validation rmse = %.4f" % model.result.validation.rmse)

    held_out = model.transform(spark.read.parquet(args.table).filter("held_out"))
    evaluator = RegressionEvaluator(labelCol="sales", weightCol="open_hours")
    print("rmse by Spark = %.4f" % evaluator.evaluate(held_out))
    held_out.select("shop", "weekday", "sales", "prediction").show(5)
    spark.stop()


if __name__ == "__main__":
    main()
