"""Espalier for Spark: Estimators that only submit jobs.

>>> from espalier.spark import EspalierClassifier
>>> classifier = EspalierClassifier(coordinator="head:7700", hiddenLayers=[256, 256], maxIter=20,
...                                 workDirectory="hdfs:///tmp/espalier")
>>> model = classifier.fit(frame)          # a job of the cluster; no executor computes a gradient
>>> model.transform(frame)                 # in the executors, by NumPy

``fit`` writes the necessary columns as Parquet files that the cluster's workers can read. It
submits a job, follows it, and removes the files. Estimators and models work in a ``Pipeline`` and
in ``CrossValidator``, and are saved and loaded like Spark's own. ``MultilayerPerceptronClassifier``
replaces Spark's and has the same Params. ``SparkTorch`` has SparkTorch's.

Without a cluster, ``launch_on_spark(spark, workers=4)`` starts one in Spark's executors.

The package is part of the client's wheel and needs pyspark 3.5 or newer. In executors, `espalier`
must be importable (the wheel, as a .zip, by ``--py-files``), with NumPy, pandas and pyarrow. The
driver's Python also needs grpcio, protobuf and PyYAML.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimator import EspalierClassifier, EspalierRegressor
    from .launch import SparkCluster, launch_on_spark
    from .model import EspalierModel
    from .perceptron import MultilayerPerceptronClassifier
    from .perceptron_model import MultilayerPerceptronClassificationModel
    from .torch import SparkTorch

__all__ = ["EspalierClassifier", "EspalierModel", "EspalierRegressor",
           "MultilayerPerceptronClassificationModel", "MultilayerPerceptronClassifier",
           "SparkCluster", "SparkTorch", "launch_on_spark"]

# Imported on first use, because code in executors needs no gRPC.
_HOMES = {"EspalierClassifier": "estimator", "EspalierRegressor": "estimator",
          "EspalierModel": "model", "MultilayerPerceptronClassifier": "perceptron",
          "MultilayerPerceptronClassificationModel": "perceptron_model",
          "SparkTorch": "torch", "SparkCluster": "launch", "launch_on_spark": "launch"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError("module 'espalier.spark' has no attribute '%s'" % name)
    value = getattr(import_module("." + _HOMES[name], __name__), name)
    globals()[name] = value
    return value
