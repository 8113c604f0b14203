"""Errors of a job in an estimator's words. Keys of the job file become the Params that set them.
Files that exist only during a fit become the frame."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Dict, Iterator, List, Optional, Tuple

from py4j.protocol import Py4JJavaError

from ..errors import EspalierError, JobError

# Keys with Params of other names; see also params.key_params. "*" is one word.
_PARAMS = {
    "data.features.groups": "categoricalCols", "data.features.nulls": "nulls",
    "data.features.scale": "scale", "data.label": "labelCol", "data.train": "the frame",
    "data.validation": "validationFraction or validationIndicatorCol",
    "data.validation.column": "validationIndicatorCol",
    "data.validation.fraction": "validationFraction", "data.weight": "weightCol",
    "model.activation": "activation", "model.dropout": "dropout", "model.hidden": "hiddenLayers",
    "model.loss": "loss", "output.path": "output", "train.batch": "batchSize",
    "train.class_weight": "classWeight", "train.early_stopping.patience": "patience",
    "train.epochs": "maxIter", "train.initial": "warmStart", "train.initial.from": "warmStart",
    "train.optimizer": "optimizer", "train.optimizer.*.learning_rate": "stepSize",
    "train.optimizer.*.max_iterations": "maxIter", "train.seed": "seed",
    "workers.max": "maxWorkers",
}
_PLACE = re.compile(r"^job(:\d+)*: ")  # of the text of the job, which no user has written
_FRACTION = re.compile(r"validation: \{fraction: ([0-9.]+)\}")
_SUBJECT = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*(?=[:\[])")  # the key that a message is about
_COMPAT = re.compile(r"compat\.(?:spark-mlp|sparktorch)\.")
_JAVA_CLASS = re.compile(r"^(?:[a-z]\w*\.)+[A-Z]\w*: ")
_CAUSES_MAX = 20


class Translation:
    """Translates the errors of one fit."""

    def __init__(self, keys: Dict[str, str], own: Dict[str, Any], where: str,
                 compat: Tuple[str, str]) -> None:
        """`keys`: Params by key, in addition to those with names of Spark's. `own`: the keys of the
        Param `job`, which stay as they are. `where`: the directory of the fit as jobs name it.
        `compat`: a section of the job file for another program's words, and what sets it."""
        self._params = dict(_PARAMS, **keys)
        self._own = set(_paths(own))
        self._compat = compat
        words = "|".join(re.escape(key).replace(r"\*", r"\w+")
                         for key in sorted(self._params, key=len, reverse=True))
        # A key ends where no further word of a key follows.
        self._key = re.compile(r"(?<![\w.-])(?:%s)(?![\w-]|\.\w)" % words)
        self._patterns = {re.compile(re.escape(key).replace(r"\*", r"\w+") + r"\Z"): param
                          for key, param in self._params.items()}
        self._file = re.compile(r"(?:file:(?://)?)?%s(/[^\s,;:'\"()]*)?" % re.escape(where))
        self._where = where

    def text(self, message: str) -> str:
        """Returns a message without keys that Params set, and without the fit's own files."""
        bare = _PLACE.sub("", message, count=1)
        subject = _SUBJECT.match(bare)
        in_job = bare.startswith("unknown key") or \
            subject is not None and subject.group() in self._own
        bare = _COMPAT.sub("", bare).replace(*self._compat)
        bare = self._key.sub(self._param, bare)
        bare = self._file.sub(_file_name, _FRACTION.sub(r"validationFraction=\1", bare))
        return "job: " + bare if in_job else bare

    def _param(self, found: re.Match[str]) -> str:
        key = found.group()
        if key in self._own:
            return key
        return next(param for pattern, param in self._patterns.items() if pattern.match(key))

    def apply(self, error: EspalierError) -> None:
        """Translates an error in place."""
        error.message = self.text(error.message)
        error.args = (error.message,)
        error.causes = tuple(map(self.text, error.causes))
        error.hint = self.text(error.hint)
        at = error.position
        if at is not None and self._file.match(at.file):
            at = dataclasses.replace(at, file="", row=None, offset=None)
            error.position = at if str(at) else None
        if isinstance(error, JobError):
            self.apply(error.error)


def _paths(keys: Any, above: str = "") -> Iterator[str]:
    """Yields the paths of all values in a map of maps."""
    for key, value in keys.items() if isinstance(keys, dict) else ():
        path = above + str(key)
        yield path
        yield from _paths(value, path + ".")


def _file_name(found: re.Match[str]) -> str:
    return "the model's directory" if (found.group(1) or "").startswith("/bundle") else "the frame"


def java_message(error: Exception) -> Optional[str]:
    """Returns the message of an error of Java's files or of Hadoop, without its class and stack.
    None: it is another error."""
    if not isinstance(error, Py4JJavaError):
        return None
    java: Any = error.java_exception
    chain: List[Any] = []
    while java is not None and len(chain) < _CAUSES_MAX:
        chain.append(java)
        java = java.getCause()
    for cause in reversed(chain):
        name = str(cause.getClass().getName())
        if name.startswith(("java.io.", "java.net.", "java.nio.", "org.apache.hadoop.")):
            first = (str(cause.getMessage() or "").splitlines() or [""])[0]
            return _JAVA_CLASS.sub("", first)[:300] or name.rpartition(".")[2]
    return None
