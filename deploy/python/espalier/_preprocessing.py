"""Applies the preprocessing that was fitted in training. It makes features from columns (_columns),
replaces nulls, and computes (x - shift) * factor. Categories become codes.

This module alone knows the kinds of preprocessing in model.json. It rejects an unknown kind with a
message, and never skips it.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from ._bundle import Document, Feature, Node
from ._columns import Categories, Rules, boolean, date_part, decode_all, logarithm
from ._network import WIDE, Entries
from ._tables import Rows, Wanted
from ._vectors import put
from .errors import BadInputError

_LARGEST_LIST = 1 << 24
_ENTRIES_SHARE = 16  # Entries need at most one number in 16 to be nonzero
_TYPES = ("numeric", "boolean", "date", "categorical")


class _Made(NamedTuple):
    """A feature, the column that it is made from, and its decoder; None: the column's number
    itself."""

    feature: Feature
    column: int
    decode: Optional[Callable[[Any], Any]]
    nulls: str


class Preprocessing:
    """Converts rows of tables to the input of the network. Immutable.

    Attributes:
        names: names of the columns, in the order in which the model's features need them.
        texts: names of columns that are not read as numbers.
        wanted: both, to find them in tables.
        dates: names among them of columns that are dates.
    """

    def __init__(self, document: Document) -> None:
        """Raises BadInputError, or UnimplementedError for a kind that this module does not know."""
        all_names = _all_names(document)
        columns = _columns_of(document, all_names)
        places: Dict[str, int] = {}
        self._made: List[_Made] = []
        rules = Rules(document.null_values)
        self._null_numbers = rules.numbers
        decoders = _Decoders(document, rules)
        for i, feature in enumerate(document.features):
            name = feature.name if columns is None else columns[i]
            place = places.setdefault(name, len(places))
            decode, nulls = decoders.of(feature, i)
            self._made.append(_Made(feature, place if columns else i, decode, nulls))
        self.names = tuple(places)
        self.texts = frozenset(self.names[m.column] for m in self._made if m.decode is not None)
        self.dates = frozenset(
            self.names[m.column] for m, rule in zip(self._made, document.rules or ())
            if rule["type"].one_of(_TYPES) == "date")
        self._numbers = [m for m in self._made if m.feature.codes == 0]
        self._coded = [m for m in self._made if m.feature.codes > 0]
        self._shift = np.array([m.feature.shift for m in self._numbers])
        self._factor = np.array([m.feature.factor for m in self._numbers])
        self._null_value = np.array([m.feature.null_value for m in self._numbers])
        self._dtype = document.dtype
        self._largest = float(np.finfo(document.dtype).max)
        self._scales = bool(np.any(self._shift != 0) or np.any(self._factor != 1))
        self._clips = np.array([m.feature.smooth_clip for m in self._numbers], bool)
        self._embeds = any(m.feature.bin_edges for m in self._numbers)
        self._indicates = any(m.feature.null_indicator for m in self._numbers)
        self.wanted = Wanted(self.names, self.texts, all_names, rules.number)
        # Numbers taken from a column unchanged: their places among the numbers, and those of the
        # columns.
        own = [(i, m.column) for i, m in enumerate(self._numbers) if m.decode is None]
        self._own = tuple(np.array([pair[k] for pair in own], np.int64) for k in range(2))
        # The number of each column, for rows that come without their zeros, and the values of
        # zeros.
        self._number_of: Any = None
        if len(own) == len(self._numbers) and not self._indicates and not self._embeds and \
                not self._clips.any() and not document.scaling_layer and \
                len(set(self._own[1].tolist())) == len(own) and \
                all(m.decode is not None for m in self._coded):
            self._number_of = np.zeros(len(self.names), np.int64)
            self._number_of[self._own[1]] = self._own[0]
            self._zeros = ((0.0 - self._shift) * self._factor).astype(self._dtype)

    def apply(self, rows: Rows, begin: int, end: int) -> Tuple[Any, Any]:
        """Returns the network's input for rows [begin, end): numbers [rows, inputs] in its
        precision, or as Entries, and codes [rows, coded features], -1 for none.

        Raises:
            BadInputError: a null in a model that was trained without nulls (`nulls: fail`) or that
                left these rows out (`nulls: drop`); a value that does not fit its column; a number
                that is infinite, or too large for the precision. The message names row and column.
        """
        spelled = self._number_of is None or self._null_numbers
        parts = None if spelled else rows.entries(begin, end, self._largest)
        if parts is not None:
            return self._from_entries(parts, end - begin), self._codes(rows, None, begin, end)
        matrix = rows.matrix(begin, end)
        for number in self._null_numbers:
            matrix[matrix == number] = np.nan
        if self.texts or len(self._numbers) != matrix.shape[1]:
            x = np.empty((end - begin, len(self._numbers)))
            x[:, self._own[0]] = matrix[:, self._own[1]]
            for i, made in enumerate(self._numbers):
                if made.decode is not None:
                    self._fill(made, rows, matrix, begin, end, x[:, i])
        else:
            x = matrix
        return self._scaled(x, begin), self._codes(rows, matrix, begin, end)

    def _from_entries(self, parts: List[Tuple[Any, Any, Any]], rows: int) -> Any:
        """Returns Entries if they are few, and otherwise the same bits as `_scaled`."""
        if self._coded:
            parts = [(starts, self._number_of[slots], numbers) for starts, slots, numbers in parts]
        width = len(self._numbers)
        stored = sum(len(numbers) for _, _, numbers in parts)
        if width >= WIDE and stored * _ENTRIES_SHARE <= rows * width:
            return Entries(rows, [(starts, places, numbers * self._factor[places])
                                  for starts, places, numbers in parts])
        x = np.empty((rows, width), self._dtype)
        x[:] = self._zeros
        for starts, places, numbers in parts:
            if self._scales:
                numbers = (numbers - self._shift[places]) * self._factor[places]
            put(x, starts, places, numbers)
        return x

    def _codes(self, rows: Rows, matrix: Any, begin: int, end: int) -> Any:
        codes = np.empty((end - begin, len(self._coded)), np.int64)
        for i, made in enumerate(self._coded):
            self._fill(made, rows, matrix, begin, end, codes[:, i])
        return codes

    def _fill(self, made: _Made, rows: Rows, matrix: Any, begin: int, end: int, out: Any) -> None:
        if made.decode is None:
            out[:] = matrix[:, made.column]
        else:
            decode_all(made.decode, rows.values(made.column, begin, end), self.names[made.column],
                       begin, out)

    def _scaled(self, x: Any, first_row: int) -> Any:
        # Mostly, no number is null or too large. Two scans show this: NaN is the minimum and the
        # maximum.
        plain = -self._largest <= x.min(initial=0.0) and x.max(initial=0.0) <= self._largest
        if not plain or self._indicates:
            nulls = np.isnan(x)
            x = self._without_nulls(x, nulls, first_row)
            large = np.abs(x) > self._largest
            if large.any():
                i = int(np.flatnonzero(large.any(axis=0))[0])
                raise self._bad(large[:, i:i + 1], i, first_row, "is infinite or too large for %s" %
                                self._dtype, "")
        pairs: List[Any] = []
        places = [_places(m.feature.bin_edges, x[:, i]) if m.feature.bin_edges else None
                  for i, m in enumerate(self._numbers)] if self._embeds else []
        if self._scales:
            x -= self._shift
            x *= self._factor
        if self._clips.any():
            x[:, self._clips] = _smooth_clip(x[:, self._clips])
        if self._embeds:  # numbers with bins are last, each with its place among the bins
            pairs = [part for i, place in enumerate(places) if place is not None
                     for part in (x[:, i:i + 1], place[:, None])]
            plain = [part for i, m in enumerate(self._numbers)
                     for part in ([] if places[i] is not None else [x[:, i:i + 1]]) +
                     ([nulls[:, i:i + 1]] if m.feature.null_indicator else [])]
            x = np.hstack(plain + pairs)
        elif self._indicates:
            parts = [(x[:, i:i + 1], nulls[:, i:i + 1]) if m.feature.null_indicator else
                     (x[:, i:i + 1],) for i, m in enumerate(self._numbers)]
            x = np.hstack([part for parts_of in parts for part in parts_of])
        return x.astype(self._dtype)

    def _without_nulls(self, x: Any, nulls: Any, first_row: int) -> Any:
        if not nulls.any():
            return x
        for i in np.flatnonzero(nulls.any(axis=0)):
            if self._numbers[i].nulls not in ("mean", "median", "constant"):
                raise self._bad(nulls[:, i:i + 1], i, first_row, "has no value",
                                " and the model was trained with `nulls: %s`. Leave these rows "
                                "out, or fill them" % self._numbers[i].nulls)
        return np.where(nulls, self._null_value, x)

    def _bad(self, where: Any, number: int, first_row: int, what: str, more: str) -> BadInputError:
        row = int(np.argwhere(where)[0][0])
        return BadInputError("row %d (counted from 0): '%s' %s%s" %
                             (first_row + row, self._numbers[number].feature.name, what, more))


def _smooth_clip(z: Any) -> Any:
    third = np.clip(z, -3e100, 3e100) / 3
    return 3 * third / np.sqrt(1 + third * third)


def _places(edges: Tuple[float, ...], x: Any) -> Any:
    """Returns the bin of each value, plus the share of the bin that is below the value."""
    b = np.array(edges)
    if len(b) < 2:
        return np.zeros(len(x))
    x = np.clip(x, b[0], b[-1])
    bin_ = np.clip(np.searchsorted(b, x, side="right") - 1, 0, len(b) - 2)
    low, high = b[bin_] / 2, b[bin_ + 1] / 2  # halves, so that their differences do not overflow
    return bin_ + np.minimum((x / 2 - low) / (high - low), 1)


def _all_names(document: Document) -> List[str]:
    """Returns the names of all columns of the tables that the model was made with; none if the
    model does not contain them."""
    if not document.rules and document.schema.get("names") is None:
        return []
    labels = [n.label() for n in document.schema["names"].items(_LARGEST_LIST)]
    return [n if isinstance(n, str) else n.decode("utf-8", "surrogateescape") for n in labels]


def _columns_of(document: Document, names: List[str]) -> Optional[List[str]]:
    """Returns the column of each feature; None if each feature has its own column of the same name.
    """
    if not document.rules:
        return None
    places = document.schema["features"].items(_LARGEST_LIST)
    return [names[p.whole(0, len(names) - 1)] for p in places]


_Decoder = Tuple[Optional[Callable[[Any], Any]], str]


class _Decoders:
    """Makes the decoders of features. Features that are not categories share those with the same
    rule, because a wide model has many."""

    def __init__(self, document: Document, rules: Rules) -> None:
        self._document, self._rules = document, rules
        self._nulls = document.feature_spec["nulls"].choice(
            ("fail", "mean", "median", "constant", "drop"))
        self._groups = document.feature_spec["groups"].items(_LARGEST_LIST) \
            if document.rules else []
        self._known: Dict[Any, _Decoder] = {}

    def of(self, feature: Feature, number: int) -> _Decoder:
        """Returns (function from a value to the feature's number or code, meaning of null)."""
        if not self._document.rules:
            return None, self._nulls
        rule = self._document.rules[number]
        kind = rule["type"].one_of(_TYPES)
        place = rule["group"].whole(-1, len(self._groups) - 1)
        group = None if place < 0 else self._groups[place]
        if kind == "categorical":
            return self._of_category(feature, group)
        part = rule["part"].text() if kind == "date" else ""
        if (kind, place, part) not in self._known:
            self._known[kind, place, part] = self._of_number(kind, group, rule)
        return self._known[kind, place, part]

    def _nulls_of(self, group: Optional[Node], default: str) -> str:
        own = group.get("nulls") if group else None
        return own.choice(("fail", "mean", "median", "constant", "drop", "category")) if own else \
            default

    def _of_category(self, feature: Feature, group: Optional[Node]) -> _Decoder:
        nulls = self._nulls_of(group, "category")
        vocabulary = None if feature.hashed else list(feature.vocabulary)
        return _category(Categories(vocabulary, feature.codes, self._rules), nulls,
                         self._rules), nulls

    def _of_number(self, kind: str, group: Optional[Node], rule: Node) -> _Decoder:
        nulls, rules = self._nulls_of(group, self._nulls), self._rules
        if kind == "boolean":
            return (lambda value: boolean(value, rules)), nulls
        if kind == "date":
            written = (group.get("date_format") if group else None) or \
                self._document.feature_spec.get("date_format")
            part = rule["part"].one_of(("year", "month", "day", "weekday", "yearday", "hour",
                                        "minute", "second", "epoch"))
            return date_part(part, written.text() if written else "", rules), nulls
        log = group is not None and group["log1p"].flag()
        return ((lambda value: logarithm(value, rules)) if log else None), nulls


def _category(categories: Categories, nulls: str, rules: Rules) -> Callable[[Any], Any]:
    def decode(value: Any) -> int:
        if nulls != "category" and rules.text(value) == "":
            raise ValueError("it has no value and the model was trained with `nulls: %s`" % nulls)
        return categories.code(value)
    return decode
