"""Computes the network's forward pass and converts its outputs. The formulas are those of
src/model.

Arithmetic is in the model's precision. Sums run in NumPy's order, so the last bits differ from
those of `espalier predict`. Probabilities agree within 1e-5.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

from ._bundle import Document, Layer
from ._facts import WEIGHTS_FILE
from .errors import BadInputError

Array = "np.ndarray[Any, Any]"

WIDE = 8192  # numbers per row from which on sparse rows may be Entries
_ENTRIES_AT_A_TIME = 4096
_LEAKY_SLOPE = 0.01
_NORM_EPSILON = 1e-5
# erf: S. L. Moshier's Cephes (ndtr.c), as in src/model/vector_math.cc; highest power first.
_ERF_T = (9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3,
          7.00332514112805075473e3, 5.55923013010394962768e4)
_ERF_U = (1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3,
          2.26290000613890934246e4, 4.92673942608635921086e4)
_ERFC_P = (2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
           4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2,
           9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2)
_ERFC_Q = (1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2,
           9.75708501743205489753e2, 1.82390916687909736289e3, 2.24633760818710981792e3,
           1.65666309194161350182e3, 5.57535340817727675546e2)
_ERF_IS_ONE = 6.0


def erf(x: Any) -> Any:
    """Returns the error function, within 1e-15 in float64."""
    a = np.minimum(np.abs(x), _ERF_IS_ONE)
    s = a * a
    small = x * (np.polyval(_ERF_T, s) / np.polyval(_ERF_U, s))
    large = 1 - np.exp(-s) * (np.polyval(_ERFC_P, a) / np.polyval(_ERFC_Q, a))
    return np.where(a < 1, small, np.copysign(large, x)).astype(x.dtype, copy=False)


def sigmoid(x: Any) -> Any:
    """Returns 1 / (1 + exp(-x)) without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(x.dtype, copy=False)


def activate(kind: str, x: Any) -> Any:
    """Applies the activation, possibly in place."""
    if kind == "relu":
        return np.maximum(x, 0, out=x)
    if kind == "leaky_relu":
        return np.where(x > 0, x, x * x.dtype.type(_LEAKY_SLOPE))
    if kind == "elu":
        return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
    if kind == "gelu":
        return x * (x.dtype.type(0.5) * (1 + erf(x * x.dtype.type(np.sqrt(0.5)))))
    if kind == "silu":
        return x * sigmoid(x)
    if kind == "tanh":
        return np.tanh(x)
    return sigmoid(x) if kind == "sigmoid" else x


def normalise(x: Any, gain: Any, shift: Any) -> Any:
    """Normalizes each row (layer normalization)."""
    centred = x - x.mean(axis=1, keepdims=True)
    variance = np.mean(centred * centred, axis=1, keepdims=True)
    return centred / np.sqrt(variance + x.dtype.type(_NORM_EPSILON)) * gain + shift


class Entries:
    """Rows of numbers as the network gets them. Most numbers are the value that a column's zero
    becomes. The others are stored as differences from it. This is much faster than a full product.
    """

    def __init__(self, count: int, parts: Sequence[Tuple[Any, Any, Any]]) -> None:
        """`parts`: (starts, inputs, differences). Row i of `count` has the entries [starts[i],
        starts[i + 1])."""
        self.count, self._parts = count, parts

    def times(self, weight: Any) -> Any:
        """Returns [count, outputs] float64: the difference to the products of rows of zeros. Sums
        run in float64, because differences may be far larger than the numbers are."""
        out = np.zeros((self.count, weight.shape[1]))
        for starts, inputs, numbers in self._parts:
            edges = starts.tolist()
            for row in range(self.count):
                for begin in range(edges[row], edges[row + 1], _ENTRIES_AT_A_TIME):
                    end = min(begin + _ENTRIES_AT_A_TIME, edges[row + 1])
                    out[row] += numbers[begin:end] @ weight.take(inputs[begin:end], axis=0)
        return out


