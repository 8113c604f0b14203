"""Params of estimators and models."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Set, Tuple

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (HasFeaturesCol, HasInputCols, HasLabelCol, HasMaxIter,
                                     HasPredictionCol, HasProbabilityCol, HasRawPredictionCol,
                                     HasSeed, HasStepSize, HasValidationIndicatorCol, HasWeightCol)

from .._facts import SCALAR_KEYS
from .._overlay import laid_over, refuse_keys
from ..errors import InvalidArgumentError

_RANGE = re.compile(r"-?[0-9]+\.\.-?[0-9]+")
_ELEMENT = re.compile(r"(.+)\[[0-9]+\]")  # element of a vector
# Keys of the job file that an estimator sets itself, and what specifies them.
_OWN_KEYS = {
    "output": "the Param output specifies the directory of the bundle",
    "data.train": "fit or fit_on_parquet gets the rows",
    "data.label": "the Param labelCol names the label",
    "data.format": "the rows are Parquet",
    "model.task": "use EspalierClassifier or EspalierRegressor",
}

# Keys that Params with names of Spark set, or that a fit determines. The others have Params of
# their names.
_NAMED_KEYS = {
    "name", "preset", "data.train", "data.test", "data.format", "data.label", "data.weight",
    "data.features.columns", "data.features.scale", "data.features.nulls",
    "data.validation.fraction", "data.validation.column", "model.task", "model.activation",
    "model.dropout", "model.loss", "train.optimizer", "train.optimizer.*.learning_rate",
    "train.optimizer.*.max_iterations", "train.batch", "train.epochs", "train.seed",
    "train.early_stopping.patience", "train.initial.from", "workers.max", "output.path",
    "output.overwrite"}
_DEFAULTS = {key: value for key, _, value, _ in SCALAR_KEYS}
# Sections of text files. The rows are Parquet.
_TEXT_SECTIONS = ("data.csv.", "data.libsvm.")
_CONVERTERS = {"int": TypeConverters.toInt, "float": TypeConverters.toFloat,
               "bool": TypeConverters.toBoolean, "str": TypeConverters.toString}


def _is_scalar(value: Any) -> Any:
    """Converts a value that may have one of several types in a job file."""
    if type(value) not in (int, float, bool, str):
        raise TypeError("Could not convert %s to a number, true, false or text" % type(value))
    return value


def param_name(key: str) -> str:
    """Returns the name of a key's Param. train.early_stopping.metric: earlyStoppingMetric."""
    words = [part for part in key.split(".") if part != "*"]
    words = words[words[0] in ("data", "model", "train"):]
    first, *rest = "_".join(words).split("_")
    return first + "".join(word.title() for word in rest)


def key_params() -> Dict[str, Tuple[str, Any]]:
    """Returns the Params that are named like keys of the job file: path of the key and Param."""
    return {param_name(key): (key, param(param_name(key), "%s of the job file. %s" % (key, text),
                                         _CONVERTERS.get(kind, _is_scalar)))
            for key, kind, _, text in SCALAR_KEYS
            if key not in _NAMED_KEYS and not key.startswith(_TEXT_SECTIONS)}


def put_key(spec: Dict[str, Any], key: str, value: Any) -> Dict[str, Any]:
    """Returns the job file with a value for one key. "*" in a key is the word that the job file
    has there, or the default one."""
    out = at = dict(spec)
    parts = key.split(".")
    for i, part in enumerate(parts[:-1]):
        if part == "*":
            continue
        inner = at.get(part)
        if parts[i + 1] == "*":
            above = ".".join(parts[:i + 1])
            word = inner if isinstance(inner, str) else next(iter(inner or {}), _DEFAULTS[above])
            if not word:
                raise InvalidArgumentError("%s: found it without %s. Set %s, too" % (
                    param_name(key), param_name(above), param_name(above)))
            inner = {word: dict(inner[word] or {}) if isinstance(inner, dict) else {}}
            at[part], at = inner, inner[word]
        else:
            if isinstance(inner, str):  # a word without settings, or a path alone
                inner = _map_of(key, ".".join(parts[:i + 1]), inner, parts[i + 1])
            inner = dict(inner or {})
            at[part] = at = inner
    at[parts[-1]] = value
    return out


def _map_of(key: str, above: str, word: str, wanted: str) -> Dict[str, Any]:
    """Returns the map for which a word alone is short. `wanted`: key in it that is to be set."""
    if above + ".from" in _NAMED_KEYS:  # a path
        return {"from": word}
    if word != wanted:
        raise InvalidArgumentError("%s: found it with %s %s, expected %s %s. Remove one of them" % (
            param_name(key), param_name(above), word, param_name(above), wanted))
    return {}


