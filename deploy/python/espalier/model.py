"""A trained model, computed by NumPy alone."""

from __future__ import annotations

import os
from typing import Any, Dict, Optional, Tuple, Union

import numpy as np

from ._bundle import (Document, Label, check_digest, parse_document, parse_safetensors,
                      read_local)
from ._facts import MODEL_BYTES_MAX, MODEL_FILE, WEIGHTS_BYTES_MAX, WEIGHTS_FILE
from ._network import Ensemble, Network, class_indices, probabilities, regression_values
from ._preprocessing import Preprocessing
from ._tables import Rows
from .errors import DataLossError, FailedPreconditionError, InvalidArgumentError

__all__ = ["Model", "load"]

_REMOTE = ("hdfs://", "webhdfs://", "swebhdfs://")


def load(bundle: Union[str, os.PathLike[str]]) -> Model:
    """Loads the model in a bundle, the directory that a job's `output` names.

    Args:
        bundle: a local path, or ``hdfs://``, ``webhdfs://``, ``swebhdfs://``. The client reads the
            last three by WebHDFS. `swebhdfs://` uses HTTPS with the authority of
            ``ESPALIER_HADOOP_CA``. `hdfs://` finds the NameNode by ``HADOOP_CONF_DIR``. On clusters
            secured by Kerberos, your identity comes from your ticket (``kinit``) or keytab
            (``KRB5_CLIENT_KTNAME``). It can also come from the token of the file that
            ``HADOOP_TOKEN_FILE_LOCATION`` names, as in a container of YARN's.

    Raises:
        NotFoundError: it does not exist, or is incomplete.
        DataLossError: the weights are not those that its model.json describes.
        BadInputError: a file is malformed.
        PermissionDeniedError, UnavailableError: HDFS, or Kerberos, denies access or is unreachable.
        FailedPreconditionError, UnimplementedError: it is of another version, or uses features
            that this client does not know. The client rejects it instead of computing a different
            result.
    """
    where = os.fspath(bundle)
    if where.startswith(_REMOTE):
        from ._webhdfs import read_file

        def read(name: str, limit: int) -> bytes:
            return read_file(where.rstrip("/") + "/" + name, limit)
    else:
        def read(name: str, limit: int) -> bytes:
            return read_local(where[len("file:"):] if where.startswith("file:") else where, name,
                              limit)
    return Model.from_bytes(read(MODEL_FILE, MODEL_BYTES_MAX),
                            read(WEIGHTS_FILE, WEIGHTS_BYTES_MAX), where)


