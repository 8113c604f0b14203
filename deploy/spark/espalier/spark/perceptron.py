"""Spark's MultilayerPerceptronClassifier on the cluster. Programs change only their import."""

from __future__ import annotations

from typing import Any, Dict, List

from pyspark.ml.param.shared import HasMaxIter, HasStepSize
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType

from ..errors import InvalidArgumentError
from . import files
from .estimator import EspalierClassifier
from .model import EspalierModel
from .params import with_setters
from .perceptron_model import MultilayerPerceptronClassificationModel, PerceptronParams
from .rows import column

__all__: List[str] = ["MultilayerPerceptronClassifier"]

# Params that `layers` and `solver` already define.
_OTHERS = ("hiddenLayers", "activation", "dropout", "loss", "optimizer", "batchSize", "warmStart")
# Weight of the row that is added for a class without rows. It changes no sum of other weights.
_NO_WEIGHT = 1e-300
_CLASSES_MAX = 10_000


@with_setters
class MultilayerPerceptronClassifier(EspalierClassifier, PerceptronParams):
    """pyspark.ml.classification.MultilayerPerceptronClassifier, trained on the cluster. It has the
    same Params with the same defaults, except that `seed` is 1. Layers are sigmoid in double
    precision, with a softmax. l-bfgs ends as Breeze's does. `fit` returns a
    MultilayerPerceptronClassificationModel.

    All other Params are those of EspalierClassifier, except hiddenLayers, activation, dropout,
    loss, optimizer, batchSize and warmStart. A program written for Spark sets none of them.
    coordinator and workDirectory come from the environment (ESPALIER_COORDINATOR,
    ESPALIER_WORK_DIRECTORY).
    """

    _model_class = MultilayerPerceptronClassificationModel
    _keys = {"model.inputs": "layers", "model.outputs": "layers"}
    _compat = ("compat.spark-mlp", "layers and solver")
    maxIter, stepSize = HasMaxIter.maxIter, HasStepSize.stepSize  # with the docs of Spark's Params

    def set_job_defaults(self) -> None:
        super().set_job_defaults()
        self._setDefault(solver="l-bfgs", tol=1e-6, blockSize=128, maxIter=100, stepSize=0.03,
                         scale="none")

    def training_spec(self, task: str) -> Dict[str, Any]:
        others = [name for name in _OTHERS if self.isSet(name)]
        if others:
            raise InvalidArgumentError("%s: found it set, but layers and solver define the "
                                       "training. EspalierClassifier has this Param" % others[0])
        if not self.isDefined(self.layers):
            raise InvalidArgumentError("layers is not set", hint="For example layers=[4, 5, 4, 3]: "
                                       "4 features, two hidden layers, 3 classes.")
        words = {name: self.getOrDefault(name) for name in (
            "layers", "solver", "tol", "blockSize", "maxIter", "stepSize", "seed")}
        for given in (self.initialWeights, self.thresholds):
            if self.isSet(given):
                words[given.name] = self.getOrDefault(given)
        return {"compat": {"spark-mlp": words}}

    def _train_on_copy(self, frame: DataFrame, rows: str, where: str,
                       left: List[str]) -> EspalierModel:
        """Trains as Spark does if some classes up to the last of `layers` have no rows: the network
        has an output for each. The job requires a row of each class, so one without a weight is
        added."""
        missing = self._labels_without_rows(frame.sparkSession, rows)
        if not missing:
            return super()._train_on_copy(frame, rows, where, left)
        label, weight = self.getLabelCol(), self.column_of(self.weightCol) or "weight_" + self.uid
        given = frame.sparkSession.read.parquet(rows)
        if weight not in given.columns:
            given = given.withColumn(weight, F.lit(1.0))
        kind = given.schema[label].dataType
        added = given.limit(1).withColumn(weight, F.lit(_NO_WEIGHT)).withColumn(
            label, F.explode(F.array(*[F.lit(k).cast(kind) for k in missing])))
        if self.column_of(self.validationIndicatorCol):
            added = added.withColumn(self.getValidationIndicatorCol(), F.lit(False))
        rows = where + "/all"
        given.withColumn(weight, column(weight).cast("double")).unionByName(added).write.parquet(
            rows)
        weighted = self.copy({self.getParam("weightCol"): weight})
        return EspalierClassifier._train_on_copy(weighted, frame, rows, where, left)

    def _labels_without_rows(self, spark: SparkSession, rows: str) -> List[int]:
        """Returns the classes of `layers` without rows; none if a label is not a class."""
        classes = self.getOrDefault(self.layers)[-1]
        labels = spark.read.parquet(rows).select(column(self.getLabelCol()).alias("label"))
        if classes > _CLASSES_MAX or not isinstance(labels.schema["label"].dataType, NumericType):
            return []
        found = {row.label for row in labels.distinct().limit(classes + 1).collect()}
        wanted = set(range(classes))
        return sorted(wanted - found) if found < wanted else []

    def _put_beside(self, spark: SparkSession, spec: Dict[str, Any], where: str) -> None:
        compat = spec["compat"]  # which `job` may have replaced with any value
        words = compat.get("spark-mlp") if isinstance(compat, dict) else None
        if isinstance(words, dict) and isinstance(words.get("initialWeights"), list):
            path = where + "/initial.txt"
            files.write(spark, path, "\n".join(map(repr, words["initialWeights"])).encode())
            words["initialWeights"] = files.for_jobs(path)

    def _leave_out(self, spec: Dict[str, Any]) -> None:
        compat = spec["compat"]
        words = compat.get("spark-mlp") if isinstance(compat, dict) else None
        if isinstance(words, dict) and isinstance(words.get("initialWeights"), list):
            del words["initialWeights"]

    def _tell(self, model: EspalierModel, frame: DataFrame) -> None:
        assert isinstance(model, MultilayerPerceptronClassificationModel)
        losses = [loss for loss in model._summary.history.get("loss", []) if loss is not None] \
            if model._summary else []
        model._trained_on = (frame, losses)
