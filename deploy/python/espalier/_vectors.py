"""Columns of Spark's vectors, all rows of a column at a time."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

FIELDS = ("type", "size", "indices", "values")
VECTOR_MAX = 1 << 20  # as many columns as a table may have
SPARSE, DENSE = 0, 1


class _Stored(NamedTuple):
    """What the sparse ones of some rows hold: row i has the numbers [starts[i], starts[i + 1])."""

    starts: Any
    places: Any
    numbers: Any

    def of(self, begin: int, end: int) -> _Stored:
        return _Stored(self.starts[begin:end + 1], self.places, self.numbers)

    def parts(self) -> Tuple[Any, Any, Any]:
        """(how many of each row, places, numbers) of these rows alone."""
        used = slice(self.starts[0], self.starts[-1])
        return np.diff(self.starts), self.places[used], self.numbers[used]


class Vectors:
    """A column in the four parts that Arrow and Parquet have of Spark's vectors: the type of each
    (0: sparse, 1: dense; NaN: the row is null), the sizes and indices of sparse ones, and values.
    """

    def __init__(self, parts: Tuple[Any, ...], stored: Optional[_Stored]) -> None:
        """`parts`: arrays of as many rows: float64 twice, then objects, of which each is an array.
        `stored`: None when the sparse ones among them are none that Spark writes."""
        self._parts, self._stored = parts, stored

    @classmethod
    def of_frame(cls, frame: Any) -> Vectors:
        """From a pandas frame with a column for each part, which PySpark makes of a vector."""
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
        """Each as the struct that Parquet has of it; slow."""
        return [None if np.isnan(row[0]) else dict(zip(FIELDS, row)) for row in zip(*self._parts)]

    def elements(self, element: int, width: int, length: Optional[int] = None,
                 dtype: Any = np.float64) -> Any:
        """[rows, width] of `width` elements from that one on, NaN where a row is null. None when
        one of the vectors is shorter, is not of `length` when one is given, or is none that Spark
        writes."""
        kinds, sizes, _, values = self._parts
        sparse, dense, nulls = kinds == SPARSE, kinds == DENSE, np.isnan(kinds)
        if self._stored is None or not np.all(sparse | dense | nulls) or \
                not _fit(sizes[sparse], element + width, length):
            return None
        out = np.zeros((len(self), width), dtype)
        out[nulls] = np.nan
        _put_sparse(out, *self._stored.parts(), element,
                    bool(element or np.any(sizes[sparse] != width)))
        try:
            rows = np.flatnonzero(dense)
            return out if _put_dense(out, rows, values[rows], element, length) else None
        except (TypeError, ValueError):  # a part is missing
            return None

    def plain(self, element: int, width: int, length: Optional[int], dtype: Any,
              largest: float) -> Any:
        """The same in that type where all are sparse, and no number in them is NaN or larger. Else
        None."""
        return self.elements(element, width, length, dtype) if self._are_plain(largest) else None

    def entries(self, element: int, width: int, length: Optional[int],
                largest: float) -> Optional[Tuple[Any, Any, Any]]:
        """(starts, places, numbers) as in _Stored, where plain() gives something; places are
        counted from `element` on."""
        sizes = self._parts[1]
        if not self._are_plain(largest) or not _fit(sizes, element + width, length):
            return None
        assert self._stored is not None
        counts, places, numbers = self._stored.parts()
        starts = np.concatenate([[0], np.cumsum(counts)])
        if element or np.any(sizes != width):
            inside = (places >= element) & (places < element + width)
            starts = np.concatenate([[0], np.cumsum(inside)])[starts]
            places, numbers = places[inside] - element, numbers[inside]
        return starts, places, numbers

    def _are_plain(self, largest: float) -> bool:
        if self._stored is None or not np.all(self._parts[0] == SPARSE):
            return False
        numbers = self._stored.parts()[2]  # of which NaN would be the least and the largest
        return bool(-largest <= numbers.min(initial=0.0) and
                    numbers.max(initial=0.0) <= largest)


def _fit(sizes: Any, end: int, length: Optional[int]) -> bool:
    return bool(np.all(sizes >= end) if length is None else np.all(sizes == length))


def _stored(kinds: Any, sizes: Any, indices: Any, values: Any) -> Optional[_Stored]:
    """None, TypeError or ValueError when they are not as Spark writes them."""
    sparse = kinds == SPARSE
    rows = slice(None) if sparse.all() else np.flatnonzero(sparse)  # a slice copies nothing
    lengths, sizes = _lengths(values[rows]), sizes[rows]
    counts = np.zeros(len(kinds), np.int64)
    counts[rows] = lengths
    starts = np.concatenate([[0], np.cumsum(counts)])
    if not np.array_equal(lengths, _lengths(indices[rows])) or \
            not np.all((sizes >= 0) & (sizes <= VECTOR_MAX)):
        return None
    if not starts[-1]:
        return _Stored(starts, np.zeros(0, np.int64), np.zeros(0))
    places = np.concatenate(indices[rows])
    numbers = np.concatenate(values[rows]).astype(np.float64, copy=False)
    if places.dtype.kind != "i" or places.min() < 0 or \
            np.any(places >= (sizes[0] if sizes.min() == sizes.max() else sizes.repeat(lengths))):
        return None
    rises = places[1:] > places[:-1]
    firsts = starts[1:-1]  # where another row begins, anything may follow
    rises[firsts[(firsts > 0) & (firsts < len(places))] - 1] = True
    return _Stored(starts, places, numbers) if rises.all() else None


def _put_sparse(out: Any, counts: Any, places: Any, numbers: Any, element: int,
                some: bool) -> None:
    """`some`: not all elements are wanted."""
    rows, width = out.shape
    flat = np.repeat(np.arange(-element, rows * width - element, max(width, 1)), counts)
    if some:
        inside = (places >= element) & (places < element + width)
        flat, places, numbers = flat[inside], places[inside], numbers[inside]
    flat += places
    out.reshape(-1)[flat] = numbers


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