class Network:
    """Layers with their weights. Immutable: any number of threads may use it."""

    def __init__(self, document: Document, tensors: Dict[str, Any]) -> None:
        """Raises BadInputError if the tensors do not match the layers."""
        self.layers: List[Tuple[Layer, Any, Any, Any, Any]] = []
        for i, layer in enumerate(document.layers):
            def take(name: str, *shape: int) -> Any:
                return _take(tensors, "layers.%d.%s" % (i, name), shape, document.dtype)
            gain = take("norm.weight", layer.outputs) if layer.norm else None
            shift = take("norm.bias", layer.outputs) if layer.norm else None
            weight = take("weight", layer.outputs, layer.inputs).T
            if i == 0 and layer.inputs >= WIDE:  # Entries need the weights of an input in sequence
                weight = np.ascontiguousarray(weight)
            self.layers.append((layer, weight, take("bias", layer.outputs), gain, shift))
        self._zeros = _of_zeros(document, self.layers[0][1])
        # For each coded feature, its table and whether it is an embedding.
        self._tables: List[Tuple[Any, bool]] = []
        for k, feature in enumerate(f for f in document.features if f.codes):
            embedded = feature.embedding > 0
            name = "layers.0.%s.%d.weight" % ("embeddings" if embedded else "one_hot", k)
            width = feature.embedding if embedded else document.layers[0].outputs
            table = _take(tensors, name, (feature.codes, width), document.dtype)
            none = np.zeros((1, width), document.dtype)  # row for code -1
            self._tables.append((np.vstack([table, none]), embedded))
        self._numbers = _Numbers(document, tensors)
        self._scale: Any = None
        if document.scaling_layer:
            one_hot = sum(len(table) - 1 for table, embedded in self._tables if not embedded)
            inputs = document.layers[0].inputs
            self._scale = _take(tensors, "layers.0.scale", (inputs + one_hot,), document.dtype)
            begin = inputs
            for k, (table, embedded) in enumerate(self._tables):
                if not embedded:
                    factors = self._scale[begin:begin + len(table) - 1]
                    begin += len(factors)
                    table = np.vstack([table[:-1] * factors[:, None], table[-1:]])
                    self._tables[k] = (table, False)
            self._scale = self._scale[:inputs]
        if tensors:
            raise BadInputError("%s: the network has no tensor '%s'" %
                                (WEIGHTS_FILE, sorted(tensors)[0][:80]))

    def outputs(self, x: Any, codes: Any) -> Any:
        """Returns [rows, outputs] of the last layer, from numbers [rows, inputs] and codes [rows,
        coded features]."""
        picked = [(table[codes[:, k]], embedded)
                  for k, (table, embedded) in enumerate(self._tables)]
        embeddings = [rows for rows, embedded in picked if embedded]
        for i, (layer, weight, bias, gain, shift) in enumerate(self.layers):
            z = self._first(x, embeddings) if i == 0 else x @ weight
            z += bias
            if i == 0:
                for rows, embedded in picked:
                    if not embedded:
                        z += rows
            if layer.norm:
                z = normalise(z, gain, shift)
            z = activate(layer.activation, z)
            x = z + x if layer.residual else z
        return x

    def _first(self, x: Any, embeddings: List[Any]) -> Any:
        """Returns the first layer's products."""
        weight = self.layers[0][1]
        if not isinstance(x, Entries):
            x = self._numbers.embedded(x)
            x = np.hstack([x] + embeddings) if embeddings else x
            return (x if self._scale is None else x * self._scale) @ weight
        z = x.times(weight)
        z += self._zeros
        if embeddings:
            z += np.hstack(embeddings) @ weight[-sum(e.shape[1] for e in embeddings):]
        return z.astype(weight.dtype)


class Ensemble:
    """The average of several networks and of a constant answer that may have a share in it. The
    formulas are those of src/model/average.h."""

    def __init__(self, document: Document, tensors: Dict[str, Any]) -> None:
        """Raises BadInputError if the tensors do not match the networks."""
        self._loss, self._task = document.loss, document.task
        width = document.layers[-1].outputs
        self._share: Any = 0.0
        self._answer: Any = None
        if document.constant:
            answers = len(document.classes) if document.classification else width
            answer = _take(tensors, "constant.answer", (answers,), document.dtype)
            self._share = _take(tensors, "constant.share", (1,), document.dtype)[0]
            if self._task == "multilabel":
                answer = np.concatenate([1 - answer, answer])
            self._answer = answer.reshape(-1, width)
        parts: List[Dict[str, Any]] = [{} for _ in range(document.fits)]
        for name in list(tensors):
            word, _, rest = name.partition(".")
            number, _, rest = rest.partition(".") if document.fits > 1 else ("0", "", name)
            if document.fits > 1 and (word != "fits" or number not in map(str, range(len(parts)))):
                raise BadInputError("%s: the model has no tensor '%s'" % (WEIGHTS_FILE, name[:80]))
            parts[int(number)][rest] = tensors.pop(name)
        self._networks = [Network(document, part) for part in parts]

    def outputs(self, x: Any, codes: Any) -> Any:
        """Returns [rows, outputs]. Their predictions are the average."""
        sums: Any = None
        for network in self._networks:
            made = self._predictions(network.outputs(x, codes))
            sums = made if sums is None else sums + made
        mean = sums * ((1 - self._share) / len(self._networks))
        if self._answer is not None:
            mean += self._share * self._answer
        logs = self._loss in ("softmax_cross_entropy", "binary_cross_entropy", "poisson")
        if logs:
            mean = np.log(np.maximum(mean, np.finfo(mean.dtype).tiny))
        return mean[:, 1] - mean[:, 0] if mean.shape[1] == 2 else mean[:, 0]

    def _predictions(self, z: Any) -> Any:
        """Returns [rows, 1, outputs]; for a sigmoid [rows, 2, outputs], the probability of 0, then
        of 1."""
        if self._loss == "binary_cross_entropy":
            return np.stack([sigmoid(-z), sigmoid(z)], axis=1)
        if self._loss == "softmax_cross_entropy":
            z = probabilities(self._task, self._loss, z)
        return (np.exp(z) if self._loss == "poisson" else z)[:, None]


