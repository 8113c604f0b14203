"""A trained model in Spark: `transform` scores in the executors, by NumPy."""

from __future__ import annotations

import hashlib
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
import pandas as pd
from pyspark.ml.base import Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, \
    MLWritable, MLWriter
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .. import model as client
from .._bundle import MODEL_BYTES_MAX, MODEL_FILE, WEIGHTS_BYTES_MAX, WEIGHTS_FILE
from .._vectors import Vectors
from ..errors import InvalidArgumentError
from ..types import JobResult
from . import files
from .params import ColumnParams, with_setters
from .rows import features

_SLOTS_MAX = 10_000  # of a vector of probabilities whose positions are the labels
_BLOCK_NUMBERS = 1 << 17  # of the rows that are computed at a time: they stay in the cache
_BLOCK_ROWS_MAX = 8192
_loaded: List[Tuple[str, client.Model]] = []  # in a Python worker: the model it used last


def _model_of(digest: str, bundle: Any) -> client.Model:
    """The broadcast bundle as a model, made once a Python worker; see EspalierModel._digest."""
    if not _loaded or _loaded[0][0] != digest:
        _loaded[:] = [(digest, client.Model.from_bytes(*bundle.value))]
    return _loaded[0][1]


def _positions(classes: Tuple[Any, ...]) -> Tuple[List[int], int]:
    """For each class its place in Spark's vectors, and their length. Where labels are whole numbers
    from 0 up a place is the label, as Spark's evaluators expect, also when some are missing."""
    try:
        places = [int(c) for c in classes]
    except ValueError:
        places = []
    if places and min(places) >= 0 and max(places) < max(_SLOTS_MAX, len(places)) and \
            len(set(places)) == len(places):
        return places, max(places) + 1
    return list(range(len(classes))), len(classes)


def _spread(values: Any, classes: Tuple[Any, ...], empty: float) -> List[Any]:
    """Rows of Spark's vectors."""
    places, size = _positions(classes)
    out = np.full((len(values), size), empty)
    out[:, places] = values
    return list(out.tolist())  # Spark looks at each number; Python's own are read fastest


def _columns(names: Sequence[str], batch: Any) -> Dict[str, Any]:
    """The columns of a batch, of which Spark gives one alone as it is; of vectors it makes frames.
    """
    parts = batch if isinstance(batch, tuple) else (batch,)
    return {name: Vectors.of_frame(part) if isinstance(part, pd.DataFrame) else part
            for name, part in zip(names, parts)}


