"""Columns of Spark's vectors, all rows of a column at a time."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import numpy as np

FIELDS = ("type", "size", "indices", "values")
VECTOR_MAX = 1 << 20  # as many columns as a table may have
SPARSE, DENSE = 0, 1


class Vectors:
    """A column in the four parts that Arrow and Parquet have of Spark's vectors: the type of each
    (0: sparse, 1: dense; NaN: the row is null), the sizes and indices of sparse ones, and values.
    """

    def __init__(self, kinds: Any, sizes: Any, indices: Any, values: Any) -> None:
        """Arrays of as many rows: float64 twice, then objects, of which each is an array."""
        self._parts = (kinds, sizes, indices, values)

    @classmethod
    def of_frame(cls, frame: Any) -> Vectors:
        """From a pandas frame with a column for each part, which PySpark makes of a vector."""
        kinds, sizes = (frame[name].astype(np.float64).to_numpy() for name in FIELDS[:2])
        return cls(kinds, sizes, *(frame[name].to_numpy(dtype=object) for name in FIELDS[2:]))

    def __len__(self) -> int:
        return len(self._parts[0])

    def __getitem__(self, rows: slice) -> Vectors:
        return Vectors(*(part[rows] for part in self._parts))

    def structs(self) -> List[Optional[Dict[str, Any]]]:
        """Each as the struct that Parquet has of it; slow."""
        return [None if np.isnan(row[0]) else dict(zip(FIELDS, row)) for row in zip(*self._parts)]

    def elements(self, element: int, width: int) -> Any:
        """[rows, width] float64 of `width` elements from that one on, NaN where a row is null. None
        when one of the vectors is shorter, or none that Spark writes."""
        kinds, sizes, indices, values = self._parts
        out = np.zeros((len(self), width))
        sparse, dense = np.flatnonzero(kinds == SPARSE), np.flatnonzero(kinds == DENSE)
        nulls = np.isnan(kinds)
        out[nulls] = np.nan
        if len(sparse) + len(dense) + np.count_nonzero(nulls) < len(self):
            return None
        try:
            good = _put_dense(out, dense, values[dense], element) and \
                _put_sparse(out, sparse, sizes[sparse], indices[sparse], values[sparse], element)
        except (TypeError, ValueError):  # a part is missing
            return None
        return out if good else None


def _put_dense(out: Any, rows: Any, values: Any, element: int) -> bool:
    if not len(rows):
        return True
    end, lengths = element + out.shape[1], _lengths(values)
    if lengths.min() < end:
        return False
    if lengths.min() == lengths.max():
        out[rows] = np.concatenate(values).reshape(len(rows), -1)[:, element:end]
    else:
        for row, vector in zip(rows, values):
            out[row] = vector[element:end]
    return True


def _put_sparse(out: Any, rows: Any, sizes: Any, indices: Any, values: Any, element: int) -> bool:
    if not len(rows):
        return True
    width, counts = out.shape[1], _lengths(values)
    if not (np.all((sizes >= element + width) & (sizes <= VECTOR_MAX)) and
            np.array_equal(counts, _lengths(indices))):
        return False
    places, numbers = np.concatenate(indices), np.concatenate(values)
    if not places.size:
        return True
    if places.dtype.kind != "i" or places.min() < 0 or \
            np.any(places >= (sizes[0] if sizes.min() == sizes.max() else sizes.repeat(counts))):
        return False
    # Where each is when rows of the longest vector lie one after the other: there, as inside of a
    # row, indices rise.
    longest = int(sizes.max())
    flat = np.repeat(rows * longest, counts) + places
    if np.any(flat[1:] <= flat[:-1]):
        return False
    if width == longest:
        out.reshape(-1)[flat] = numbers
    else:
        inside = (places >= element) & (places < element + width)
        out[flat[inside] // longest, places[inside] - element] = numbers[inside]
    return True


def _lengths(arrays: Any) -> Any:
    return np.fromiter(map(len, arrays), np.int64, len(arrays))