def with_setters(cls: Any) -> Any:
    """Adds setFeaturesCol(value) and so on for each Param, as in Spark's own classes, and
    everything that `with_getters` adds. A class decorator."""
    def setter(name: str) -> Any:
        def set_param(self: Any, value: Any) -> Any:
            return self._set(**{name: value})
        set_param.__doc__ = "Sets the Param %s." % name
        return set_param
    for name, word in _words(cls):
        setattr(cls, "set" + word, setter(name))
    return with_getters(cls)


def with_getters(cls: Any) -> Any:
    """Adds getFeaturesCol() and so on for each Param without a getter. A class decorator."""
    def getter(name: str) -> Any:
        def get_param(self: Any) -> Any:
            return self.getOrDefault(name)
        get_param.__doc__ = "Returns the value of the Param %s, or its default." % name
        return get_param
    for name, word in _words(cls):
        if not hasattr(cls, "get" + word):
            setattr(cls, "get" + word, getter(name))
    return cls


def _words(cls: Any) -> List[Tuple[str, str]]:
    """Returns the Params of a class and their spelling in methods' names."""
    return [(name, name[0].upper() + name[1:]) for name in dir(cls)
            if isinstance(getattr(cls, name), Param)]


def _flag(value: Any) -> bool:
    """Converts verbosity. Other estimators use a number, and 0 is silent."""
    return value > 0 if type(value) is int else TypeConverters.toBoolean(value)


def _one_or_many(convert: Any) -> Any:
    def of(value: Any) -> Any:
        if TypeConverters._can_convert_to_list(value):  # type: ignore[attr-defined]
            return [convert(v) for v in TypeConverters.toList(value)]
        return convert(value)
    return of


def _class_weight(value: Any) -> Any:
    """Converts a word, or a map from labels to weights."""
    if isinstance(value, dict):
        return {str(label): TypeConverters.toFloat(w) for label, w in value.items()}
    return TypeConverters.toString(value)


def param(name: str, doc: str, convert: Any) -> Any:
    return Param(Params._dummy(), name, doc, convert)  # type: ignore[attr-defined]


class ColumnParams(HasFeaturesCol, HasInputCols, HasPredictionCol, HasProbabilityCol,
                   HasRawPredictionCol):
    """Params of a model about a frame."""

    categoricalCols: Param[List[str]] = param(
        "categoricalCols", "features that are categories: text, whole numbers or booleans, coded "
        "by the job. They are features in addition to inputCols or featuresCol",
        TypeConverters.toListString)

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(categoricalCols=[])

    def feature_columns(self) -> List[str]:
        """Returns inputCols, or featuresCol alone, then the other categoricalCols."""
        first = list(self.getInputCols()) if self.isSet(self.inputCols) else [self.getFeaturesCol()]
        return first + [c for c in self.getOrDefault(self.categoricalCols) if c not in first]


