"""Starts workers in Spark's own executors, as TorchDistributor starts processes there. It needs no
cluster in addition to Spark.

    spark-submit launch.py job.yaml --workers 2 --package hdfs:///espalier-0.1.0-linux-x86_64.tar.gz

All executors must see the paths in the job file.
"""
import argparse

from pyspark.sql import SparkSession

from espalier.progress import headline
from espalier.spark import launch_on_spark


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--package", default=None)
    args = parser.parse_args()
    spark = SparkSession.builder.appName("launch").getOrCreate()

    with launch_on_spark(spark, workers=args.workers, package=args.package) as cluster:
        result = cluster.submit(args.job).result(progress=True)
    print("weights %s" % result.weights_sha256)
    for name in ("train", "validation", "test"):  # the rows that the job uses
        metrics = getattr(result, name)
        if metrics is not None:
            print("%-11s%s" % (name, headline(metrics)))
    spark.stop()


if __name__ == "__main__":
    main()