def _score(model: client.Model, columns: Dict[str, Any]) -> pd.DataFrame:
    """The struct of predictions of a batch."""
    rows = min(_BLOCK_ROWS_MAX, _BLOCK_NUMBERS // len(model.features) + 1)
    if model.task == "regression":
        return pd.DataFrame({"prediction": model.predict(columns, batch_rows=rows)})
    outputs = model.predict_raw(columns, batch_rows=rows)  # what follows is computed from it
    raw = outputs.astype(float)
    if raw.shape[1] < len(model.classes):  # one output: the log of the odds
        raw = np.concatenate([-raw, raw], axis=1)
    labels = _labels(model)
    kind = float if isinstance(labels[0], float) else object
    return pd.DataFrame({
        "prediction": np.array(labels, kind)[model._index_of(outputs)],
        "probability": _spread(model._proba_of(outputs), model.classes, 0.0),
        "raw": _spread(raw, model.classes, -np.inf)})


def _labels(model: client.Model) -> List[Any]:
    """Of each class what the prediction column has: the number, or text when one is none."""
    try:
        return [float(c) for c in model.classes]
    except ValueError:
        return [str(c) for c in model.classes]


@with_setters
class EspalierModel(Model, ColumnParams, MLWritable, MLReadable):
    """A trained model, from an estimator's `fit`, from `load`, or from a bundle by `from_bundle`.

    ``transform`` adds predictionCol (double; text when the classes are text) and for classifiers
    probabilityCol and rawPredictionCol (vectors; the place is the label where labels are whole
    numbers from 0 up, else the class's in ``classes``). A column whose name is set to "" is left
    out.

    Attributes:
        result: the job's metrics, when this comes from a `fit`; else None.
    """

    def __init__(self) -> None:
        super().__init__()
        self.result: Optional[JobResult] = None
        self._bundle: Tuple[bytes, bytes] = (b"", b"")
        self._model: Optional[client.Model] = None
        self._broadcast: Any = None

    @classmethod
    def _of(cls, model_json: bytes, weights: bytes) -> EspalierModel:
        out = cls()
        out._bundle = (model_json, weights)
        out._model = client.Model.from_bytes(model_json, weights)
        if out._model.task not in ("classification", "regression"):
            raise InvalidArgumentError("found a model of task %s, expected classification or "
                                       "regression; espalier.load computes it from frames and "
                                       "arrays" % out._model.task)
        if out._model.task == "regression" and len(out._model.targets) != 1:
            raise InvalidArgumentError("found a model of %d targets, expected one: the prediction "
                                       "column is one number; espalier.load computes it from "
                                       "frames and arrays" % len(out._model.targets))
        return out

    @classmethod
    def from_bundle(cls, path: str) -> EspalierModel:
        """A bundle that `espalier` wrote, read by Spark's file systems. featuresCol or inputCols
        are to be set."""
        from pyspark.sql import SparkSession
        spark = SparkSession.builder.getOrCreate()
        return cls._of(files.read(spark, path + "/" + MODEL_FILE, MODEL_BYTES_MAX),
                       files.read(spark, path + "/" + WEIGHTS_FILE, WEIGHTS_BYTES_MAX))

    def model(self) -> client.Model:
        """The model itself; see espalier.Model."""
        if self._model is None:
            raise InvalidArgumentError("this EspalierModel was made without a model: fit an "
                                       "estimator, or load one")
        return self._model

    def _digest(self) -> str:
        """Of model.json, which names the weights: two models may have the same ones."""
        return hashlib.sha256(self._bundle[0]).hexdigest()

    @property
    def classes(self) -> Tuple[Any, ...]:
        """Labels as text; empty for regression."""
        return self.model().classes

    @property
    def numClasses(self) -> int:
        """The length of probability vectors."""
        return _positions(self.classes)[1]

    @property
    def numFeatures(self) -> int:
        return len(self.model().features)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """Raises InvalidArgumentError for a column of a wrong type. A row that the model has no
        answer to, such as a null, fails the query and is named."""
        model = self.model()
        texts = model._preprocessing.texts
        # pandas makes a float of a whole number that lies beside a null: as text it stays itself.
        names = self.feature_columns()
        columns = [column.cast("string").alias(name)
                   if name in texts and isinstance(dataset.schema[name].dataType, T.IntegralType)
                   else column
                   for name, column in zip(names, features(
                       dataset, self, texts, model._preprocessing.dates))]
        if self._broadcast is None:
            self._broadcast = dataset.sparkSession.sparkContext.broadcast(self._bundle)
        digest, bundle = self._digest(), self._broadcast
        kind = "double" if not model.classes or isinstance(_labels(model)[0], float) else "string"
        fields = "prediction " + kind
        if model.task == "classification":
            fields += ", probability array<double>, raw array<double>"

        def score(batches: Iterator[Tuple[pd.Series, ...]]) -> Iterator[pd.DataFrame]:
            loaded = _model_of(digest, bundle)
            for batch in batches:
                yield _score(loaded, _columns(names, batch))
        scored = F.pandas_udf(score, returnType=fields)(*columns)  # type: ignore
        scratch = "_" + self.uid
        wanted = [(self.getPredictionCol(), F.col(scratch + ".prediction"))]
        if model.task == "classification":
            wanted += [(self.getProbabilityCol(), array_to_vector(F.col(scratch + ".probability"))),
                       (self.getRawPredictionCol(), array_to_vector(F.col(scratch + ".raw")))]
        added = {name: column for name, column in wanted if name}
        taken = sorted(set(added) & set(dataset.columns))
        if taken:
            raise InvalidArgumentError("the frame has a column '%s' already; predictionCol, "
                                       "probabilityCol and rawPredictionCol name others" % taken[0])
        return dataset.withColumn(scratch, scored).withColumns(added).drop(scratch)

    def write(self) -> MLWriter:
        """Writes to any file system that Spark knows; see MLWritable."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        return _Reader()


class _Writer(MLWriter):
    """Spark's metadata, and the bundle's two files below bundle/."""

    def __init__(self, instance: EspalierModel) -> None:
        super().__init__()
        self._instance = instance

    def saveImpl(self, path: str) -> None:
        spark = self.sparkSession
        self._instance.model()
        DefaultParamsWriter.saveMetadata(self._instance, path, spark.sparkContext)
        for name, data in zip((MODEL_FILE, WEIGHTS_FILE), self._instance._bundle):
            files.write(spark, "%s/bundle/%s" % (path, name), data)


class _Reader(MLReader):
    def load(self, path: str) -> EspalierModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession.sparkContext,
                                                    "espalier.spark.model.EspalierModel")
        model = EspalierModel.from_bundle(path + "/bundle")
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
