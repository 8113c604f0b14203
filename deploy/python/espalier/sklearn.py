"""Estimators of scikit-learn that train on this machine: EspalierClassifier and EspalierRegressor.

>>> from espalier.sklearn import EspalierClassifier
>>> classifier = EspalierClassifier().fit(frame, y)        # frame: pandas, or an array of numbers
>>> classifier.predict_proba(frame)

`fit` writes the rows as Parquet into a private temporary directory, and the `espalier` program
trains on them. It needs the programs (see espalier.train), scikit-learn 1.6 or newer, and pyarrow.
"""

from __future__ import annotations

import csv
import os
import re
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (_check_sample_weight, check_consistent_length,
                                      check_is_fitted, column_or_1d, validate_data)

from ._columns import category_text
from ._facts import MODEL_FILE
from ._tables import _is_of_pandas
from .local import train
from .model import load

__all__ = ["EspalierClassifier", "EspalierRegressor"]

Array = "np.ndarray[Any, Any]"

_VECTOR = "x"  # the column with the rows of an array
# A name that a job file would read as several columns, or as an element of a vector.
_OTHER_NAME = re.compile(r"-?\d+\.\.-?\d+|.*[\[\]*?].*|auto|", re.S)
_NUMBERS_AT_A_TIME = 1 << 24
# Kinds of objects by pandas.api.types.infer_dtype.
_OBJECTS = {"integer": "numeric", "floating": "numeric", "mixed-integer-float": "numeric",
            "decimal": "numeric", "boolean": "boolean", "date": "date", "datetime": "date",
            "datetime64": "date"}


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
        return _OBJECTS.get(types.infer_dtype(column, skipna=True), "categorical")
    if types.is_string_dtype(column.dtype):
        return "categorical"
    raise ValueError("column '%s' is of type %s, expected numbers, booleans, dates, text or a "
                     "category" % (name, column.dtype))


def _in_arrow(column: Any, kind: str) -> Any:
    if kind != "categorical":
        return pa.array(column, from_pandas=True)
    texts = (category_text(value) for value in column)
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
        self.kinds = [_kind_of(name, X.iloc[:, i]) for i, name in enumerate(names)]

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
            return {name: X.iloc[:, i] for i, name in enumerate(self.names)}
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
                         [(name, pa.array(values[:0]).type) for name, values in others.items()])
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
        hidden_layer_sizes: units of each hidden layer; () is a linear model.
        activation: relu, tanh, sigmoid, gelu, ...
        dropout: share of the hidden units that a step leaves out.
        loss: the loss of training.
        optimizer: adam, adamw, sgd, momentum, lbfgs, ...
        learning_rate: the optimizer's learning rate. Without `optimizer`, it is that of adam.
        batch_size: rows of a step.
        epochs: maximum number of epochs.
        patience: number of evaluations without a better loss after which training stops.
        validation_fraction: share of the rows for validation, without an `eval_set`.
        random_state: seed of weights, shuffle and validation; a number or a RandomState. None: 1,
            so that two fits are the same.
        workers, threads: see espalier.train.
        output: directory for the bundle, which replaces earlier content; None: none is kept.
        verbose: whether to show the progress.
        job: further keys of the job file as a dict, which override the others.