class JobParams(ColumnParams, HasLabelCol, HasWeightCol, HasValidationIndicatorCol, HasMaxIter,
                HasStepSize, HasSeed):
    """Params of a job. Each scalar key of the job file without a Param below has one of its name:
    `train.weight_decay` is weightDecay, `train.early_stopping.metric` earlyStoppingMetric."""

    coordinator: Param[str] = param(
        "coordinator", "host:port of the coordinator, or file:PATH or hdfs://PATH of a file with "
        "it; empty: ESPALIER_COORDINATOR of the environment, with its certificates",
        TypeConverters.toString)
    workDirectory: Param[str] = param(
        "workDirectory", "directory for rows, and for models without `output`, during a fit. Spark "
        "and the cluster's workers must see it: hdfs://... or a local path; empty: "
        "ESPALIER_WORK_DIRECTORY of the environment, or the parent directory of the output",
        TypeConverters.toString)
    output: Param[str] = param(
        "output", "directory for the bundle, which replaces earlier content; empty: only the model "
        "contains it. After a CrossValidator or a TrainValidationSplit, it has the best model",
        TypeConverters.toString)
    warmStart: Param[str] = param(
        "warmStart", "path of a bundle or a safetensors file, as the workers see it, whose weights "
        "training starts with; empty: random weights by the seed", TypeConverters.toString)
    embeddingSizes: Param[List[int]] = param(
        "embeddingSizes", "number of trained values per category, one size for all categoricalCols "
        "or one for each; 0 or none: one-hot", TypeConverters.toListInt)
    hashBuckets: Param[int] = param(
        "hashBuckets", "number of codes of each of categoricalCols, which values share by hash, "
        "for columns of more than 10,000 values; 0: a code for each value", TypeConverters.toInt)
    hiddenLayers: Param[List[int]] = param(
        "hiddenLayers", "units of each hidden layer; none: a linear model",
        TypeConverters.toListInt)
    activation: Param[Any] = param(
        "activation", "activation of the hidden layers: relu, tanh, sigmoid, gelu, ...; one for "
        "all, or a list with one for each", _one_or_many(TypeConverters.toString))
    dropout: Param[Any] = param(
        "dropout", "dropout after the hidden layers, in [0, 1); one for all, or a list with one "
        "for each",
        _one_or_many(TypeConverters.toFloat))
    loss: Param[str] = param("loss", "loss; empty: cross-entropy for classes, mse for numbers",
                             TypeConverters.toString)
    classWeight: Param[Any] = param(
        "classWeight", "weights of the classes in training, in addition to weightCol: balanced, or "
        "a map such as {'no': 1, 'yes': 5}, with 1 for labels that are not in it; none: no weights",
        _class_weight)
    optimizer: Param[str] = param(
        "optimizer", "adam, adamw, sgd, momentum, ...; stepSize is its learning rate. A step of gd "
        "or lbfgs uses all rows: see batchSize, and for lbfgs also maxIter and stepSize",
        TypeConverters.toString)
    maxIter: Param[int] = param(
        "maxIter", "epochs; maximum number of lbfgs iterations with that optimizer, 100 if not set",
        TypeConverters.toInt)
    stepSize: Param[float] = param(
        "stepSize", "the optimizer's learning rate; with lbfgs, the first step that is tried, 1 if "
        "not set", TypeConverters.toFloat)
    batchSize: Param[int] = param(
        "batchSize", "rows of a step, over all workers; with gd and lbfgs, rows that are processed "
        "at a time, 8192 if not set", TypeConverters.toInt)
    patience: Param[int] = param(
        "patience", "number of evaluations without a better val_loss after which training stops; "
        "0: never, whatever the Params earlyStoppingMetric and others are", TypeConverters.toInt)
    validationFraction: Param[float] = param(
        "validationFraction", "share of the rows for validation, in [0, 1), without a "
        "validationIndicatorCol", TypeConverters.toFloat)
    scale: Param[str] = param("scale", "scale of the features: standard, minmax or none",
                               TypeConverters.toString)
    nulls: Param[str] = param("nulls", "handling of nulls in features: fail, mean or drop",
                              TypeConverters.toString)
    maxWorkers: Param[int] = param("maxWorkers", "maximum number of the cluster's workers; 0: all",
                                    TypeConverters.toInt)
    startTimeout: Param[float] = param(
        "startTimeout", "seconds that a job waits for workers before it is cancelled; 0: no limit",
        TypeConverters.toFloat)
    verbose: Param[bool] = param("verbose", "whether to show the progress; may be a number",
                                  _flag)
    job: Param[str] = param(
        "job", "further keys of the job file, as YAML, which override the other Params: "
        "'{train: {schedule: cosine}}'; not output, data.train, data.label, data.format and "
        "model.task", TypeConverters.toString)

    # Params named like keys of the job file to which a subclass gives another meaning.
    _not_keys: Tuple[str, ...] = ()

    def set_job_defaults(self) -> None:
        self._setDefault(coordinator="", workDirectory="", output="", hiddenLayers=[],
                         activation="relu", dropout=0.0, loss="", optimizer="adam", stepSize=1e-3,
                         maxIter=10, batchSize=256, seed=1, patience=0, validationFraction=0.0,
                         scale="standard", nulls="fail", maxWorkers=0, startTimeout=0.0,
                         verbose=True, job="", embeddingSizes=[], hashBuckets=0, warmStart="")

    def job_spec(self, task: str, train: str, columns: List[str], output: str) -> Dict[str, Any]:
        """Returns the job file as a dict. `columns`: features by name. `output`: existing output is
        replaced. Raises InvalidArgumentError for a name that job files cannot contain, for a name
        in a group of `job` that is not a feature, and for a key in `job` that other Params set."""
        for name in columns:
            if _RANGE.fullmatch(name):
                raise InvalidArgumentError("inputCols: found '%s', which a job reads as a range of "
                                           "columns. Rename the column" % name)
        get = self.getOrDefault
        data: Dict[str, Any] = {
            "train": train, "format": "parquet", "label": self.getLabelCol(),
            "features": {"columns": columns, "scale": get(self.scale), "nulls": get(self.nulls)}}
        more = self._more()
        for name in sorted({n for group in _groups_of(more) for n in _names_of(group)}):
            vector = _ELEMENT.fullmatch(name)
            if not (name in columns or _RANGE.fullmatch(name) or vector and vector[1] in columns):
                raise InvalidArgumentError("job: a group names column '%s', which is not a "
                                           "feature. Add it to inputCols or categoricalCols" %
                                           name)
        if self.getOrDefault(self.categoricalCols):
            # Lists do not replace each other, but groups of `job` are additional columns.
            groups = self._groups() + _groups_of(more)
            more = laid_over(more, {"data": {"features": {"groups": groups}}})
        if self.column_of(self.weightCol):
            data["weight"] = self.getWeightCol()
        if self.column_of(self.validationIndicatorCol):
            data["validation"] = {"column": self.getValidationIndicatorCol()}
        elif get(self.validationFraction):
            data["validation"] = {"fraction": get(self.validationFraction)}
        spec = {"name": self.uid, "preset": "none", "data": data,
                "workers": {"min": 1, "max": get(self.maxWorkers)},
                "output": {"path": output, "overwrite": True}}
        if get(self.patience):
            stop = {"metric": "val_loss", "patience": get(self.patience)}
            spec["train"] = {"early_stopping": stop}
        spec = laid_over(spec, self.training_spec(task))
        never_stops = self.isSet(self.patience) and not get(self.patience)
        for name, (key, _) in key_params().items():
            stops = key.startswith("train.early_stopping.")
            if self.isSet(name) and name not in self._not_keys and not (never_stops and stops):
                spec = put_key(spec, key, get(name))
        if self.isSet(self.classWeight):
            spec = put_key(spec, "train.class_weight", get(self.classWeight))
        return laid_over(spec, more)

    def training_spec(self, task: str) -> Dict[str, Any]:
        """Returns the sections of the job file about the model and its training."""
        get = self.getOrDefault
        model: Dict[str, Any] = {"task": task, "hidden": list(get(self.hiddenLayers)),
                                 "activation": get(self.activation), "dropout": get(self.dropout)}
        if get(self.loss):
            model["loss"] = get(self.loss)
        optimizer, settings = get(self.optimizer), {"learning_rate": get(self.stepSize)}
        training: Dict[str, Any] = {
            "optimizer": {optimizer: settings}, "batch": get(self.batchSize),
            "epochs": get(self.maxIter), "seed": get(self.seed)}
        # Our defaults are for steps of some rows each. These two optimizers use the job file's own.
        if optimizer in ("gd", "lbfgs") and not self.isSet(self.batchSize):
            del training["batch"]
        if optimizer == "lbfgs":
            del training["epochs"]  # one for each point that it evaluates
            if self.isSet(self.maxIter):
                settings["max_iterations"] = get(self.maxIter)
            if not self.isSet(self.stepSize):
                del settings["learning_rate"]
        if get(self.warmStart):
            training["initial"] = get(self.warmStart)
        return {"model": model, "train": training}

    def column_of(self, param: Param[str]) -> str:
        """Returns the column that a Param names. "" is none, as in Spark."""
        return str(self.getOrDefault(param)) if self.isSet(param) else ""

    def coded_columns(self) -> Set[str]:
        """Returns features that may be other than numbers: categoricalCols, and groups in `job`."""
        names = set(self.getOrDefault(self.categoricalCols))
        return names.union(*map(_names_of, _groups_of(self._more())))

    def date_columns(self) -> Set[str]:
        """Returns features of groups in `job` with the type date."""
        return set().union(*(_names_of(group) for group in _groups_of(self._more())
                             if isinstance(group, dict) and group.get("type") == "date"))

    def _groups(self) -> List[Any]:
        """Returns categoricalCols as groups of the job file."""
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
            raise InvalidArgumentError("job: it is not valid YAML: %s" % error) from error
        if not isinstance(more, dict):
            raise InvalidArgumentError("job: expected a map, such as '{train: {batch: 64}}'")
        refuse_keys(more, _OWN_KEYS)
        return more


for _name, (_, _param) in key_params().items():
    assert not hasattr(JobParams, _name), _name
    setattr(JobParams, _name, _param)


def _groups_of(job: Dict[str, Any]) -> List[Any]:
    """Returns data.features.groups of a job file, if it has them."""
    at: Any = job
    for key in ("data", "features", "groups"):
        at = at.get(key) if isinstance(at, dict) else None
    return at if isinstance(at, list) else []


def _names_of(group: Any) -> Set[str]:
    """Returns the columns that a group names."""
    columns = group.get("columns") if isinstance(group, dict) else None
    return {n for n in (columns if isinstance(columns, list) else [columns]) if isinstance(n, str)}