class _Numbers:
    """Piecewise-linear embeddings of the numbers that have bins."""

    def __init__(self, document: Document, tensors: Dict[str, Any]) -> None:
        edges = [len(f.bin_edges) for f in document.features if f.bin_edges]
        self._count = len(edges)
        if not edges:
            return
        width = next(f.embedding for f in document.features if f.bin_edges)
        bins = max(1, max(edges) - 1)

        def take(name: str, *shape: int) -> Any:
            return _take(tensors, "layers.0.numbers." + name, shape, document.dtype)
        self._slope, bias = take("slope", self._count, width), take("bias", self._count, width)
        self._weight = take("weight", self._count, bins, width)
        before = np.cumsum(self._weight, axis=1)  # sum over the bins up to each
        self._before = np.concatenate([np.zeros_like(before[:, :1]), before[:, :-1]], axis=1)
        self._before += bias[:, None]

    def embedded(self, x: Any) -> Any:
        """Converts [rows, plain numbers and pairs of scaled number and place] to [rows, inputs]."""
        if self._count == 0:
            return x
        pairs = x[:, x.shape[1] - 2 * self._count:].reshape(len(x), self._count, 2)
        place = pairs[:, :, 1]
        number = np.arange(self._count)
        bin_ = np.minimum(place.astype(np.int64), self._weight.shape[1] - 1)
        share = (place - bin_)[:, :, None].astype(x.dtype)
        made = pairs[:, :, :1] * self._slope + self._before[number, bin_] + \
            share * self._weight[number, bin_]
        return np.hstack([x[:, :x.shape[1] - 2 * self._count], made.reshape(len(x), -1)])


def _of_zeros(document: Document, weight: Any) -> Any:
    """Returns the first layer's float64 result for a row whose numbers in the table are all zero.
    """
    zeros = np.array([-f.shift * f.factor for f in document.features if not f.codes])
    wide = len(zeros) >= WIDE and not any(f.bin_edges for f in document.features)
    used = np.flatnonzero(zeros) if wide else np.zeros(0, np.int64)
    return Entries(1, [(np.array([0, len(used)]), used, zeros[used])]).times(weight)[0]


def _take(tensors: Dict[str, Any], name: str, shape: Tuple[int, ...], dtype: Any) -> Any:
    tensor = tensors.pop(name, None)
    if tensor is None or tensor.shape != shape:
        raise BadInputError("%s: tensor '%s': found %s, expected shape %s" % (
            WEIGHTS_FILE, name, "none" if tensor is None else "shape %s" % list(tensor.shape),
            list(shape)))
    if not np.isfinite(tensor).all():
        raise BadInputError("%s: tensor '%s' has values that are not finite" % (WEIGHTS_FILE, name))
    return np.ascontiguousarray(tensor, dtype)


def probabilities(task: str, loss: str, z: Any) -> Any:
    """Returns [rows, classes] from outputs. Multilabel: [rows, labels], the probability that each
    is 1."""
    if task == "multilabel":
        return sigmoid(z)
    if loss == "binary_cross_entropy":
        return np.stack([sigmoid(-z[:, 0]), sigmoid(z[:, 0])], axis=1)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def class_indices(loss: str, z: Any, thresholds: Tuple[float, ...] = (),
                  costs: Tuple[Tuple[int, int, float], ...] = ()) -> Any:
    """Returns [rows] from outputs: the most probable class, the class with the largest multiple of
    its threshold, or the one with the lowest expected cost. Of equal classes, the first one."""
    if thresholds:
        with np.errstate(divide="ignore", invalid="ignore"):
            multiples = probabilities("classification", loss, z) / np.array(thresholds)
        return np.nan_to_num(multiples, nan=0.0, posinf=np.inf).argmax(axis=1)
    if loss == "binary_cross_entropy":
        return (z[:, 0] > 0).astype(np.int64)
    if costs:
        shares = probabilities("classification", loss, z).astype(np.float64)
        expected = -shares
        for truth, predicted, cost in costs:
            expected[:, predicted] += shares[:, truth] * (cost - 1)
        return expected.argmin(axis=1)
    return z.argmax(axis=1)


def regression_values(document: Document, z: Any) -> Any:
    """Returns [rows, targets] float64 in the units of the targets, from outputs."""
    y = z.astype(np.float64)
    if document.loss == "poisson":
        y = np.exp(y)
    factor = np.array([t[2] for t in document.targets])
    shift = np.array([t[1] for t in document.targets])
    least, most = (np.array([t[k] for t in document.targets]) for k in (3, 4))
    return np.clip(y / factor + shift, least, most)
