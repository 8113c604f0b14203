"""The preprocessing that was fitted in training: nulls are replaced, then (x - shift) * factor.

This module alone knows the kinds of preprocessing in model.json; one that it does not know is
refused with words, never skipped.
"""

from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np

from ._bundle import Document, Label
from .errors import BadInputError

_FEATURE = ("name", "shift", "factor", "null_value")


class Preprocessing:
    """From rows as they stand in the tables to the network's inputs. Immutable.

    Attributes:
        names: of the features, in the order of the network's inputs.
    """

    def __init__(self, document: Document) -> None:
        """Raises BadInputError, or UnimplementedError for a kind that is not known here."""
        columns: List[Tuple[Label, float, float, float]] = []
        for node in document.preprocessing["features"].items(1 << 24):
            node.only(_FEATURE, "kind of preprocessing")
            columns.append((node["name"].label(), node["shift"].number(), node["factor"].number(),
                            node["null_value"].number()))
        self.names = tuple(n if isinstance(n, str) else n.decode("utf-8", "surrogateescape")
                           for n, _, _, _ in columns)
        self._shift = np.array([c[1] for c in columns])
        self._factor = np.array([c[2] for c in columns])
        self._null_value = np.array([c[3] for c in columns])
        self._replaces_nulls = document.nulls in ("mean", "constant")
        self._nulls = document.nulls
        self._dtype = document.dtype

    def apply(self, x: Any, first_row: int) -> Any:
        """The network's inputs [rows, features], in its precision.

        Args:
            x: [rows, features] float64, NaN for null; is overwritten.
            first_row: the number of its first row, for errors.

        Raises:
            BadInputError: a null in a model that was trained without (`nulls: fail`) or that left
                such rows out (`nulls: drop`); a number that is infinite, or too large for the
                precision. The row and the column are named.
        """
        nulls = np.isnan(x)
        if nulls.any():
            if not self._replaces_nulls:
                raise self._bad(nulls, first_row, "has no value", " and the model was trained with "
                                "`nulls: %s`: leave such rows out, or fill them" % self._nulls)
            x = np.where(nulls, self._null_value, x)
        large = np.abs(x) > np.finfo(self._dtype).max
        if large.any():
            raise self._bad(large, first_row, "is infinite or too large for %s" % self._dtype, "")
        x -= self._shift
        x *= self._factor
        return x.astype(self._dtype)

    def _bad(self, where: Any, first_row: int, what: str, more: str) -> BadInputError:
        row, column = (int(i) for i in np.argwhere(where)[0])
        return BadInputError("row %d (counted from 0): '%s' %s%s" %
                             (first_row + row, self.names[column], what, more))
