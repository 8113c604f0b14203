"""Columns of Spark's vectors, processed for all rows of a column at once."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from ._facts import COLUMNS_MAX

FIELDS = ("type", "size", "indices", "values")
SPARSE, DENSE = 0, 1


class _Stored(NamedTuple):
    """Content of the sparse vectors of some rows: row i has the numbers [starts[i], starts[i + 1]).
    """

    starts: Any
    places: Any
    numbers: Any

    def of(self, begin: int, end: int) -> _Stored:
        return _Stored(self.starts[begin:end + 1], self.places, self.numbers)

class Vectors:
    """A column as the four parts of Spark's vectors in Arrow and Parquet: the type of each (0:
    sparse, 1: dense; NaN: the row is null), the sizes and indices of sparse ones, and values.
    """

    def __init__(self, parts: Tuple[Any, ...], stored: Optional[_Stored]) -> None:
        """`parts`: arrays of the same number of rows. The first two are float64, the others are
        objects that are arrays. `stored`: None if Spark would not write sparse vectors like
        these."""
        self._parts, self._stored = parts, stored

    @classmethod
    def of_frame(cls, frame: Any) -> Vectors:
        """Reads a pandas frame with a column for each part, which PySpark makes from a vector."""
        kinds, sizes = (frame[name].astype(np.float64).to_numpy() for name in FIELDS[:2])
        parts = (kinds, sizes, *(frame[name].to_numpy(dtype=object) for name in FIELDS[2:]))
        try:
            return cls(parts, _stored(*parts))
        except (TypeError, ValueError):  # a part is missing
            return cls(parts, None)

    def __len__(self) -> int:
        return len(self._parts[0])

    def __getitem__(self, rows: slice) -> Vectors:
        begin, end, _ = rows.indices(len(self))
        return Vectors(tuple(part[begin:end] for part in self._parts),
                       self._stored and self._stored.of(begin, max(begin, end)))

    def structs(self) -> List[Optional[Dict[str, Any]]]:
        """Returns each vector as its struct in Parquet. Slow."""
        return [None if np.isnan(row[0]) else dict(zip(FIELDS, row)) for row in zip(*self._parts)]

    def elements(self, element: int, width: int, length: Optional[int] = None) -> Any:
        """Returns [rows, width] float64 of `width` elements from `element` on, NaN where a row is
        null. Returns None if one of the vectors is shorter, does not have `length` (if given), or
        is not in the form that Spark writes."""
        kinds, sizes, _, values = self._parts
        sparse, dense, nulls = kinds == SPARSE, kinds == DENSE, np.isnan(kinds)
        if self._stored is None or not np.all(sparse | dense | nulls) or \
                not _fit(sizes[sparse], element + width, length):
            return None
        out = np.zeros((len(self), width))
        out[nulls] = np.nan
        starts, places, numbers = self._inside(self._stored, element, width, sizes[sparse])
        put(out, starts, places, numbers)
        try:
            rows = np.flatnonzero(dense)
            return out if _put_dense(out, rows, values[rows], element, length) else None
        except (TypeError, ValueError):  # a part is missing
            return None

    def entries(self, element: int, width: int, length: Optional[int],
                largest: float) -> Optional[Tuple[Any, Any, Any]]:
        """Returns the stored numbers of those elements, as (starts, places, numbers), see `put`.
        Returns None if elements() does, some vectors are dense or null, or a number is NaN or
        larger than `largest`."""
        kinds, sizes = self._parts[:2]
        if self._stored is None or not np.all(kinds == SPARSE) or \
                not _fit(sizes, element + width, length):
            return None
        starts, places, numbers = self._inside(self._stored, element, width, sizes)
        # NaN would be the minimum and the maximum.
        plain = -largest <= numbers.min(initial=0.0) and numbers.max(initial=0.0) <= largest
        return (starts, places, numbers) if plain else None

    @staticmethod
    def _inside(stored: _Stored, element: int, width: int, sizes: Any) -> Tuple[Any, Any, Any]:
        first, last = stored.starts[0], stored.starts[-1]
        starts, places = stored.starts - first, stored.places[first:last]
        numbers = stored.numbers[first:last]
        if element == 0 and np.all(sizes == width):
            return starts, places, numbers
        inside = (places >= element) & (places < element + width)
        starts = np.concatenate([[0], np.cumsum(inside)])[starts]
        return starts, places[inside] - element, numbers[inside]


def put(out: Any, starts: Any, places: Any, numbers: Any) -> None:
    """Stores the numbers [starts[i], starts[i + 1]) at their places in row i of `out`."""
    rows, width = out.shape
    flat = np.repeat(np.arange(rows) * width, np.diff(starts))
    flat += places
    out.reshape(-1)[flat] = numbers


def _fit(sizes: Any, end: int, length: Optional[int]) -> bool:
    return bool(np.all(sizes >= end) if length is None else np.all(sizes == length))


def _stored(kinds: Any, sizes: Any, indices: Any, values: Any) -> Optional[_Stored]:
    """Returns None, or raises TypeError or ValueError, if they are not as Spark writes them."""
    sparse = kinds == SPARSE
    rows = slice(None) if sparse.all() else np.flatnonzero(sparse)  # a slice makes no copy
    lengths, sizes = _lengths(values[rows]), sizes[rows]
    counts = np.zeros(len(kinds), np.int64)
    counts[rows] = lengths
    starts = np.concatenate([[0], np.cumsum(counts)])
    if not np.array_equal(lengths, _lengths(indices[rows])) or \
            not np.all((sizes >= 0) & (sizes <= COLUMNS_MAX)):
        return None
    if not starts[-1]:
        return _Stored(starts, np.zeros(0, np.int64), np.zeros(0))
    places = np.concatenate(indices[rows])
    numbers = np.concatenate(values[rows]).astype(np.float64, copy=False)
    if places.dtype.kind != "i" or places.min() < 0 or \
            np.any(places >= (sizes[0] if sizes.min() == sizes.max() else sizes.repeat(lengths))):
        return None
    rises = places[1:] > places[:-1]
    firsts = starts[1:-1]  # at the start of another row, any place is valid
    rises[firsts[(firsts > 0) & (firsts < len(places))] - 1] = True
    return _Stored(starts, places, numbers) if rises.all() else None


def _put_dense(out: Any, rows: Any, values: Any, element: int, length: Optional[int]) -> bool:
    if not len(rows):
        return True
    end, lengths = element + out.shape[1], _lengths(values)
    if not _fit(lengths, end, length):
        return False
    if lengths.min() == lengths.max():
        out[rows] = np.concatenate(values).reshape(len(rows), -1)[:, element:end]
    else:
        for row, vector in zip(rows, values):
            out[row] = vector[element:end]
    return True


def _lengths(arrays: Any) -> Any:
    return np.fromiter(map(len, arrays), np.int64, len(arrays))