class Model:
    """A trained model. Immutable: any number of threads may use it. Models can be pickled and
    copied.

    Rows may be

    - a NumPy array [rows, features] with :attr:`features` in their order; NaN is null, and with
      columns of text it is an array of objects,
    - a SciPy sparse matrix or array of that shape and of any format; what it does not store is 0,
    - a pandas frame, an Arrow table or record batch, or a dict of columns: found by name, other
      columns are ignored; null, None, NA and NaN are null.

    Texts of numbers ("0.5") are numbers, as in training.

    Rows are preprocessed as the training rows were. Methods raise InvalidArgumentError for other
    data. They raise BadInputError, with row and column, for a null that the model cannot handle or
    a number beyond its precision. For a row whose answer overflows, which `espalier predict`
    rejects, predict_proba, predict_raw and numbers of predict have NaN or infinity.
    """

    def __init__(self, document: Document, weights: bytes, source: bytes) -> None:
        """`source`: the model.json that `document` was parsed from."""
        self._files = (source, weights)
        self._document = document
        self._preprocessing = Preprocessing(document)
        tensors = parse_safetensors(weights)
        self._network: Union[Network, Ensemble]
        if document.fits > 1 or document.constant:
            self._network = Ensemble(document, tensors)
        else:
            self._network = Network(document, tensors)
        self._labels = _labels(document.classes)

    @classmethod
    def from_bytes(cls, model_json: bytes, weights: bytes, where: str = "") -> Model:
        """Reads the content of a bundle's model.json and weights.safetensors. Raises as
        :func:`load` does. `where` is their origin, used only in errors."""
        document = parse_document(model_json)
        check_digest(weights, document.weights_sha256, os.path.join(where, WEIGHTS_FILE))
        return cls(document, weights, model_json)

    def __repr__(self) -> str:
        d = self._document
        kind = "labels" if d.task == "multilabel" else "targets"
        what = "%d classes" % len(d.classes) if d.classification else "%d %s" % (
            len(d.targets), kind)
        return "<espalier.Model '%s': %d features, %s>" % (d.name, len(self.features), what)

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self).from_bytes, self._files

    @property
    def task(self) -> str:
        """"classification", "regression", "multilabel" or "autoencoder"."""
        return self._document.task

    @property
    def features(self) -> Tuple[str, ...]:
        """Names of the columns in the order in which the model's features need them. Without a
        header, positions in decimal."""
        return self._preprocessing.names

    @property
    def classes(self) -> Tuple[Label, ...]:
        """Labels as text, in the order of predict_proba's columns. Empty except for classification.
        Bytes for a label that is not UTF-8."""
        return self._document.classes

    @property
    def targets(self) -> Tuple[str, ...]:
        """Names of the targets of a regression, of the labels of multilabel, or of the numbers that
        an autoencoder reproduces."""
        return tuple(target[0] for target in self._document.targets)

    @property
    def weights_sha256(self) -> str:
        """Identifies the model: the SHA-256 of its weights, in hexadecimal."""
        return self._document.weights_sha256

    @property
    def description(self) -> Dict[str, Any]:
        """model.json unchanged: the job, schema, metrics, fingerprints."""
        return self._document.raw

    def check_weights(self, sha256: str) -> None:
        """Raises DataLossError if this is not the named model."""
        if self.weights_sha256 != sha256:
            raise DataLossError("found the model %s in the bundle, expected %s" %
                                (self.weights_sha256, sha256),
                                hint="A later job has replaced it, or this is another machine's "
                                     "directory.")

    def predict(self, data: Any, *, batch_rows: int = 8192) -> np.ndarray[Any, Any]:
        """Returns the model's prediction for each row.

        Args:
            data: rows, see above.
            batch_rows: number of rows computed at a time; bounds the memory.

        Returns:
            Classification: [rows] labels; integers if all classes are whole numbers, otherwise text
            (dtype object). Multilabel: int64 [rows, labels] of 0 and 1. Otherwise float64 in the
            units of the target, [rows], or [rows, targets] for several targets; an autoencoder
            gives [rows, features].
        """
        if self._document.task == "multilabel":
            decided: np.ndarray[Any, Any] = (self.predict_proba(
                data, batch_rows=batch_rows) > 0.5).astype(np.int64)
            return decided
        if self._document.classification:
            labels: np.ndarray[Any, Any] = self._labels[self.predict_index(
                data, batch_rows=batch_rows)]
            return labels
        out = self._collect(data, batch_rows, lambda z: regression_values(self._document, z),
                            (len(self.targets),), np.dtype(np.float64))
        alone = len(self.targets) == 1 and self._document.task == "regression"
        return out[:, 0] if alone else out

    def predict_interval(self, data: Any, *, batch_rows: int = 8192) -> np.ndarray[Any, Any]:
        """Returns prediction intervals of a regression trained with ``train.intervals``.

        Returns:
            float64 [rows, 2], or [rows, targets, 2] for several targets: the lower and the upper
            end, in the units of the target.

        Raises:
            FailedPreconditionError: the model has no intervals.
        """
        widths = np.array(self._document.half_widths)
        if not len(widths):
            raise FailedPreconditionError("the model has no prediction intervals. Train it with "
                                          "train.intervals")
        values = self.predict(data, batch_rows=batch_rows)
        widths = widths if values.ndim == 2 else widths[0]
        ends: np.ndarray[Any, Any] = np.stack([values - widths, values + widths], axis=-1)
        if self._document.loss == "poisson":
            np.maximum(ends, 0, out=ends)
        return ends

    def predict_index(self, data: Any, *, batch_rows: int = 8192) -> np.ndarray[Any, Any]:
        """Returns [rows] int64: the position of the predicted label in :attr:`classes`."""
        self._needs_classes("predict_index")
        return self._collect(data, batch_rows, self._index_of, (), np.dtype(np.int64))

    def predict_proba(self, data: Any, *, batch_rows: int = 8192) -> np.ndarray[Any, Any]:
        """Returns [rows, classes] probabilities, in the model's precision. Each row adds up to 1.
        Multilabel: [rows, labels], the probability that each label is 1.

        Raises:
            InvalidArgumentError: this is a regression or an autoencoder.
        """
        d = self._document
        if d.task != "multilabel":
            self._needs_classes("predict_proba")
        return self._collect(data, batch_rows, self._proba_of,
                             (len(self.classes) or len(self.targets),), d.dtype)

    def predict_raw(self, data: Any, *, batch_rows: int = 8192) -> np.ndarray[Any, Any]:
        """Returns [rows, outputs] of the network: before softmax (one per class) or sigmoid (one,
        or one per label). For a regression, before its target's scale."""
        outputs = self._document.layers[-1].outputs
        return self._collect(data, batch_rows, lambda z: z, (outputs,), self._document.dtype)

    def _index_of(self, z: Any) -> Any:
        """Returns predict_index from the result of predict_raw."""
        return class_indices(self._document.loss, z, self._document.thresholds,
                             self._document.costs)

    def _proba_of(self, z: Any) -> Any:
        """Returns predict_proba from the result of predict_raw."""
        return probabilities(self._document.task, self._document.loss, z)

    def _needs_classes(self, what: str) -> None:
        if not self._document.classification:
            raise InvalidArgumentError("%s is for classification, found a model of task %s. "
                                       "Use predict" % (what, self.task))

    def _collect(self, data: Any, batch_rows: int, of: Any, shape: Tuple[int, ...],
                 dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        if batch_rows < 1:
            raise InvalidArgumentError("batch_rows: found %d, expected at least 1" % batch_rows)
        rows = Rows(data, self._preprocessing.wanted)
        out = np.empty((rows.count,) + shape, dtype)
        for begin in range(0, rows.count, batch_rows):
            end = min(begin + batch_rows, rows.count)
            out[begin:end] = of(self._network.outputs(*self._preprocessing.apply(rows, begin, end)))
        return out


def _labels(classes: Tuple[Label, ...]) -> np.ndarray[Any, Any]:
    """Returns the classes as an array: integers if each has the one usual spelling."""
    whole = [_whole(c) for c in classes]
    if classes and all(w is not None for w in whole):
        return np.array(whole, np.int64)
    out = np.empty(len(classes), object)
    out[:] = classes
    return out


def _whole(label: Label) -> Optional[int]:
    try:
        value = int(label)
    except ValueError:
        return None
    return value if str(value) == label and abs(value) < 1 << 63 else None