"""
_ATTRIBUTES = """
    Attributes:
        model_: the espalier.Model.
        result_: metrics of the fit, an espalier.JobResult; None if it was interrupted.
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
        tags.input_tags.allow_nan = True
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
            ValueError: the rows or a Param are wrong. EspalierErrors of both are ValueErrors.
            NotFoundError: the `espalier` program is missing.

        A KeyboardInterrupt ends the training. After the first evaluation, the estimator then has
        the best weights so far.
        """
        X = self._validated(X, reset=True)
        y = self._targets(y, reset=True)
        check_consistent_length(X, y)
        if len(X) < 2:
            raise ValueError("found n_samples = 1, expected at least 2 rows to train on")
        self._columns = _Columns(X)
        label, weight = self._columns.free("label"), self._columns.free("weight")
        others = {label: y}
        weights = self._weights(X, y, sample_weight)
        if weights is not None:
            others[weight] = weights
        with tempfile.TemporaryDirectory(prefix="espalier-fit-") as folder:
            files = {"train": os.path.join(folder, "train.parquet")}
            self._columns.write(files["train"], X, others)
            if eval_set is not None:
                files["validation"] = os.path.join(folder, "validation.parquet")
                self._write_eval_set(files["validation"], eval_set, label,
                                     weight if weight in others else "")
            bundle = os.fspath(self.output or os.path.join(folder, "bundle"))
            self._train(self._spec(files, label, weight if weight in others else "", bundle),
                        bundle)
        return self

    def _write_eval_set(self, path: str, eval_set: Any, label: str, weight: str) -> None:
        pair = eval_set[0] if isinstance(eval_set, list) and len(eval_set) == 1 else eval_set
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError("eval_set: expected (X, y), or a list with one of these pairs")
        X, y = self._validated(pair[0], reset=False), self._targets(pair[1], reset=False)
        check_consistent_length(X, y)
        self._columns.write(path, X, {label: y, **({weight: np.ones(len(y))} if weight else {})})

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
            data["validation"] = {"fraction": self.validation_fraction}
        hidden = self.hidden_layer_sizes
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
        return _laid_over(spec, self.job or {})

    def _seed(self) -> Optional[int]:
        state = self.random_state
        if isinstance(state, (np.random.RandomState, np.random.Generator)):
            draw = state.randint if isinstance(state, np.random.RandomState) else state.integers
            return int(draw(1 << 31))
        return None if state is None else int(state)

    def _train(self, spec: Mapping[str, Any], bundle: str) -> None:
        try:
            result = train(spec, workers=self.workers, threads=self.threads,
                           progress=bool(self.verbose))
        except KeyboardInterrupt:
            if os.path.exists(os.path.join(bundle, MODEL_FILE)):
                self._take(bundle, None)
            raise
        self._take(bundle, result)

    def _take(self, bundle: str, result: Any) -> None:
        """Stores the outcome of a training."""
        self.model_ = load(bundle)
        self.result_ = result
        self.best_epoch_ = None if result is None else result.best_epoch
        self.bundle_ = self.output
        with open(os.path.join(bundle, "history.csv"), encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
        self.history_ = {name: [float(row[name]) if row[name] else float("nan") for row in rows]
                         for name in (rows[0] if rows else ())}

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
        """Returns the labels as the job gets them."""
        raise NotImplementedError

    def _weights(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Returns the weights of rows with the targets `y`; None: each is 1."""
        if sample_weight is None:
            return None
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def _given(values: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> Dict[str, Any]:
    out = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(out.get(key), Mapping)
        out[key] = _laid_over(out[key], value) if both else value
    return out


def _numbers(y: Any) -> Any:
    """Returns y as [rows] of one type, without null and infinity."""
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    kind = y.dtype.kind
    if kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity")
    if kind == "O" and any(value is None or value != value for value in y):
        raise ValueError("Input y contains NaN or None")
    return y


class EspalierClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    __doc__ = "Classifier.\n" + _ARGS + """\
        class_weight: balanced, or a dict from labels to weights, which are factors of the weights
            of rows.
""" + _ATTRIBUTES.rstrip() + """
        classes_: labels, ascending, with the type that they have in y.
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
        """Returns the positions of the labels in classes_. The job gets them as its labels."""
        y = _numbers(y)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if reset:
            if len(classes) < 2:
                raise ValueError("found 1 class in y, expected at least 2 classes")
            self.classes_ = classes
            return codes.reshape(-1).astype(np.int64)
        places = {label: i for i, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in classes.tolist() if label not in places]
        if unknown:
            raise ValueError("eval_set: the label %r is not in y" % (unknown[0],))
        return np.array([places[label] for label in y.tolist()], np.int64)

    def _weights(self, X: Any, y: Any, sample_weight: Any) -> Any:
        weights = super()._weights(X, y, sample_weight)
        if self.class_weight is not None:
            of_class = compute_sample_weight(self.class_weight, self.classes_[y])
            weights = of_class if weights is None else weights * of_class
        if weights is not None and len(np.unique(y[weights > 0])) < 2:
            raise ValueError("found fewer than 2 classes in the rows with a weight above 0, "
                             "expected at least 2 classes")
        return weights

    def predict(self, X: Any) -> Any:
        """Returns the label of each row, with its type in y."""
        rows = self._rows(X)
        codes = np.array([int(label) for label in self.model_.classes])
        return self.classes_[codes[self.model_.predict_index(rows)]]

    def predict_proba(self, X: Any) -> Any:
        """Returns [rows, classes] float64, in the order of classes_."""
        rows = self._rows(X)
        found = self.model_.predict_proba(rows)
        out = np.zeros((len(found), len(self.classes_)))
        out[:, [int(label) for label in self.model_.classes]] = found
        return out / out.sum(axis=1, keepdims=True)


class EspalierRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    __doc__ = "Regressor of one number.\n" + _ARGS + _ATTRIBUTES

    _task = "regression"

    def _targets(self, y: Any, reset: bool) -> Any:
        y = _numbers(y)
        if y.dtype.kind not in "fiub" and y.dtype.kind != "O":
            raise ValueError("found y of type %s, expected numbers" % y.dtype)
        return y.astype(np.float64)

    def predict(self, X: Any) -> Any:
        """Returns a number for each row."""
        rows = self._rows(X)
        return self.model_.predict(rows)
