"""Spark's MultilayerPerceptronClassifier by the cluster: programs change their import alone."""

from __future__ import annotations

from typing import Any, Dict, List

from pyspark.ml.linalg import Vector
from pyspark.ml.param import Param, TypeConverters

from ..errors import InvalidArgumentError
from .estimator import EspalierClassifier
from .params import param, with_setters

__all__: List[str] = ["MultilayerPerceptronClassifier"]

# What `layers` and `solver` say already.
_OTHERS = ("hiddenLayers", "activation", "dropout", "loss", "optimizer", "batchSize", "warmStart")


@with_setters
class MultilayerPerceptronClassifier(EspalierClassifier):
    """pyspark.ml.classification.MultilayerPerceptronClassifier, trained on the cluster: the same
    Params with the same defaults, but `seed`, which is 1. Sigmoid layers in double precision and a
    softmax; l-bfgs ends as Breeze's does.

    All other Params are those of EspalierClassifier, but for hiddenLayers, activation, dropout,
    loss, optimizer, batchSize and warmStart. A program of Spark's sets none of them: coordinator
    and workDirectory are taken from the environment (ESPALIER_COORDINATOR,
    ESPALIER_WORK_DIRECTORY).
    """

    layers: Param[List[int]] = param(
        "layers", "how many features there are, units of each hidden layer, how many classes there "
        "are", TypeConverters.toListInt)
    solver: Param[str] = param("solver", "l-bfgs, or gd: gradient descent of all rows",
                               TypeConverters.toString)
    tol: Param[float] = param("tol", "of l-bfgs: how little better the loss becomes at the end",
                              TypeConverters.toFloat)
    blockSize: Param[int] = param("blockSize", "as in Spark's; it changes nothing here",
                                  TypeConverters.toInt)
    initialWeights: Param[Vector] = param(
        "initialWeights", "that training begins with, in Spark's order; many of them fit into no "
        "job file: job='{compat: {spark-mlp: {initialWeights: hdfs://...}}}' names a file",
        TypeConverters.toVector)
    thresholds: Param[List[float]] = param(
        "thresholds", "one a class: the class is predicted whose probability is the largest "
        "multiple of its own", TypeConverters.toListFloat)

    def set_job_defaults(self) -> None:
        super().set_job_defaults()
        self._setDefault(solver="l-bfgs", tol=1e-6, blockSize=128, maxIter=100, stepSize=0.03,
                         scale="none")

    def training_spec(self, task: str) -> Dict[str, Any]:
        others = [name for name in _OTHERS if self.isSet(name)]
        if others:
            raise InvalidArgumentError("%s: found it set, but layers and solver say what is "
                                       "trained; EspalierClassifier has it" % others[0])
        if not self.isDefined(self.layers):
            raise InvalidArgumentError("layers is not set", hint="For example layers=[4, 5, 4, 3]: "
                                       "4 features, two hidden layers, 3 classes.")
        words = {name: self.getOrDefault(name) for name in (
            "layers", "solver", "tol", "blockSize", "maxIter", "stepSize", "seed")}
        if self.isSet(self.initialWeights):
            words["initialWeights"] = self.getOrDefault(self.initialWeights).toArray().tolist()
        if self.isSet(self.thresholds):
            words["thresholds"] = self.getOrDefault(self.thresholds)
        return {"compat": {"spark-mlp": words}}
