"""SparkTorch's Params on the cluster."""

from __future__ import annotations

from typing import Any, Dict, List

from pyspark.ml.param import Param, TypeConverters
from pyspark.sql import DataFrame

from .._bundle import LOSSES
from ..errors import InvalidArgumentError
from .estimator import EspalierClassifier
from .model import EspalierModel
from .params import param, with_setters

__all__: List[str] = ["SparkTorch"]

_WORDS = ("iters", "miniBatch", "partitions", "partitionShuffles", "validationPct",
          "earlyStopPatience", "mode")
# Params that these words define, with the word to use.
_OTHERS = {"maxIter": "iters", "steps": "iters", "batchSize": "miniBatch",
           "accumulateSteps": "miniBatch", "patience": "earlyStopPatience",
           "validationFraction": "validationPct"}
_PARTITIONS_MAX = 1024


@with_setters
class SparkTorch(EspalierClassifier):
    """Trains with the Params of SparkTorch's estimator: iters, miniBatch, partitions,
    partitionShuffles, validationPct, earlyStopPatience, verbose and mode (synchronous or hogwild).
    They have the same meanings. So do the defaults of these Params, of scale and of predictionCol:
    features are not scaled, and the predictions are in "predicted". `inputCol` is another name of
    featuresCol. Unlike SparkTorch, the estimator also adds probabilities, and labels keep their
    values: a label that does not occur has no output.

    hiddenLayers, activation, loss, optimizer and stepSize describe the network and its optimizer,
    in place of `torchObj`. A `loss` of a regression, for example mse, makes it a regression.
    The other Params are those of EspalierClassifier, except the ones that the Params above define:
    maxIter, steps, batchSize, accumulateSteps, patience and validationFraction. The frame's number
    of partitions is the default of `partitions`, because `miniBatch` counts rows of each of them.
    """

    iters: Param[int] = param("iters", "number of iterations; each is one update",
                              TypeConverters.toInt)
    miniBatch: Param[int] = param(
        "miniBatch", "rows of each partition in an update; -1: all rows", TypeConverters.toInt)
    partitions: Param[int] = param(
        "partitions", "number of partitions, and the largest number of workers; -1: as many as the "
        "frame has if there is a miniBatch, otherwise any number of workers", TypeConverters.toInt)
    partitionShuffles: Param[int] = param(
        "partitionShuffles", "how often `iters` iterations are run", TypeConverters.toInt)
    validationPct: Param[float] = param(
        "validationPct", "share of the rows for validation, from 0 to 0.99", TypeConverters.toFloat)
    earlyStopPatience: Param[int] = param(
        "earlyStopPatience", "number of evaluations without a better loss after which training "
        "stops; -1: never", TypeConverters.toInt)
    mode: Param[str] = param(
        "mode", "synchronous, or hogwild: workers do not wait for each other",
        TypeConverters.toString)
    _not_keys = ("mode",)
    _compat = ("compat.sparktorch", "SparkTorch's Params")

    def set_job_defaults(self) -> None:
        super().set_job_defaults()
        self._setDefault(verbose=False, scale="none", predictionCol="predicted",
                         iters=10, miniBatch=-1, partitions=-1, partitionShuffles=1,
                         validationPct=0.0, earlyStopPatience=-1, mode="synchronous")

    def setParams(self, **options: Any) -> Any:
        """Sets Params by name. None leaves a Param unchanged."""
        name = options.pop("inputCol", None)
        if name is not None:
            if options.get("featuresCol") is not None:
                raise InvalidArgumentError("inputCol: found it with featuresCol, which is another "
                                           "name of it. Remove one of them")
            options["featuresCol"] = name
        return super().setParams(**options)

    def setInputCol(self, value: str) -> Any:
        """Sets the Param featuresCol."""
        return self.setParams(inputCol=value)

    def getInputCol(self) -> str:
        """Returns the value of the Param featuresCol, or its default."""
        return str(self.getFeaturesCol())

    @property
    def _task(self) -> str:  # type: ignore
        return "regression" if self.getOrDefault(self.loss) in LOSSES["regression"] else \
            "classification"

    def training_spec(self, task: str) -> Dict[str, Any]:
        for name, word in _OTHERS.items():
            if self.isSet(name):
                raise InvalidArgumentError("%s: found it set, expected %s, which has its place "
                                           "here. EspalierClassifier has this Param" % (name, word))
        spec = super().training_spec(task)
        for key in ("batch", "epochs"):
            spec["train"].pop(key, None)
        words = {name: self.getOrDefault(name) for name in _WORDS}
        return dict(spec, compat={"sparktorch": words})

    def _fit(self, dataset: DataFrame) -> EspalierModel:
        return super(SparkTorch, self._partitioned(dataset))._fit(dataset)

    def _partitioned(self, frame: DataFrame) -> SparkTorch:
        """Returns this estimator with the number of the frame's partitions, if it needs one."""
        if self.getOrDefault(self.miniBatch) < 0 or self.getOrDefault(self.partitions) > 0:
            return self
        count = min(max(1, frame.rdd.getNumPartitions()), _PARTITIONS_MAX)
        return self.copy({self.getParam("partitions"): count})
