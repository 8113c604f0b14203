"""Reads a bundle: bytes of its files, model.json, weights.safetensors. Every length is compared
with a limit before memory is reserved. Content that differs from what this version writes is
rejected, and the error contains its place. src/bundle/model_json.h and safetensors.h describe the
formats."""

from __future__ import annotations

import hashlib
import json
import math
import operator
import os
import sys
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._facts import (CODES_MAX, EMBEDDING_MAX, FITS_MAX, INPUTS_MAX, LAYERS_MAX, MODEL_FILE,
                     WEIGHTS_FILE, WEIGHTS_HEADER_BYTES_MAX, WIDTH_MAX)
from ._facts import VERSION as __version__
from .errors import (BadInputError, DataLossError, FailedPreconditionError, NotFoundError,
                     UnimplementedError)

_FORMATS = (1, 2)
_DTYPES: Dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F64": np.dtype("<f8")}

#: Text of a class, or its bytes if they are not UTF-8.
Label = Union[str, bytes]


def read_local(folder: str, name: str, limit: int) -> bytes:
    path = os.path.join(folder, name)
    try:
        with open(path, "rb") as f:
            size = os.fstat(f.fileno()).st_size
            if size > limit:
                raise BadInputError("%s: found %d bytes, expected at most %d" % (path, size, limit))
            return f.read(size + 1)
    except OSError as error:
        raise NotFoundError("cannot read %s: %s" % (path, error.strerror),
                            hint="A bundle is the directory that a job's `output` names; it must "
                                 "be reachable from this machine.") from error


# ---- JSON with the path of each error


def _wrong(path: str, expected: str) -> BadInputError:
    return BadInputError("%s: %s: expected %s" % (MODEL_FILE, path, expected))


class Node:
    """A JSON value and its path. The path is text only in errors, because a wide model has millions
    of values."""

    __slots__ = ("value", "_above", "_name")

    def __init__(self, value: Any, above: Optional[Node] = None,
                 name: Union[str, int] = "") -> None:
        """`name`: the name or the position of the value in `above`."""
        self.value, self._above, self._name = value, above, name

    @property
    def path(self) -> str:
        above = self._above.path if self._above else ""
        if isinstance(self._name, int):
            return "%s[%d]" % (above, self._name)
        return "%s.%s" % (above, self._name) if above else self._name

    def __getitem__(self, name: str) -> Node:
        if not isinstance(self.value, dict):
            raise _wrong(self.path or "the file", "an object")
        if name not in self.value:
            raise _wrong(Node(None, self, name).path, "a value, found none")
        return Node(self.value[name], self, name)

    def get(self, name: str) -> Optional[Node]:
        """Returns None if the member is absent or null."""
        if not isinstance(self.value, dict) or self.value.get(name) is None:
            return None
        return self[name]

    def keys(self) -> List[str]:
        if not isinstance(self.value, dict):
            raise _wrong(self.path, "an object")
        return list(self.value)

    def only(self, known: Sequence[str], what: str) -> None:
        """Rejects members that this version does not know, because the model may need them."""
        for name in self.keys():
            if name not in known:
                raise UnimplementedError(
                    "%s: %s.%s: this %s is not known to the Python client %s" %
                    (MODEL_FILE, self.path, name, what, __version__),
                    hint="Install a client of the version that wrote the model, or score with "
                         "`espalier predict`.")

    def items(self, limit: int) -> Sequence[Node]:
        if not isinstance(self.value, list) or len(self.value) > limit:
            raise _wrong(self.path, "a list of at most %d" % limit)
        return _Items(self, self.value)

    def number(self) -> float:
        v = self.value
        if isinstance(v, bool) or not isinstance(v, (int, float)) or not math.isfinite(v):
            raise _wrong(self.path, "a number")
        return float(v)

    def whole(self, low: int, high: int) -> int:
        v = self.value
        if isinstance(v, bool) or not isinstance(v, int) or not low <= v <= high:
            raise _wrong(self.path, "a whole number from %d to %d" % (low, high))
        return int(v)

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise _wrong(self.path, "true or false")
        return self.value

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise _wrong(self.path, "text")
        return self.value

    def label(self) -> Label:
        """Returns text, or bytes from {"hex": ".."}."""
        if isinstance(self.value, dict) and list(self.value) == ["hex"]:
            try:
                return bytes.fromhex(self["hex"].text())
            except ValueError:
                raise _wrong(self.path, "hexadecimal digits") from None
        return self.text()

    def choice(self, words: Sequence[str]) -> str:
        """Returns the word of `word`, of `{word: ..}` and, in format 1, of `{"kind": word, ..}`."""
        if not isinstance(self.value, dict):
            return self.one_of(words)
        if "kind" in self.value:
            return self["kind"].one_of(words)
        if len(self.value) != 1:
            raise _wrong(self.path, "one of " + ", ".join(words))
        return Node(next(iter(self.value)), self._above, self._name).one_of(words)

    def one_of(self, words: Sequence[str]) -> str:
        if self.value in words and isinstance(self.value, str):
            return self.value
        if not isinstance(self.value, str):
            raise _wrong(self.path, "one of " + ", ".join(words))
        raise UnimplementedError("%s: %s: found '%s', which the Python client %s does not know; "
                                 "known are %s" % (MODEL_FILE, self.path, self.value[:80],
                                                   __version__, ", ".join(words)))


