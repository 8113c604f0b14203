"""The Params of estimators and models."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Set

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (HasFeaturesCol, HasInputCols, HasLabelCol, HasMaxIter,
                                     HasPredictionCol, HasProbabilityCol, HasRawPredictionCol,
                                     HasSeed, HasStepSize, HasValidationIndicatorCol, HasWeightCol)

from ..errors import InvalidArgumentError

_RANGE = re.compile(r"-?[0-9]+\.\.-?[0-9]+")


def with_setters(cls: Any) -> Any:
    """A class decorator: setFeaturesCol(value) and so on for each Param, as Spark's own classes
    have them."""
    def setter(name: str) -> Any:
        def set_param(self: Any, value: Any) -> Any:
            return self._set(**{name: value})
        set_param.__doc__ = "Sets the Param %s." % name
        return set_param
    for name in dir(cls):
        if isinstance(getattr(cls, name), Param):
            setattr(cls, "set" + name[0].upper() + name[1:], setter(name))
    return cls


def _param(name: str, doc: str, convert: Any) -> Any:
    return Param(Params._dummy(), name, doc, convert)  # type: ignore[attr-defined]


class ColumnParams(HasFeaturesCol, HasInputCols, HasPredictionCol, HasProbabilityCol,
                   HasRawPredictionCol):
    """What a model needs to know of a frame."""

    categoricalCols: Param[List[str]] = _param(
        "categoricalCols", "features that are categories: text, whole numbers or booleans, coded "
        "by the job. Those that inputCols does not name are features beside it, or beside "
        "featuresCol", TypeConverters.toListString)

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(categoricalCols=[])

    def feature_columns(self) -> List[str]:
        """inputCols, or featuresCol alone; then the categoricalCols that are not among them."""
        first = list(self.getInputCols()) if self.isSet(self.inputCols) else [self.getFeaturesCol()]
        return first + [c for c in self.getOrDefault(self.categoricalCols) if c not in first]


class JobParams(ColumnParams, HasLabelCol, HasWeightCol, HasValidationIndicatorCol, HasMaxIter,
                HasStepSize, HasSeed):
    """What a job needs to know."""

    coordinator: Param[str] = _param(
        "coordinator", "host:port of the coordinator, or file:PATH, hdfs://PATH of a file with "
        "it; empty: as the environment says (ESPALIER_COORDINATOR), with its certificates",
        TypeConverters.toString)
    workDirectory: Param[str] = _param(
        "workDirectory", "where the rows, and models without `output`, are put for the time of a "
        "fit: a directory that Spark and the cluster's workers see, hdfs://... or a local path",
        TypeConverters.toString)
    output: Param[str] = _param(
        "output", "where the bundle stays; empty: it is in the model alone",
        TypeConverters.toString)
    embeddingSizes: Param[List[int]] = _param(
        "embeddingSizes", "trained numbers a category, one size for all of categoricalCols or one "
        "for each; 0, or none: one-hot", TypeConverters.toListInt)
    hashBuckets: Param[int] = _param(
        "hashBuckets", "codes of each of categoricalCols, shared by hash, for columns of more than "
        "10,000 values; 0: each value has its own", TypeConverters.toInt)
    hiddenLayers: Param[List[int]] = _param(
        "hiddenLayers", "units of each hidden layer; none: a linear model",
        TypeConverters.toListInt)
    activation: Param[str] = _param(
        "activation", "of the hidden layers: relu, tanh, sigmoid, gelu, ...",
        TypeConverters.toString)
    dropout: Param[float] = _param("dropout", "after each hidden layer, in [0, 1)",
                                   TypeConverters.toFloat)
    loss: Param[str] = _param("loss", "empty: cross-entropy, or mse", TypeConverters.toString)
    optimizer: Param[str] = _param(
        "optimizer", "adam, adamw, sgd, momentum, ...; stepSize is its learning rate",
        TypeConverters.toString)
    batchSize: Param[int] = _param("batchSize", "rows of a step, over all workers",
                                   TypeConverters.toInt)
    patience: Param[int] = _param(
        "patience", "evaluations without a better val_loss after which training stops; 0: never",
        TypeConverters.toInt)
    validationFraction: Param[float] = _param(
        "validationFraction", "share of the rows to validate with, in [0, 1), when there is no "
        "validationIndicatorCol", TypeConverters.toFloat)
    scale: Param[str] = _param("scale", "of the features: standard, minmax or none",
                               TypeConverters.toString)
    nulls: Param[str] = _param("nulls", "in features: fail, mean or drop", TypeConverters.toString)
    maxWorkers: Param[int] = _param("maxWorkers", "of the cluster's, at most; 0: all",
                                    TypeConverters.toInt)
    startTimeout: Param[float] = _param(
        "startTimeout", "seconds that a job waits for workers before it is cancelled; 0: without "
        "limit", TypeConverters.toFloat)
    verbose: Param[bool] = _param("verbose", "shows the progress", TypeConverters.toBoolean)
    job: Param[str] = _param(
        "job", "more of the job file, as YAML, laid over what the other Params say: "
        "'{train: {schedule: cosine}}'", TypeConverters.toString)

    def set_job_defaults(self) -> None:
        self._setDefault(coordinator="", workDirectory="", output="", hiddenLayers=[],
                         activation="relu", dropout=0.0, loss="", optimizer="adam", stepSize=1e-3,
                         maxIter=10, batchSize=256, seed=1, patience=0, validationFraction=0.0,
                         scale="standard", nulls="fail", maxWorkers=0, startTimeout=0.0,
                         verbose=True, job="", embeddingSizes=[], hashBuckets=0)

    def job_spec(self, task: str, train: str, columns: List[str], output: str) -> Dict[str, Any]:
        """The job file as a dict. `columns`: features by name. Raises InvalidArgumentError for a
        name that job files have no way to write."""
        for name in columns:
            if _RANGE.fullmatch(name):
                raise InvalidArgumentError("inputCols: found '%s', which a job takes for a range "
                                           "of columns; give the column another name" % name)
        get = self.getOrDefault
        data: Dict[str, Any] = {
            "train": train, "format": "parquet", "label": self.getLabelCol(),
            "features": {"columns": columns, "scale": get(self.scale), "nulls": get(self.nulls)}}
        more = self._more()
        if self.getOrDefault(self.categoricalCols):
            # Lists are not laid over each other, but groups of `job` are further columns.
            groups = self._groups() + _groups_of(more)
            more = _laid_over(more, {"data": {"features": {"groups": groups}}})
        if self.isSet(self.weightCol):
            data["weight"] = self.getWeightCol()
        if self.isSet(self.validationIndicatorCol):
            data["validation"] = {"column": self.getValidationIndicatorCol()}
        elif get(self.validationFraction):
            data["validation"] = {"fraction": get(self.validationFraction)}
        model: Dict[str, Any] = {"task": task, "hidden": list(get(self.hiddenLayers)),
                                 "activation": get(self.activation), "dropout": get(self.dropout)}
        if get(self.loss):
            model["loss"] = get(self.loss)
        training: Dict[str, Any] = {
            "optimizer": {get(self.optimizer): {"learning_rate": get(self.stepSize)}},
            "batch": get(self.batchSize), "epochs": get(self.maxIter), "seed": get(self.seed)}
        if get(self.patience):
            training["early_stopping"] = {"metric": "val_loss", "patience": get(self.patience)}
        spec = {"name": self.uid, "data": data, "model": model, "train": training,
                "workers": {"min": 1, "max": get(self.maxWorkers)},
                "output": {"path": output, "overwrite": bool(get(self.output))}}
        return _laid_over(spec, more)

    def coded_columns(self) -> Set[str]:
        """Features that need not be numbers: categoricalCols, and those of groups in `job`."""
        names = list(self.getOrDefault(self.categoricalCols))
        for group in _groups_of(self._more()):
            columns = group.get("columns") if isinstance(group, dict) else None
            names += columns if isinstance(columns, list) else [columns]
        return {n for n in names if isinstance(n, str)}

    def _groups(self) -> List[Any]:
        """categoricalCols as groups of the job file."""
        columns, sizes = (self.getOrDefault(p) for p in (self.categoricalCols, self.embeddingSizes))
        if len(sizes) not in (0, 1, len(columns)):
            raise InvalidArgumentError("embeddingSizes: found %d sizes for %d categoricalCols, "
                                       "expected one, or one for each" % (len(sizes), len(columns)))
        each = list(sizes) * (len(columns) if len(sizes) == 1 else 1) or [0] * len(columns)
        out: List[Any] = []
        for name, size in zip(columns, each):
            group = {"columns": name, "type": "categorical",
                     "encode": {"embedding": size} if size else "one_hot"}
            if self.getOrDefault(self.hashBuckets):
                group["hash"] = self.getOrDefault(self.hashBuckets)
            out.append(group)
        return out

    def _more(self) -> Dict[str, Any]:
        import yaml
        try:
            more = yaml.safe_load(self.getOrDefault(self.job) or "{}")
        except yaml.YAMLError as error:
            raise InvalidArgumentError("job: it is no YAML: %s" % error) from error
        if not isinstance(more, dict):
            raise InvalidArgumentError("job: expected a map, such as '{train: {batch: 64}}'")
        return more


def _groups_of(job: Dict[str, Any]) -> List[Any]:
    """data.features.groups of a job file, if that is where it has them."""
    at: Any = job
    for key in ("data", "features", "groups"):
        at = at.get(key) if isinstance(at, dict) else None
    return at if isinstance(at, list) else []


def _laid_over(below: Dict[str, Any], above: Dict[str, Any]) -> Dict[str, Any]:
    out = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = _laid_over(out[key], value) if both else value
    return out
