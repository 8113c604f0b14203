"""A trained model in Spark: `transform` scores in the executors, by NumPy."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import warnings
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
import pandas as pd
from pyspark.ml.base import Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, \
    MLWritable, MLWriter
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .. import model as client
from .._facts import MODEL_BYTES_MAX, MODEL_FILE, WEIGHTS_BYTES_MAX, WEIGHTS_FILE
from .._tables import Columns
from .._vectors import Vectors
from ..errors import BadInputError, InternalError, InvalidArgumentError, NotFoundError
from ..types import JobResult
from . import files
from .params import ColumnParams, with_setters
from .rows import features
from .sessions import check_has_driver
from .summary import FitSummary

_SUMMARY_BYTES_MAX = 256 << 20
_SUMMARY_FILE = "summary.json"
_SLOTS_MAX = 10_000  # of a vector of probabilities with labels as positions
# Maximum number of classes whose numbers come back in separate columns. Each column takes 100 bytes
# of code in one method, and the JVM compiles no method of more than 8,000. Numbers of more classes
# come in arrays.
_FLAT_MAX = 16
_BLOCK_NUMBERS = 1 << 17  # numbers of the rows computed at a time: they stay in the cache
_BLOCK_ROWS = 64  # minimum rows, which share the load of the weights from memory, if they have
_BLOCK_NUMBERS_MAX = 1 << 24  # at most this many numbers
_BLOCK_ROWS_MAX = 8192
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[-+]?[0-9]+)?")
_loaded: List[Tuple[str, client.Model]] = []  # in a Python worker: the last model that it used


def _model_of(digest: str, bundle: Any) -> client.Model:
    """Returns the broadcast bundle as a model, made once per Python worker. See
    EspalierModel._digest."""
    if not _loaded or _loaded[0][0] != digest:
        model_json, weights = bundle.value
        found = hashlib.sha256(model_json).hexdigest()
        if found != digest:
            raise InternalError("Spark has broadcast the model %s in place of %s" %
                                (found[:16], digest[:16]))
        _loaded[:] = [(digest, client.Model.from_bytes(model_json, weights))]
    return _loaded[0][1]


def _labels(classes: Sequence[Any]) -> List[Any]:
    """Returns the prediction column's value for each class: the number, or text unless all classes
    are different numbers."""
    texts = [str(c) for c in classes]
    if all(map(_NUMBER.fullmatch, texts)):
        numbers = [float(t) for t in texts]
        if len(set(numbers)) == len(numbers) and np.isfinite(numbers).all():
            return list(numbers)
    return list(texts)


def _positions(classes: Sequence[Any]) -> Tuple[List[int], int]:
    """Returns the place of each class in Spark's vectors, and their length. If labels are whole
    numbers from 0 up, the place is the label, as Spark's evaluators expect, even if some are
    missing."""
    labels = _labels(classes)
    if labels and all(isinstance(n, float) and n >= 0 and n.is_integer() for n in labels) and \
            max(labels) < max(_SLOTS_MAX, len(labels)):
        return [int(n) for n in labels], int(max(labels)) + 1
    return list(range(len(classes))), len(classes)


class _Answer:
    """Layout of the executors' answers and of the resulting frame: the struct's fields, and each
    requested column. A column without a name is neither computed nor sent."""

    def __init__(self, model: client.Model, prediction: str, probability: str, raw: str) -> None:
        classifies = model.task == "classification"
        labels = _labels(model.classes)
        numbers = not classifies or isinstance(labels[0], float)
        places, size = _positions(model.classes)
        self._prediction, self._labels = prediction, np.array(labels, float if numbers else object)
        self._places, self._size = places, size
        self._flat = len(places) <= _FLAT_MAX and size <= 4 * _FLAT_MAX
        # For each kind of vector, its column and its value at a place without a class.
        self._vectors = [(kind, name, empty) for kind, name, empty in (
            ("probability", probability, 0.0), ("raw", raw, -np.inf)) if name and classifies]
        self._numbers = [prefix + str(i) for prefix, _, _ in self._vectors
                         for i in range(len(places))] if self._flat else []
        self.fields = ", ".join(
            ["prediction " + ("double" if numbers else "string")] * bool(prediction) +
            [name + " double" for name in self._numbers] +
            [kind + " array<double>" for kind, _, _ in self._vectors if not self._flat])

    def columns(self, struct: str) -> Dict[str, Column]:
        """Returns the frame's columns by name, from the column with the struct."""
        wanted = {self._prediction: F.col(struct + ".prediction")} if self._prediction else {}
        for kind, name, empty in self._vectors:
            wanted[name] = array_to_vector(
                F.array(*self._slots(struct + "." + kind, empty)) if self._flat else
                F.col(struct + "." + kind))
        return wanted

    def _slots(self, prefix: str, empty: float) -> List[Column]:
        slots = [F.lit(empty)] * self._size
        for i, place in enumerate(self._places):  # Arrow converts NaN to null
            slots[place] = F.coalesce(F.col(prefix + str(i)), F.lit(float("nan")))
        return slots

    def frame(self, model: client.Model, columns: Columns) -> pd.DataFrame:
        """Returns the struct of a batch."""
        width = len(model.features)
        rows = min(_BLOCK_ROWS_MAX, max(_BLOCK_NUMBERS // width + 1,
                                        min(_BLOCK_ROWS, _BLOCK_NUMBERS_MAX // width)))
        if model.task == "regression":
            return pd.DataFrame({"prediction": model.predict(columns, batch_rows=rows)})
        outputs = model.predict_raw(columns, batch_rows=rows)  # the source of all answers below
        predicted = {"prediction": self._labels[model._index_of(outputs)]} \
            if self._prediction else {}
        count = len(self._places)
        block = np.empty((len(outputs), len(self._vectors) * count))
        for i, (kind, _, _) in enumerate(self._vectors):
            block[:, i * count:(i + 1) * count] = \
                model._proba_of(outputs) if kind == "probability" else _raw(outputs, count)
        if self._flat:
            out = pd.DataFrame(block, columns=self._numbers, copy=False)
            for name, values in predicted.items():
                out.insert(0, name, values)
            return out
        return pd.DataFrame(dict(predicted, **{
            kind: self._spread(block[:, i * count:(i + 1) * count], empty)
            for i, (kind, _, empty) in enumerate(self._vectors)}))

    def _spread(self, values: Any, empty: float) -> List[Any]:
        out = np.full((len(values), self._size), empty)
        out[:, self._places] = values
        return list(out.tolist())  # Spark reads Python's own numbers fastest


def _raw(outputs: Any, classes: int) -> Any:
    """One output is the log of the odds."""
    if outputs.shape[1] < classes:
        return np.concatenate([-outputs, outputs], axis=1)
    return outputs


def _columns(names: Sequence[str], rest: Optional[str], batch: Any) -> Columns:
    """Returns the columns of a batch. Spark passes a single column as it is, and vectors as frames.
    """
    parts = batch if isinstance(batch, tuple) else (batch,)
    out = Columns((name, Vectors.of_frame(part) if isinstance(part, pd.DataFrame) else part)
                  for name, part in zip(names, parts))
    out.rest = rest
    return out


def _scorer(digest: str, bundle: Any, names: Sequence[str], rest: Optional[str],
            answer: _Answer) -> Callable[[Iterator[Any]], Iterator[pd.DataFrame]]:
    def score(batches: Iterator[Tuple[pd.Series, ...]]) -> Iterator[pd.DataFrame]:
        model = _model_of(digest, bundle)
        for batch in batches:
            yield answer.frame(model, _columns(names, rest, batch))
    return score


@dataclasses.dataclass(frozen=True)
class FitResult(JobResult):
    """Result of a fit: a JobResult with the model of the fit.

    Attributes:
        bundle: path of the bundle, as the workers see it; "" if the fit has no ``output``.
    """

    _model: Optional[client.Model] = dataclasses.field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, result: JobResult, model: client.Model) -> FitResult:
        values = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
        return cls(**values, _model=model)

    def load(self) -> client.Model:
        """Returns the model. See espalier.Model."""
        return self._model or super().load()


@with_setters
class EspalierModel(Model, ColumnParams, MLWritable, MLReadable):
    """A trained model, from an estimator's `fit`, from `load`, or from a bundle by `from_bundle`.

    ``transform`` adds predictionCol (double; text if the classes are text). For classifiers, it
    also adds probabilityCol and rawPredictionCol (vectors). The place in a vector is the label if
    labels are whole numbers from 0 up, otherwise the place of the class in ``classes``. A column
    whose name is set to "" is left out.

    The feature columns are found by their names in training. A vector in featuresCol may have
    another name. It replaces the vector that the model was trained with, or provides all features
    that no column is named after, in their order.

    A filter of other columns, also after ``transform``, saves the scoring of rows. A filter of one
    of the answers makes Spark score again, as it does with Spark's models, unless the frame is
    cached.

    Attributes:
        result: the job's metrics, if the model comes from a `fit`; otherwise None. Its ``load()``
            returns what `model()` does.
    """

    def __init__(self) -> None:
        super().__init__()
        self.result: Optional[FitResult] = None
        self._summary: Optional[FitSummary] = None
        self._bundle: Tuple[bytes, bytes] = (b"", b"")
        self._model: Optional[client.Model] = None
        self._broadcast: Tuple[Any, Any] = (None, None)  # the Spark session and the broadcast

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
        """Reads a bundle that `espalier` wrote, by Spark's file systems. Then set featuresCol or
        inputCols."""
        from pyspark.sql import SparkSession
        spark = SparkSession.builder.getOrCreate()
        return cls._of(files.read(spark, path + "/" + MODEL_FILE, MODEL_BYTES_MAX),
                       files.read(spark, path + "/" + WEIGHTS_FILE, WEIGHTS_BYTES_MAX))

    def model(self) -> client.Model:
        """Returns the model itself. See espalier.Model."""
        if self._model is None:
            raise InvalidArgumentError("this EspalierModel was made without a model: fit an "
                                       "estimator, or load one")
        return self._model

    def _digest(self) -> str:
        """Returns the digest of model.json, which contains the weights' name. Two models may have
        the same weights."""
        return hashlib.sha256(self._bundle[0]).hexdigest()

    @property
    def classes(self) -> Tuple[Any, ...]:
        """Labels as text; empty for regression."""
        return self.model().classes

    @property
    def numClasses(self) -> int:
        """Length of probability vectors."""
        return _positions(self.classes)[1]

    @property
    def numFeatures(self) -> int:
        return len(self.model().features)

    @property
    def hasSummary(self) -> bool:
        """Whether the model comes from a fit, in this program or before it was saved."""
        return self._summary is not None

    @property
    def summary(self) -> Any:
        """The FitSummary: the learning curve, the best epoch, rows and seconds. Raises RuntimeError
        for a model that is not from a fit, as Spark's models do."""
        if self._summary is None:
            raise RuntimeError("No training summary available for this %s: it was read from a "
                               "bundle" % type(self).__name__)
        return self._summary

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """Checks the columns. Raises InvalidArgumentError for a column that is missing, or of a
        wrong type. A row that the model cannot handle, for example because of a null, fails the
        query, and the error names it."""
        check_has_driver(dataset.sparkSession)
        model = self.model()
        texts = model._preprocessing.texts
        # pandas converts a whole number next to a null to a float. As text it stays unchanged.
        names = self.feature_columns()
        columns = [column.cast("string").alias(name)
                   if name in texts and isinstance(dataset.schema[name].dataType, T.IntegralType)
                   else column
                   for name, column in zip(names, features(
                       dataset, self, texts, model._preprocessing.dates))]
        rest = None if self.isSet(self.inputCols) or not isinstance(
            dataset.schema[names[0]].dataType, (VectorUDT, T.ArrayType)) else names[0]
        model._preprocessing.wanted.plan(names, rest)  # reports what is missing
        answer = _Answer(model, self.getPredictionCol(), self.getProbabilityCol(),
                         self.getRawPredictionCol())
        scratch = "_" + self.uid
        added = answer.columns(scratch)
        taken = sorted(set(added) & set(dataset.columns))
        if taken:
            raise InvalidArgumentError("the frame has a column '%s' already. Set predictionCol, "
                                       "probabilityCol or rawPredictionCol to another name" %
                                       taken[0])
        if not added:
            return dataset
        score = _scorer(self._digest(), self._broadcast_in(dataset.sparkSession.sparkContext),
                        names, rest, answer)
        scored = F.pandas_udf(score, returnType=answer.fields)(*columns)  # type: ignore
        return dataset.withColumn(scratch, scored).withColumns(added).drop(scratch)

    def _broadcast_in(self, context: Any) -> Any:
        """Returns the bundle's broadcast, and makes a new one in another Spark session. A broadcast
        does not outlive its session."""
        if self._broadcast[0] is not context:
            self._broadcast = (context, context.broadcast(self._bundle))
        return self._broadcast[1]

    def write(self) -> MLWriter:
        """Writes to any file system that Spark knows. See MLWritable."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        return _Reader()


class _Writer(MLWriter):
    """Writes Spark's metadata, the bundle's two files below bundle/, and the summary, if there is
    one."""

    def __init__(self, instance: EspalierModel) -> None:
        super().__init__()
        self._instance = instance

    def saveImpl(self, path: str) -> None:
        spark = self.sparkSession
        self._instance.model()
        DefaultParamsWriter.saveMetadata(self._instance, path, spark.sparkContext)
        for name, data in zip((MODEL_FILE, WEIGHTS_FILE), self._instance._bundle):
            files.write(spark, "%s/bundle/%s" % (path, name), data)
        if self._instance._summary is not None:
            files.write(spark, "%s/%s" % (path, _SUMMARY_FILE), self._instance._summary.to_json())


def read_summary(path: str) -> Optional[FitSummary]:
    """Returns the summary of a saved model; None: it has none, or another version wrote it. The
    latter causes a warning, because the model does not depend on its summary."""
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.getOrCreate()
    try:
        return FitSummary.from_json(files.read(spark, "%s/%s" % (path, _SUMMARY_FILE),
                                               _SUMMARY_BYTES_MAX))
    except NotFoundError:
        return None
    except BadInputError as error:
        warnings.warn("the model is loaded without its summary: %s" % error, stacklevel=2)
        return None


class _Reader(MLReader):
    def load(self, path: str) -> EspalierModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession.sparkContext,
                                                    "espalier.spark.model.EspalierModel")
        model = EspalierModel.from_bundle(path + "/bundle")
        model._summary = read_summary(path)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