class _Items(Sequence[Node]):
    """Elements of a list. A Node is made for each when it is needed."""

    __slots__ = ("_above", "_values")

    def __init__(self, above: Node, values: Sequence[Any]) -> None:
        self._above, self._values = above, values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, at: Any) -> Any:
        return Node(self._values[at], self._above, at)

    def __iter__(self) -> Iterator[Node]:
        return (Node(value, self._above, i) for i, value in enumerate(self._values))


def _object(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice in an object")
    return found


def _no_constant(word: str) -> Any:
    raise ValueError("found %s, which is not JSON" % word)


def parse_json(raw: bytes, name: str) -> Any:
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=_object,
                          parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadInputError("%s is not valid JSON: %s" % (name, error)) from error


# ---- model.json


@dataclass(frozen=True)
class Layer:
    """One layer: x -> activation(norm(weight x + bias)), plus x with a residual link."""

    inputs: int
    outputs: int
    activation: str
    norm: bool
    residual: bool


class Feature(NamedTuple):
    """Fitted preprocessing of a feature: (x - shift) * factor, after nulls are replaced. A feature
    with codes is a category, and its code selects a row of a table."""

    name: str
    shift: float
    factor: float
    null_value: float
    null_indicator: bool
    codes: int
    embedding: int
    hashed: bool
    vocabulary: Tuple[Label, ...]
    smooth_clip: bool
    bin_edges: Tuple[float, ...]  # edges of a number with an embedding


@dataclass(frozen=True)
class Document:
    """Content of model.json, as far as predictions need it."""

    raw: Dict[str, Any]
    name: str
    task: str
    loss: str
    dtype: np.dtype[Any]
    layers: Tuple[Layer, ...]
    features: Tuple[Feature, ...]
    feature_spec: Node  # spec.data.features
    null_values: Tuple[Label, ...]  # spec.data.null_values
    schema: Node
    rules: Sequence[Node]  # one per feature, or none
    thresholds: Tuple[float, ...]  # one per class, or none
    # (true class, predicted class, cost) of model.costs, by position
    costs: Tuple[Tuple[int, int, float], ...]
    half_widths: Tuple[float, ...]  # of prediction intervals, one per target, or none
    classes: Tuple[Label, ...]
    targets: Tuple[Tuple[str, float, float, float, float], ...]  # name, shift, factor, range
    scaling_layer: bool
    fits: int        # number of fits that the model averages
    constant: bool   # whether a constant answer has a share in the average
    weights_sha256: str

    @property
    def classification(self) -> bool:
        return self.task == "classification"


_EDGES_MAX = 257
_ACTIVATIONS = ("identity", "relu", "tanh", "sigmoid", "leaky_relu", "elu", "gelu", "silu")
_CLASS_LOSSES = ("softmax_cross_entropy", "binary_cross_entropy")
#: Losses by task, the default first.
LOSSES = {"classification": _CLASS_LOSSES,
           "regression": ("mse", "mae", "huber", "poisson", "quantile"),
           "multilabel": ("binary_cross_entropy",),
           "autoencoder": ("mse", "mae", "huber")}
# Keys of spec.model. The last ones do not affect predictions.
_MODEL_KEYS = ("task", "hidden", "activation", "layer_norm", "residual", "loss", "precision",
               "thresholds", "dropout", "label_smoothing", "huber_delta", "quantile", "init",
               "target_scale", "expected_inputs", "expected_outputs", "inputs", "outputs",
               "scaling_layer", "parametrization", "cap_label_smoothing", "clip_predictions",
               "start_at_constant", "positive", "costs")


def parse_document(raw: bytes) -> Document:
    """Raises BadInputError for malformed content, FailedPreconditionError for another format, and
    UnimplementedError for content that this version does not know."""
    value = parse_json(raw, MODEL_FILE)
    root = Node(value)
    if not isinstance(value, dict):
        raise BadInputError("%s: found no JSON object" % MODEL_FILE)
    if value.get("format") not in _FORMATS:
        raise FailedPreconditionError(
            "%s: found format %s, this client (%s) reads formats %d to %d" %
            (MODEL_FILE, str(value.get("format"))[:20], __version__, *_FORMATS))
    model = root["spec"]["model"]
    model.only(_MODEL_KEYS, "property of a model")
    task = model["task"].one_of(tuple(LOSSES))
    classification = task == "classification"
    losses = LOSSES[task]
    loss_node = model.get("loss")
    loss = loss_node.choice(losses) if loss_node else losses[0]
    prepared = root["preprocessing"]
    prepared.only(("features", "targets", "classes", "class_weights", "label_smoothing"),
                  "kind of preprocessing")
    features = tuple(_feature(f) for f in prepared["features"].items(INPUTS_MAX))
    schema = root["schema"]
    if not features or len(features) != len(schema["features"].items(INPUTS_MAX)):
        raise _wrong("preprocessing.features", "one for each of the features of the schema")
    rules_node = schema.get("rules")
    rules = rules_node.items(INPUTS_MAX) if rules_node else []
    if rules and len(rules) != len(features):
        raise _wrong("schema.rules", "none, or one for each of the features")
    inputs = sum(f.embedding if f.codes else f.null_indicator + (f.embedding or 1)
                 for f in features)
    classes = tuple(c.label() for c in prepared["classes"].items(1_000_000))
    targets = tuple(_target(t) for t in prepared["targets"].items(1_000_000))
    if not (classes if classification else targets):
        raise _wrong("preprocessing." + ("classes" if classification else "targets"),
                     "at least one")
    outputs = len(classes) if classification else len(targets)
    if task == "autoencoder" and (outputs != inputs or any(f.codes for f in features)):
        raise _wrong("preprocessing.targets", "one for each of the features, which are numbers")
    if classification and loss == "binary_cross_entropy":
        if len(classes) != 2:
            raise _wrong("preprocessing.classes", "two for binary_cross_entropy")
        outputs = 1
    precision = model["precision"].one_of(("float32", "float64"))
    nulls = root["spec"]["data"].get("null_values")
    ensemble = root.get("ensemble")
    return Document(
        raw=value, name=str(root["spec"]["name"].label()), task=task,
        loss=loss, dtype=np.dtype(precision), layers=_layers(model, inputs, outputs),
        features=features, feature_spec=root["spec"]["data"]["features"], schema=schema,
        null_values=tuple(n.label() for n in nulls.items(1_000_000)) if nulls else (), rules=rules,
        thresholds=_chosen(root, loss, outputs) or _thresholds(model, loss, outputs),
        costs=_costs(root, loss, classes),
        half_widths=_half_widths(root, task, len(targets)),
        classes=classes, targets=targets, weights_sha256=root["weights_sha256"].text(),
        scaling_layer=bool(model.get("scaling_layer") and model["scaling_layer"].flag()),
        fits=ensemble["fits"].whole(1, FITS_MAX) if ensemble else 1,
        constant=bool(ensemble and ensemble["constant"].flag()))


_FEATURE_KEYS = ("name", "shift", "factor", "null_value", "null_indicator", "codes", "embedding",
                 "hashed", "vocabulary", "smooth_clip", "bin_edges")
_members = operator.itemgetter(*_FEATURE_KEYS)
_NUMBERS = (int, float)
_MAX = sys.float_info.max


def _plain_feature(value: Any) -> Optional[Feature]:
    """Returns a number without settings, of which a wide model has many. None: another feature, or
    a wrong one."""
    if type(value) is not dict or len(value) != len(_FEATURE_KEYS):
        return None
    try:
        (name, shift, factor, null_value, indicator, codes, embedding, hashed, vocabulary, clip,
         edges) = _members(value)
    except KeyError:
        return None
    if type(name) is str and type(shift) in _NUMBERS and -_MAX <= shift <= _MAX and \
            type(factor) in _NUMBERS and -_MAX <= factor <= _MAX and \
            type(null_value) in _NUMBERS and -_MAX <= null_value <= _MAX and \
            indicator is False and hashed is False and clip is False and \
            type(codes) is int and type(embedding) is int and codes == 0 == embedding and \
            vocabulary == [] == edges:
        return Feature(name, float(shift), float(factor), float(null_value), False, 0, 0, False,
                       (), False, ())
    return None


def _feature(node: Node) -> Feature:
    plain = _plain_feature(node.value)
    if plain is not None:
        return plain
    node.only(_FEATURE_KEYS, "kind of preprocessing")
    name = node["name"].label()
    vocabulary = node.get("vocabulary")
    flag = {k: bool(node.get(k) and node[k].flag())
            for k in ("null_indicator", "hashed", "smooth_clip")}
    codes = node["codes"].whole(0, CODES_MAX) if node.get("codes") else 0
    texts = tuple(v.label() for v in vocabulary.items(CODES_MAX)) if vocabulary else ()
    sound = codes - len(texts) in (0, 1) if codes and not flag["hashed"] else not texts
    if not sound:
        raise _wrong(node.path + ".vocabulary", "as many texts as codes, or one less; none without "
                                                "codes or with hashed ones")
    edges_node = node.get("bin_edges")
    edges = tuple(e.number() for e in edges_node.items(_EDGES_MAX)) if edges_node else ()
    embedding = node["embedding"].whole(0, EMBEDDING_MAX) if node.get("embedding") else 0
    sound = not edges if codes else bool(edges) == (embedding > 0)
    if not sound or any(a >= b for a, b in zip(edges, edges[1:])):
        raise _wrong(node.path + ".bin_edges", "ascending numbers, for numbers with an embedding")
    return Feature(
        name if isinstance(name, str) else name.decode("utf-8", "surrogateescape"),
        node["shift"].number(), node["factor"].number(), node["null_value"].number(),
        flag["null_indicator"], codes,
        embedding, flag["hashed"], texts, flag["smooth_clip"], edges)


def _thresholds(model: Node, loss: str, outputs: int) -> Tuple[float, ...]:
    """Checks as CheckThresholds of src/model/network.cc does."""
    node = model.get("thresholds")
    found = tuple(t.number() for t in node.items(1_000_000)) if node else ()
    sound = loss == "softmax_cross_entropy" and len(found) == outputs and min(found) >= 0 and \
        found.count(0) <= 1
    if found and not sound:
        raise _wrong("spec.model.thresholds", "none, or with softmax_cross_entropy one per class, "
                                              "each at least 0, one at most 0")
    return found


def _costs(root: Node, loss: str,
           classes: Tuple[Label, ...]) -> Tuple[Tuple[int, int, float], ...]:
    """Returns the costs of wrong predictions that are not 1."""
    node = root.get("costs")
    places = {name: i for i, name in enumerate(classes)}
    found = {}
    for row in node.items(1_000_000) if node else ():
        truth, predicted = (places.get(row[key].label(), -1) for key in ("label", "predicted"))
        cost = row["cost"].number()
        if -1 in (truth, predicted) or truth == predicted or not 0 <= cost <= 1e9:
            raise _wrong("costs", "numbers from 0 to 1e9 between two classes")
        found[truth, predicted] = cost
    if found and loss != "softmax_cross_entropy":
        raise _wrong("costs", "none, except with softmax_cross_entropy")
    return tuple((truth, predicted, cost) for (truth, predicted), cost in found.items())


def _chosen(root: Node, loss: str, outputs: int) -> Tuple[float, ...]:
    """Returns the thresholds that training chose, or none. It checks as CheckDecision of
    src/bundle/model_json.cc does."""
    node = root.get("thresholds")
    found = tuple(t.number() for t in node.items(2)) if node else ()
    sound = loss == "softmax_cross_entropy" and len(found) == outputs == 2 and \
        all(0 < t < 1 for t in found)
    if found and not sound:
        raise _wrong("thresholds", "none, except two numbers above 0 and below 1 with two classes "
                                   "and softmax_cross_entropy")
    return found


def _half_widths(root: Node, task: str, targets: int) -> Tuple[float, ...]:
    node = root.get("intervals")
    if not node:
        return ()
    level = node["level"].number()
    found = tuple(w.number() for w in node["half_widths"].items(max(1, targets)))
    if task != "regression" or len(found) != targets or not 0 < level < 1 or min(found) <= 0:
        raise _wrong("intervals", "none, except for a regression a level above 0 and below 1, and "
                                  "half_widths above 0, one for each target")
    return found


def _target(node: Node) -> Tuple[str, float, float, float, float]:
    node.only(("name", "shift", "factor", "range", "start"), "property of a target")
    factor = node["factor"].number()
    if factor == 0:
        raise _wrong(node.path + ".factor", "a number other than 0")
    range_node = node.get("range")
    found = [e.number() for e in range_node.items(2)] if range_node else [-math.inf, math.inf]
    if len(found) != 2 or found[0] > found[1]:
        raise _wrong(node.path + ".range", "the least and the largest prediction")
    return str(node["name"].label()), node["shift"].number(), factor, found[0], found[1]


def _layers(model: Node, inputs: int, outputs: int) -> Tuple[Layer, ...]:
    hidden = [h.whole(1, WIDTH_MAX) for h in model["hidden"].items(LAYERS_MAX)]
    words = [a.one_of(_ACTIVATIONS) for a in model["activation"].items(LAYERS_MAX)]
    if len(words) not in (1, len(hidden)):
        raise _wrong("spec.model.activation", "one, or one a hidden layer")
    norm, residual = model["layer_norm"].flag(), model["residual"].flag()
    layers, width = [], inputs
    for i, units in enumerate(hidden):
        layers.append(Layer(width, units, words[0] if len(words) == 1 else words[i], norm,
                            residual and i > 0 and width == units))
        width = units
    layers.append(Layer(width, outputs, "identity", False, False))
    return tuple(layers)


# ---- weights.safetensors


def parse_safetensors(raw: bytes) -> Dict[str, np.ndarray[Any, Any]]:
    """Returns arrays by name, as views of `raw`. Checks sizes and shapes, the one element type,
    and that tensors neither overlap nor leave holes. Raises BadInputError or
    UnimplementedError.
    """
    def wrong(words: str) -> BadInputError:
        return BadInputError("%s: %s" % (WEIGHTS_FILE, words))
    if len(raw) < 8:
        raise wrong("found %d bytes, expected at least 8" % len(raw))
    length = int.from_bytes(raw[:8], "little")
    if length > min(WEIGHTS_HEADER_BYTES_MAX, len(raw) - 8):
        raise wrong("the header has %d bytes, of %d in the file" % (length, len(raw)))
    header = parse_json(raw[8:8 + length], WEIGHTS_FILE)
    if not isinstance(header, dict):
        raise wrong("the header is not a JSON object")
    header.pop("__metadata__", None)
    tensors: Dict[str, np.ndarray[Any, Any]] = {}
    kinds, at, data = set(), 0, len(raw) - 8 - length
    for name, begin, end, kind, shape in sorted((_entry(n, e) for n, e in header.items()),
                                                key=lambda entry: entry[1:3]):
        size = math.prod(shape) * _DTYPES[kind].itemsize
        if begin != at or end - begin != size or end > data:
            raise wrong("tensor '%s' of shape %s is at bytes %d to %d, expected %d to %d of %d" %
                        (name, list(shape), begin, end, at, at + size, data))
        tensors[name] = np.frombuffer(raw, _DTYPES[kind], math.prod(shape),
                                      8 + length + begin).reshape(shape)
        kinds.add(kind)
        at = end
    if at != data or len(kinds) != 1:
        raise wrong("found tensors of %d bytes and the types %s, expected %d bytes and one type" %
                    (at, sorted(kinds), data))
    return tensors


def _entry(name: str, entry: Any) -> Tuple[str, int, int, str, Tuple[int, ...]]:
    good = isinstance(entry, dict) and sorted(entry) == ["data_offsets", "dtype", "shape"]
    numbers = (entry["data_offsets"], entry["shape"]) if good else ([], [])
    for values, most in zip(numbers, (2, 8)):
        good = good and isinstance(values, list) and len(values) <= most and all(
            isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 1 << 48 for v in values)
    if not good or len(numbers[0]) != 2:
        raise BadInputError("%s: the entry of tensor '%s' is malformed" % (WEIGHTS_FILE, name[:80]))
    if entry["dtype"] not in _DTYPES:
        raise UnimplementedError("%s: tensor '%s' is of type %s; known are F32 and F64" %
                                 (WEIGHTS_FILE, name[:80], str(entry["dtype"])[:20]))
    return name, numbers[0][0], numbers[0][1], entry["dtype"], tuple(numbers[1])


def check_digest(raw: bytes, expected: str, where: str) -> None:
    """Raises DataLossError if these are not the weights that model.json describes."""
    found = hashlib.sha256(raw).hexdigest()
    if found != expected:
        raise DataLossError("%s has the SHA-256 %s, but %s specifies %s" %
                            (where, found, MODEL_FILE, expected[:64]),
                            hint="The file was damaged or replaced. Copy the bundle again.")
