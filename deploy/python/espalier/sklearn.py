"""Estimators of scikit-learn that train on this machine: EspalierClassifier and EspalierRegressor.

>>> from espalier.sklearn import EspalierClassifier
>>> classifier = EspalierClassifier().fit(frame, y)        # frame: pandas, or an array of numbers
>>> classifier.predict_proba(frame)

`fit` writes the rows as Parquet into a private temporary directory, and the `espalier` program
trains on them. It needs the programs (see espalier.train), scikit-learn 1.6 or newer, and pyarrow.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime
import decimal
import fcntl
import math
import numbers
import os
import re
import shutil
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (_check_sample_weight, check_consistent_length,
                                      check_is_fitted, column_or_1d)

from ._columns import _TRUTHS, category_text, is_null, plain_decimal
from ._facts import CATEGORY_BYTES_MAX, MODEL_FILE, NULL_WORDS
from ._overlay import laid_over, refuse_keys
from ._tables import _is_of_pandas, _of_pandas
from .errors import InternalError, InvalidArgumentError, JobFailedError
from .local import train
from .model import Model, load
from .types import JobResult

try:
    from sklearn.utils.validation import validate_data
except ImportError as _error:
    raise ImportError("espalier.sklearn: found scikit-learn %s, expected 1.6 or newer. Run: "
                      "pip install 'scikit-learn>=1.6'" % sklearn.__version__) from _error

__all__ = ["EspalierClassifier", "EspalierRegressor"]

_VECTOR = "x"  # the column with the rows of an array
# A name that a job file would read as several columns, or as an element of a vector, or that has
# characters that YAML or UTF-8 cannot represent.
_OTHER_NAME = re.compile(r"-?\d+\.\.-?\d+|auto|.*[\[\]*?\x00-\x1f\x7f-\x9f\u2028\u2029"
                         r"\ud800-\udfff\ufeff\ufffe\uffff].*|", re.S)
_NUMBERS_AT_A_TIME = 1 << 24
# Kinds of objects by pandas.api.types.infer_dtype.
_OBJECTS = {"integer": "numeric", "floating": "numeric", "mixed-integer-float": "numeric",
            "decimal": "numeric", "boolean": "boolean", "date": "date", "datetime": "date",
            "datetime64": "date", "string": "categorical", "bytes": "categorical",
            "categorical": "categorical", "empty": "categorical"}
_MIXED = ("mixed", "mixed-integer")
_SCALARS = (str, bytes, bool, np.bool_, numbers.Real, decimal.Decimal, datetime.date,
            np.datetime64)
# Keys of the job file that `fit` sets, and what specifies them.
_OWN_KEYS = {
    "output": "the Param output specifies the directory of the bundle",
    "data.train": "fit gets the rows",
    "data.label": "fit gets the labels",
    "data.format": "the rows are Parquet",
    "data.weight": "fit gets sample_weight",
    "model.task": "use EspalierClassifier or EspalierRegressor",
}
_WRITER_FILE = ".writer.json"  # the first file of a bundle that is written
_NEW = ".new"  # suffix of a file until it is complete
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_WHOLE = re.compile(r"0|-?[1-9][0-9]*", re.A)
_FITTED = ("model_", "result_", "history_", "best_epoch_", "bundle_")


def _kind_of(name: str, column: Any) -> str:
    """Returns the type of a pandas column in a job file."""
    from pandas.api import types
    if hasattr(column.dtype, "categories"):
        return "categorical"
    if types.is_bool_dtype(column.dtype):
        return "boolean"
    if types.is_numeric_dtype(column.dtype) and column.dtype.kind != "c":
        return "numeric"
    if types.is_datetime64_any_dtype(column.dtype):
        return "date"
    if types.is_object_dtype(column.dtype):
        found = types.infer_dtype(column, skipna=True)
        if found in _OBJECTS:
            return _OBJECTS[found]
        if found in _MIXED and all(is_null(v) or isinstance(v, _SCALARS) for v in column):
            return "categorical"
        raise ValueError("column '%s' has objects of type %s, expected numbers, booleans, dates, "
                         "text or a category" % (name, found))
    if types.is_string_dtype(column.dtype):
        return "categorical"
    raise ValueError("column '%s' is of type %s, expected numbers, booleans, dates, text or a "
                     "category" % (name, column.dtype))


def _column(frame: Any, at: int) -> Any:
    """Returns a column of a pandas frame. One of a sparse type becomes dense."""
    column = frame.iloc[:, at]
    return column.sparse.to_dense() if hasattr(column.dtype, "fill_value") else column


def _check_finite(frame: Any, kinds: Sequence[str]) -> None:
    """Raises ValueError for an infinite number."""
    for i, kind in enumerate(kinds):
        if kind == "numeric" and np.isinf(_column(frame, i).to_numpy(
                dtype=np.float64, na_value=np.nan)).any():
            raise ValueError("Input X contains infinity in column '%s'" % frame.columns[i])


def _in_arrow(column: Any, kind: str) -> Any:
    if kind != "categorical":
        return pa.array(column, from_pandas=True)
    texts = (category_text(value) for value in _of_pandas(column, True))  # as a model reads them
    return pa.array([text if text != "" else None for text in texts], pa.string())


class _Columns:
    """Columns of the table that an estimator is trained on.

    Attributes:
        names: names in the table, by position; None: an array; its rows are vectors.
        kinds: types of the columns of a frame.
    """

    def __init__(self, X: Any) -> None:
        self.names: Optional[List[str]] = None
        self.kinds: List[str] = []
        if not _is_of_pandas(X, "DataFrame"):
            return
        names = [str(name) for name in X.columns]
        as_they_are = len(set(names)) == len(names) and not any(map(_OTHER_NAME.fullmatch, names))
        self.names = names if as_they_are else ["x%d" % i for i in range(len(names))]
        self.kinds = [_kind_of(name, _column(X, i)) for i, name in enumerate(names)]

    def free(self, name: str) -> str:
        """Returns a name that is not the name of a feature."""
        while name in (self.names or [_VECTOR]):
            name += "_"
        return name

    def features(self) -> Dict[str, Any]:
        """Returns data.features of the job file."""
        if self.names is None:
            return {"columns": _VECTOR}
        groups = [{"columns": names, "type": kind} for kind in ("boolean", "date", "categorical")
                  for names in [[n for n, k in zip(self.names, self.kinds) if k == kind]] if names]
        return {"columns": self.names, **({"groups": groups} if groups else {})}

    def rows(self, X: Any) -> Any:
        """Returns rows as espalier.Model takes them. Arrays have the features in their order."""
        if self.names is None:
            return X
        if _is_of_pandas(X, "DataFrame"):
            return {name: _column(X, i) for i, name in enumerate(self.names)}
        return {name: X[:, i] for i, name in enumerate(self.names)}

    def write(self, path: str, X: Any, others: Mapping[str, Any]) -> None:
        """Writes rows as Parquet, with `others` as further columns."""
        if self.names is not None:
            columns = self.rows(X)
            table = {name: _in_arrow(columns[name], kind)
                     for name, kind in zip(self.names, self.kinds)}
            pyarrow.parquet.write_table(pa.table({**table, **others}), path)
            return
        if X.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
            X = X.astype(np.float64)
        width = X.shape[1]
        kind = pa.schema([(_VECTOR, pa.list_(pa.from_numpy_dtype(X.dtype)))] +
                         [(name, pa.array(values[:1]).type) for name, values in others.items()])
        step = max(1, _NUMBERS_AT_A_TIME // width)
        with pyarrow.parquet.ParquetWriter(path, kind) as writer:
            for begin in range(0, len(X), step):
                block = np.ascontiguousarray(X[begin:begin + step])
                offsets = np.arange(len(block) + 1, dtype=np.int32) * width
                vectors = pa.ListArray.from_arrays(offsets, pa.array(block.reshape(-1)))
                rest = [pa.array(values[begin:begin + step]) for values in others.values()]
                writer.write_table(pa.Table.from_arrays([vectors] + rest, schema=kind))


_ARGS = """
    Params that are None have the value that `preset` chooses.

    Args:
        preset: good, fast, best or none; see docs/presets.md.
        hidden_layer_sizes: units of each hidden layer; () is a linear model, and 50 is (50,).
        activation: relu, tanh, sigmoid, gelu, ...
        dropout: share of the hidden units that a step leaves out.
        loss: the loss of training.
        optimizer: adam, adamw, sgd, momentum, lbfgs, ...
        learning_rate: the optimizer's learning rate. Without `optimizer`, adam then replaces the
            preset's optimizer. Both Params also switch off the preset's weight decay, initial
            weights and factors of the inputs; see docs/presets.md.
        batch_size: rows of a step.
        epochs: maximum number of epochs.
        patience: number of evaluations without a better loss after which training stops.
        validation_fraction: share of the rows for validation, without an `eval_set`; 0: none.
        random_state: seed of weights, shuffle and validation; a number or a RandomState. None: 1,
            so that two fits are the same.
        workers, threads: see espalier.train.
        output: local directory for the bundle, which replaces an earlier one at the end of the
            fit; None: none is kept. Of several fits, the last one to end remains.
        verbose: whether to show the progress.
        job: further keys of the job file as a dict, which override the others. Keys for the rows,
            the labels, the task and the output are refused.
