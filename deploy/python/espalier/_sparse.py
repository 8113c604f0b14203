"""SciPy's sparse matrices and arrays as rows of a model. They are read without SciPy's modules, so
the client does not need SciPy."""

from __future__ import annotations

import sys
from typing import Any, Tuple

import numpy as np

from .errors import InvalidArgumentError


def is_sparse(data: Any) -> bool:
    """Returns whether `data` is one of SciPy's sparse matrices or arrays. It does not load SciPy.
    """
    scipy = sys.modules.get("scipy.sparse")
    return scipy is not None and bool(scipy.issparse(data))


class SparseRows:
    """A sparse matrix with the indexing of a dense one: `rows[begin:end]` and
    `rows[begin:end, column]` are arrays with all zeros. Elements that are not stored are 0."""

    def __init__(self, data: Any, columns: int) -> None:
        """Raises InvalidArgumentError if `data` is not a matrix of numbers with that many columns.
        """
        if data.ndim != 2 or data.shape[1] != columns:
            raise InvalidArgumentError(
                "found a sparse matrix of shape %s, expected [rows, %d]: the model's features in "
                "their order (model.features)" % (list(data.shape), columns))
        if data.dtype.kind not in "fiub":
            raise InvalidArgumentError("found a sparse matrix of %s, expected numbers" % data.dtype)
        rows = data.tocsr()
        if not rows.has_canonical_format:  # elements twice, or not in order
            rows = rows.copy() if rows is data else rows
            rows.sum_duplicates()
        self._rows = rows

    def __len__(self) -> int:
        return int(self._rows.shape[0])

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, tuple):
            return self._rows[at[0]][:, [at[1]]].toarray()[:, 0]
        return self._rows[at].toarray()

    def entries(self, begin: int, end: int) -> Tuple[Any, Any, Any]:
        """Returns the stored numbers of rows as (starts, columns, numbers). Row i has [starts[i],
        starts[i + 1])."""
        starts = self._rows.indptr[begin:end + 1].astype(np.int64)
        first, last = int(starts[0]), int(starts[-1])
        return (starts - first, self._rows.indices[first:last].astype(np.int64),
                self._rows.data[first:last].astype(np.float64))