"""
_ATTRIBUTES = """
    Attributes:
        model_: the espalier.Model.
        result_: metrics of the fit, an espalier.JobResult; None if it was interrupted. Its
            `bundle` is "" without `output`, and its `load()` returns model_.
        history_: a dict of the columns of history.csv, with a value for each evaluation.
        best_epoch_: epoch of the saved weights; None if there are several fits.
        bundle_: `output`.
        n_features_in_, feature_names_in_: as in scikit-learn's own estimators.
    """


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """Common part of both estimators."""

    _task = ""

    def __init__(self, *, preset: str = "good",
                 hidden_layer_sizes: Optional[Sequence[int]] = None,
                 activation: Optional[str] = None, dropout: Optional[float] = None,
                 loss: Optional[str] = None, optimizer: Optional[str] = None,
                 learning_rate: Optional[float] = None, batch_size: Optional[int] = None,
                 epochs: Optional[float] = None, patience: Optional[int] = None,
                 validation_fraction: Optional[float] = None, random_state: Any = None,
                 workers: Optional[int] = 1, threads: Optional[int] = None,
                 output: Optional[str] = None, verbose: bool = False,
                 job: Optional[Mapping[str, Any]] = None) -> None:
        self.preset = preset
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.dropout = dropout
        self.loss = loss
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.workers = workers
        self.threads = threads
        self.output = output
        self.verbose = verbose
        self.job = job

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.preset != "none"
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: Any = None) -> Any:
        """Trains.

        Args:
            X: a pandas frame of numbers, booleans, dates, text and categories, or an array of
                numbers, [rows, features]. NaN and None are null.
            y: labels or numbers, [rows].
            sample_weight: weights of the rows; those of weight 0 are left out.
            eval_set: (X, y) of validation rows, or a list with one of these pairs.

        Raises:
            ValueError: the rows or a Param are wrong. The error is an EspalierError if the job
                found it.
            JobFailedError: the training failed for another reason.
            NotFoundError: the `espalier` program is missing.

        A KeyboardInterrupt ends the training. After the first evaluation, the estimator then has
        the best weights so far. An estimator whose fit fails earlier is not fitted.
        """
        for name in _FITTED:
            self.__dict__.pop(name, None)
        output = _local_path(self.output)
        X = self._validated(X, reset=True)
        y = self._targets(y, reset=True)
        check_consistent_length(X, y)
        if len(X) < 2:
            raise ValueError("found n_samples = 1, expected at least 2 rows to train on")
        self._columns = _Columns(X)
        if self._columns.names is not None:
            _check_finite(X, self._columns.kinds)
        label, weight = self._columns.free("label"), self._columns.free("weight")
        weights = self._weights(X, y, sample_weight)
        others = {label: self._labels(y)}
        if weights is not None:
            others[weight] = weights
        with tempfile.TemporaryDirectory(prefix="espalier-fit-") as folder:
            files = {"train": os.path.join(folder, "train.parquet")}
            self._columns.write(files["train"], X, others)
            if eval_set is not None:
                files["validation"] = os.path.join(folder, "validation.parquet")
                self._write_eval_set(files["validation"], eval_set, label,
                                     weight if weight in others else "")
            # A private directory, which has the model of this fit alone.
            bundle = os.path.join(folder, "bundle")
            spec = self._spec(files, label, weight if weight in others else "", bundle)
            if output:
                os.makedirs(output, exist_ok=True)
            self._train(spec, bundle, output)
        return self

    def _write_eval_set(self, path: str, eval_set: Any, label: str, weight: str) -> None:
        pair = eval_set[0] if isinstance(eval_set, list) and len(eval_set) == 1 else eval_set
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError("eval_set: expected (X, y), or a list with one of these pairs")
        X, y = self._validated(pair[0], reset=False), self._targets(pair[1], reset=False)
        check_consistent_length(X, y)
        if _is_of_pandas(X, "DataFrame"):
            _check_finite(X, self._columns.kinds)
        self._columns.write(path, X, {label: self._labels(y),
                                      **({weight: np.ones(len(y))} if weight else {})})

    def _spec(self, files: Mapping[str, str], label: str, weight: str,
              bundle: str) -> Dict[str, Any]:
        """Returns the job file."""
        data: Dict[str, Any] = {"train": files["train"], "label": label,
                                "features": self._columns.features()}
        if weight:
            data["weight"] = weight
        if "validation" in files:
            data["validation"] = {"files": [files["validation"]]}
        elif self.validation_fraction is not None:
            data["validation"] = {"fraction": self.validation_fraction} \
                if self.validation_fraction != 0 else "none"
        hidden = self.hidden_layer_sizes
        if isinstance(hidden, numbers.Integral):
            hidden = [int(hidden)]
        model = {"task": self._task, "hidden": None if hidden is None else list(hidden),
                 "activation": self.activation, "dropout": self.dropout, "loss": self.loss}
        optimizer: Any = self.optimizer
        if self.learning_rate is not None:
            optimizer = {self.optimizer or "adam": {"learning_rate": self.learning_rate}}
        training = {"optimizer": optimizer, "batch": self.batch_size, "epochs": self.epochs,
                    "seed": self._seed()}
        if self.patience is not None:
            training["early_stopping"] = {"patience": self.patience}
        spec = {"name": "scikit-learn", "preset": self.preset, "data": data,
                "model": _given(model), "train": _given(training),
                "output": {"path": bundle, "overwrite": True}}
        return laid_over(spec, self._job())

    def _job(self) -> Dict[str, Any]:
        """Returns `job`. Raises InvalidArgumentError for a key that it cannot set."""
        if self.job is not None and not isinstance(self.job, Mapping):
            raise InvalidArgumentError("job: found a %s, expected a dict such as "
                                       "{\"train\": {\"clip_norm\": 1}}" % type(self.job).__name__)
        job = dict(self.job or {})
        refuse_keys(job, _OWN_KEYS)
        return job

    def _seed(self) -> Optional[int]:
        state = self.random_state
        if isinstance(state, (np.random.RandomState, np.random.Generator)):
            draw = state.randint if isinstance(state, np.random.RandomState) else state.integers
            return int(draw(1 << 31))
        return None if state is None else int(state)

    def _train(self, spec: Mapping[str, Any], bundle: str, output: str) -> None:
        try:
            result = train(spec, workers=self.workers, threads=self.threads,
                           progress=bool(self.verbose))
        except KeyboardInterrupt:
            if os.path.exists(os.path.join(bundle, MODEL_FILE)):
                self._take(bundle, None, output)
            raise
        except JobFailedError as error:
            if isinstance(error.error, ValueError):
                raise error.error from error
            raise
        self._take(bundle, result, output)

    def _take(self, bundle: str, result: Optional[JobResult], output: str) -> None:
        """Stores the outcome of a training."""
        model = load(bundle)
        if result is not None:
            model.check_weights(result.weights_sha256)
        with open(os.path.join(bundle, "history.csv"), encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
        if output:
            _publish(bundle, output)
        self.history_ = {name: [float(row[name]) if row[name] else float("nan") for row in rows]
                         for name in (rows[0] if rows else ())}
        self.result_ = None if result is None else _FitResult.of(result, model, output)
        self.best_epoch_ = None if result is None else result.best_epoch
        self.bundle_ = self.output
        self.model_ = model

    def _validated(self, X: Any, reset: bool) -> Any:
        """Returns rows that scikit-learn's checks accept. A frame remains a frame if the estimator
        is trained on one."""
        frame = _is_of_pandas(X, "DataFrame") and (reset or self._columns.names is not None)
        if frame and (X.shape[0] == 0 or X.shape[1] == 0):
            raise ValueError("found a frame of shape %s, expected rows and columns" %
                             (X.shape,))
        if frame:
            return validate_data(self, X, reset=reset, skip_check_array=True)
        mixed = not reset and self._columns.names is not None
        return validate_data(self, X, reset=reset, dtype=None if mixed else "numeric",
                             ensure_all_finite=False if mixed else "allow-nan")

    def _rows(self, X: Any) -> Any:
        """Returns rows to predict, as espalier.Model takes them."""
        check_is_fitted(self, "model_")
        return self._columns.rows(self._validated(X, reset=False))

    def _targets(self, y: Any, reset: bool) -> Any:
        """Returns the targets as numbers."""
        raise NotImplementedError

    def _labels(self, y: Any) -> Any:
        """Returns the result of `_targets` as the job gets it."""
        return y

    def _weights(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Returns the weights of rows with the targets `y`; None: each is 1."""
        if sample_weight is None:
            return None
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def _given(values: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _local_path(output: Optional[str]) -> str:
    """Returns the path of `output`; "" for none. Raises ValueError for other file systems."""
    path = os.fspath(output or "")
    if path.startswith("file:"):
        path = path[len("file:"):]
    if _SCHEME.match(path):
        raise ValueError("output: found '%s', expected a local directory. Copy the bundle from "
                         "there to its file system" % path)
    if not path:
        return ""
    found = set(os.listdir(path)) if os.path.isdir(path) else set()
    if found and not found & {MODEL_FILE, _WRITER_FILE, _WRITER_FILE + _NEW}:
        raise ValueError("output: the directory '%s' has other files, expected a bundle or a new "
                         "directory" % path)
    return os.path.abspath(path)


def _publish(bundle: str, output: str) -> None:
    """Copies a bundle to an existing directory, and replaces one that is there. Fits of several
    processes take turns. model.json is the last file, so an interruption leaves no mixture."""
    directory = os.open(output, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        old = os.path.join(output, MODEL_FILE)
        if os.path.exists(old):
            os.remove(old)
        for name in sorted(os.listdir(bundle), key=lambda name: (name == MODEL_FILE, name)):
            source, target = os.path.join(bundle, name), os.path.join(output, name)
            if os.path.isdir(source):
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(source, target)
            else:
                shutil.copy(source, target + _NEW)
                os.replace(target + _NEW, target)
    finally:
        os.close(directory)


@dataclasses.dataclass(frozen=True)
class _FitResult(JobResult):
    """A JobResult with the model of the fit."""

    _model: Optional[Model] = dataclasses.field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, result: JobResult, model: Model, output: str) -> _FitResult:
        values = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
        return cls(**dict(values, bundle=output), _model=model)

    def load(self) -> Model:
        """Returns the model."""
        return self._model or super().load()


def _numbers(y: Any) -> Any:
    """Returns y as [rows] of one type, without null and infinity."""
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None")
    if hasattr(y, "isna") and hasattr(getattr(y, "dtype", None), "numpy_dtype"):
        if y.isna().any():
            raise ValueError("Input y contains NaN or None")
        if y.dtype.kind in "biuf":  # a type with NA, without one
            y = y.to_numpy(dtype=y.dtype.numpy_dtype)
    y = column_or_1d(y, warn=True)
    kind = y.dtype.kind
    if kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity")
    if kind == "O" and any(map(is_null, y)):
        raise ValueError("Input y contains NaN or None")
    if kind == "O" and any(isinstance(v, (float, np.floating)) and math.isinf(v) for v in y):
        raise ValueError("Input y contains infinity")
    return y


def _own_texts(classes: Sequence[Any], nulls: Sequence[str]) -> Optional[List[str]]:
    """Returns texts of the labels that the job gives back unchanged; None: there are none, because
    two labels have the same meaning, or one has another form, such as null or 01."""
    texts = [category_text(label) for label in classes]
    words = {word: kind[0] for truths in _TRUTHS for kind in truths for word in kind}
    for label, text in zip(classes, texts):
        if not isinstance(text, str) or isinstance(label, str) and text != label:
            return None
        plain = _WHOLE.fullmatch(text) and abs(int(text)) < 1 << 63 or plain_decimal(text) == text
        number = _is_number(text)
        if number and not plain or text in NULL_WORDS or text in nulls or not text.isprintable():
            return None
        if not text or len(text.encode()) > CATEGORY_BYTES_MAX:
            return None
    return texts if len({words.get(text, text) for text in texts}) == len(texts) else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class EspalierClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    __doc__ = "Classifier.\n" + _ARGS + """\
        class_weight: balanced, or a dict from labels to weights, which are factors of the weights
            of rows.
""" + _ATTRIBUTES.rstrip() + """
        classes_: labels, ascending, with the type that they have in y.

    The job gets the labels as texts: 1.0 is "1", and True is "true". It gets their positions in
    classes_ if it would change a text, such as "01". Labels in `job` are those of y.
    """

    _task = "classification"

    def __init__(self, *, preset: str = "good",
                 hidden_layer_sizes: Optional[Sequence[int]] = None,
                 activation: Optional[str] = None, dropout: Optional[float] = None,
                 loss: Optional[str] = None, optimizer: Optional[str] = None,
                 learning_rate: Optional[float] = None, batch_size: Optional[int] = None,
                 epochs: Optional[float] = None, patience: Optional[int] = None,
                 validation_fraction: Optional[float] = None, random_state: Any = None,
                 workers: Optional[int] = 1, threads: Optional[int] = None,
                 output: Optional[str] = None, verbose: bool = False,
                 job: Optional[Mapping[str, Any]] = None,
                 class_weight: Union[None, str, Mapping[Any, float]] = None) -> None:
        super().__init__(
            preset=preset, hidden_layer_sizes=hidden_layer_sizes, activation=activation,
            dropout=dropout, loss=loss, optimizer=optimizer, learning_rate=learning_rate,
            batch_size=batch_size, epochs=epochs, patience=patience,
            validation_fraction=validation_fraction, random_state=random_state, workers=workers,
            threads=threads, output=output, verbose=verbose, job=job)
        self.class_weight = class_weight

    def _targets(self, y: Any, reset: bool) -> Any:
        """Returns the positions of the labels in classes_."""
        y = _numbers(y)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if reset:
            if len(classes) < 2:
                raise ValueError("found 1 class in y, expected at least 2 classes")
            self.classes_ = classes
            data = super()._job().get("data")
            nulls = data.get("null_values") if isinstance(data, Mapping) else None
            texts = _own_texts(classes.tolist(), [str(word) for word in nulls or ()])
            self._texts = texts or [str(i) for i in range(len(classes))]
            return codes.reshape(-1).astype(np.int64)
        places = {label: i for i, label in enumerate(self.classes_.tolist()) if i in self._weighed}
        unknown = [label for label in classes.tolist() if label not in places]
        if unknown:
            raise ValueError("eval_set: the label %r is not in y%s" % (
                unknown[0], ", in a row with a weight above 0"
                if unknown[0] in self.classes_.tolist() else ""))
        return np.array([places[label] for label in y.tolist()], np.int64)

    def _labels(self, y: Any) -> Any:
        """Returns the texts of the labels. Positions replace those that the job would change."""
        return np.array(self._texts, object)[y]

    def _job(self) -> Dict[str, Any]:
        """Returns `job` with the texts of its labels."""
        job = super()._job()
        for section, key in (("train", "class_weight"), ("model", "positive"), ("model", "costs")):
            inner = job.get(section)
            if isinstance(inner, Mapping) and inner.get(key) is not None:
                name = "job: %s.%s" % (section, key)
                value = self._in_texts(inner[key], name) \
                    if key != "class_weight" or isinstance(inner[key], Mapping) else inner[key]
                job[section] = {**inner, key: value}
        return job

    def _in_texts(self, value: Any, name: str) -> Any:
        """Returns a label, or a map from labels to numbers or maps, with the texts of labels."""
        if isinstance(value, Mapping):
            return {self._in_texts(label, name): self._in_texts(inner, name)
                    if isinstance(inner, Mapping) else inner for label, inner in value.items()}
        labels = self.classes_.tolist()
        found = [i for i, label in enumerate(labels) if label == value] or \
            [i for i, label in enumerate(labels) if category_text(label) == category_text(value)]
        if len(found) != 1:
            raise InvalidArgumentError("%s: found the label %r, expected one of %s" % (
                name, value, ", ".join(map(repr, labels[:10])) + (", ..." if labels[10:] else "")))
        return self._texts[found[0]]

    def _weights(self, X: Any, y: Any, sample_weight: Any) -> Any:
        weights = super()._weights(X, y, sample_weight)
        if self.class_weight is not None:
            of_class = compute_sample_weight(self.class_weight, self.classes_[y])
            weights = of_class if weights is None else weights * of_class
        self._weighed = set(np.unique(y if weights is None else y[weights > 0]).tolist())
        if len(self._weighed) < 2:
            raise ValueError("found fewer than 2 classes in the rows with a weight above 0, "
                             "expected at least 2 classes")
        return weights

    def _codes(self) -> List[int]:
        """Returns the positions in classes_ of the model's classes."""
        places: Dict[Any, int] = {text: i for i, text in enumerate(self._texts)}
        unknown = [label for label in self.model_.classes if label not in places]
        if unknown:
            raise InternalError("the model has the class %r, which y does not have" % unknown[0])
        return [places[label] for label in self.model_.classes]

    def predict(self, X: Any) -> Any:
        """Returns the label of each row, with its type in y."""
        rows = self._rows(X)
        return self.classes_[np.array(self._codes())[self.model_.predict_index(rows)]]

    def predict_proba(self, X: Any) -> Any:
        """Returns [rows, classes] float64, in the order of classes_."""
        rows = self._rows(X)
        found = self.model_.predict_proba(rows)
        out = np.zeros((len(found), len(self.classes_)))
        out[:, self._codes()] = found
        return out / out.sum(axis=1, keepdims=True)


class EspalierRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    __doc__ = "Regressor of one number.\n" + _ARGS + _ATTRIBUTES

    _task = "regression"

    def _targets(self, y: Any, reset: bool) -> Any:
        y = _numbers(y)
        if y.dtype.kind not in "fiub" and y.dtype.kind != "O":
            raise ValueError("found y of type %s, expected numbers" % y.dtype)
        y = y.astype(np.float64)
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity")
        return y

    def predict(self, X: Any) -> Any:
        """Returns a number for each row."""
        rows = self._rows(X)
        return self.model_.predict(rows)
