"""Rows from what people have them in: NumPy arrays, pandas frames, Arrow tables, dicts of columns.
A null is NaN from here on. Columns are found by name, so that their order, and further ones, do not
matter; an array has the model's features in the model's order."""

from __future__ import annotations

import re
from typing import AbstractSet, Any, Dict, List, Mapping, Sequence, Tuple

import numpy as np

from ._vectors import DENSE, FIELDS, SPARSE, VECTOR_MAX, Vectors
from .errors import InvalidArgumentError

_ELEMENT = re.compile(r"(.*)\[([0-9]+)\]", re.S)  # "v[3]": one element of a vector column


class Rows:
    """A table of rows.

    Attributes:
        count: how many.
    """

    def __init__(self, data: Any, names: Sequence[str],
                 texts: AbstractSet[str] = frozenset()) -> None:
        """`texts`: columns that are not read as numbers, see `values`. Raises InvalidArgumentError
        for what is no table, or lacks a feature."""
        self._names, self._texts = names, texts
        module = type(data).__module__.split(".")[0]
        if module == "pandas" and hasattr(data, "iloc") and getattr(data, "ndim", 0) == 2:
            self._columns: Dict[str, Any] = {str(c): i for i, c in enumerate(data.columns)}
            self._column, self.count = _pandas_column, len(data)
        elif module == "pyarrow" and hasattr(data, "schema") and hasattr(data, "num_rows"):
            self._columns = {c: i for i, c in enumerate(data.schema.names)}
            self._column, self.count = _arrow_column, int(data.num_rows)
        elif isinstance(data, Mapping):
            self._columns = {str(c): c for c in data}
            self._column, self.count = _mapping_column, _same_length(data)
        else:
            self._array, self._plan = _array(data, len(names), bool(texts)), None
            self.count = len(self._array)
            return
        self._data, self._plan = data, _plan(self._columns, names)

    def matrix(self, begin: int, end: int) -> Any:
        """[end - begin, features] float64 of those rows; NaN in columns of `texts`."""
        if self._plan is None and not self._texts:
            return self._array[begin:end].astype(np.float64)
        if self._plan is not None and len(self._plan) == 1 and not self._texts:
            (_, column, element, width), = self._plan
            values = self._column(self._data, self._columns[column], begin, end)
            return _numbers(values, column, element, width)
        out = np.full((end - begin, len(self._names)), np.nan)
        if self._plan is None:
            for slot, name in enumerate(self._names):
                if name not in self._texts:
                    out[:, slot:slot + 1] = _numbers(self._array[begin:end, slot], name, -1, 1)
            return out
        for slot, column, element, width in self._plan:
            if column in self._texts:
                continue
            values = self._column(self._data, self._columns[column], begin, end)
            out[:, slot:slot + width] = _numbers(values, column, element, width)
        return out

    def values(self, slot: int, begin: int, end: int) -> Any:
        """[end - begin] of the column at that place among the names, as they stand: booleans are
        none of 1 and 0, whole numbers have all digits, and floats their own precision."""
        if self._plan is None:
            return self._array[begin:end, slot]
        name = self._names[slot]
        return self._column(self._data, self._columns[name], begin, end, as_it_is=True)


def _plan(columns: Dict[str, Any], names: Sequence[str]) -> List[Tuple[int, str, int, int]]:
    """(first feature, column, first element or -1, how many) for each run of features."""
    plan: List[Tuple[int, str, int, int]] = []
    missing = []
    for slot, name in enumerate(names):
        match = _ELEMENT.fullmatch(name)
        if name in columns:
            plan.append((slot, name, -1, 1))
        elif match and match.group(1) in columns:
            column, element = match.group(1), int(match.group(2))
            if plan and plan[-1][1] == column and plan[-1][2] + plan[-1][3] == element:
                first, _, begin, width = plan.pop()
                plan.append((first, column, begin, width + 1))
            else:
                plan.append((slot, column, element, 1))
        else:
            missing.append(name)
    if missing:
        shown = ", ".join("'%s'" % m for m in missing[:5]) + (", ..." if len(missing) > 5 else "")
        found = ", ".join("'%s'" % c for c in list(columns)[:10])
        raise InvalidArgumentError(
            "the table lacks %d of the model's %d features: %s; it has %s%s" %
            (len(missing), len(names), shown, found or "no columns",
             ", ..." if len(columns) > 10 else ""))
    return plan


def _array(data: Any, features: int, texts: bool) -> Any:
    try:
        mixed = texts and not isinstance(data, np.ndarray)
        array = np.asarray(data, dtype=object if mixed else None)
    except ValueError as error:
        raise InvalidArgumentError("expected rows of numbers: %s" % error) from error
    if array.ndim != 2 or array.shape[1] != features:
        raise InvalidArgumentError("found an array of shape %s, expected [rows, %d]: the model's "
                                   "features in their order (model.features)" %
                                   (list(array.shape), features))
    if texts:
        return array
    if array.dtype == object:
        return _numbers(array.reshape(-1), "the array", -1, 1).reshape(array.shape)
    if array.dtype.kind not in "fiub":
        raise InvalidArgumentError("found an array of %s, expected numbers" % array.dtype)
    return array


def _same_length(data: Mapping[Any, Any]) -> int:
    lengths = {len(column) for column in data.values()}
    if len(lengths) > 1:
        raise InvalidArgumentError("the columns have different lengths: %s" % sorted(lengths))
    return lengths.pop() if lengths else 0


def _pandas_column(data: Any, at: Any, begin: int, end: int, as_it_is: bool = False) -> Any:
    return _of_pandas(data.iloc[begin:end, at], as_it_is)


def _arrow_column(data: Any, at: Any, begin: int, end: int, as_it_is: bool = False) -> Any:
    return _of_arrow(data.column(at).slice(begin, end - begin), as_it_is)


def _mapping_column(data: Any, at: Any, begin: int, end: int, as_it_is: bool = False) -> Any:
    column = data[at][begin:end]
    if isinstance(column, Vectors):
        return column
    module = type(column).__module__.split(".")[0]
    if module == "pandas" and hasattr(column, "iloc"):
        return _of_pandas(column, as_it_is)
    if module == "pyarrow" and hasattr(column, "to_pylist"):
        return _of_arrow(column, as_it_is)
    if as_it_is and not isinstance(column, np.ndarray):
        return _objects(column)
    try:
        return np.asarray(column)
    except ValueError:  # vectors of different lengths
        return _objects([np.asarray(value) for value in column])


def _of_pandas(column: Any, as_it_is: bool) -> Any:
    kind = column.dtype
    if as_it_is and hasattr(kind, "categories"):  # none of them is widened to make room for nulls
        values = list(_of_pandas(kind.categories.to_series(), True)) + [None]
        return _objects([values[code] for code in column.cat.codes])
    if as_it_is and kind.kind in "iub":
        return column.to_numpy(dtype=object)
    if kind.kind in "fiub" and hasattr(kind, "na_value"):
        own = kind.numpy_dtype if as_it_is else np.float64
        return column.to_numpy(dtype=own, na_value=np.nan)
    return column.to_numpy()


def _of_arrow(column: Any, as_it_is: bool) -> Any:
    import pyarrow as pa
    kind = column.type
    if as_it_is and pa.types.is_dictionary(kind):
        return _of_arrow(column.cast(kind.value_type), True)
    floating = pa.types.is_floating(kind)
    if as_it_is and not floating:
        return _objects(column.to_pylist())
    numeric = floating or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or \
        pa.types.is_decimal(kind)
    if not numeric:
        return _objects(column.to_pylist())
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    if not as_it_is:
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else \
        column.to_numpy()


def _objects(values: Any) -> Any:
    """An array of one dimension, also of vectors."""
    return np.array(list(values) + [None], dtype=object)[:-1]


def _numbers(values: Any, column: str, element: int, width: int) -> Any:
    """[rows, width] float64 of its own; a null is NaN."""
    if isinstance(values, Vectors):
        if element < 0:
            raise InvalidArgumentError("column '%s' is of vectors, expected numbers" % column)
        out = values.elements(element, width)
        return _elements(_objects(values.structs()), column, element, width) if out is None else out
    if element >= 0:
        return _elements(values, column, element, width)
    if values.ndim == 1 and values.dtype.kind in "fiub":
        return values.astype(np.float64)[:, np.newaxis]
    if values.ndim != 1 or values.dtype != object:
        raise InvalidArgumentError("column '%s' is of %s, expected numbers" %
                                   (column, values.dtype))
    out = np.empty(len(values), np.float64)
    for row, value in enumerate(values):
        out[row] = _number(value, column, row)
    return out[:, np.newaxis]


def _number(value: Any, column: str, row: int) -> float:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return float("nan")
    if not isinstance(value, (str, bytes)):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    raise InvalidArgumentError("column '%s': row %d (counted from 0): found %.80r, expected a "
                               "number or null" % (column, row, value))


def _vector(value: Any, column: str, row: int) -> Any:
    """A list, an array, or one of Spark's vectors: an object of PySpark's, or as Parquet has it, a
    struct of type (0: sparse, 1: dense), size, indices and values."""
    if hasattr(value, "toArray"):
        return np.asarray(value.toArray(), dtype=np.float64)
    if not (isinstance(value, Mapping) and set(value) == set(FIELDS)):
        return np.asarray(value, dtype=np.float64)
    numbers = np.asarray(value["values"], dtype=np.float64)
    if value["type"] == DENSE and numbers.ndim == 1:
        return numbers
    size, indices = value["size"], value["indices"]
    if (value["type"] == SPARSE and size is not None and 0 <= size <= VECTOR_MAX and
            indices is not None):
        places = np.asarray(indices, dtype=np.float64)
        inside = np.all((places >= 0) & (places < size)) and np.all(np.diff(places) > 0)
        if places.ndim == 1 and places.shape == numbers.shape and inside:
            vector = np.zeros(int(size))
            vector[places.astype(np.int64)] = numbers
            return vector
    raise InvalidArgumentError("column '%s': row %d (counted from 0): found %.80r, expected a "
                               "vector as Spark writes it" % (column, row, value))


def _elements(values: Any, column: str, element: int, width: int) -> Any:
    lengths = {v.shape for v in values if isinstance(v, np.ndarray) and v.dtype.kind in "fiu"}
    if len(lengths) == 1 and all(isinstance(v, np.ndarray) for v in values):
        shape, = lengths
        if len(shape) == 1 and shape[0] >= element + width:
            joined = np.concatenate(values).reshape(len(values), -1)
            return joined[:, element:element + width].astype(np.float64)
    out = np.empty((len(values), width), np.float64)
    for row, value in enumerate(values):
        if value is None:
            out[row] = np.nan
            continue
        vector = _vector(value, column, row)
        if vector.ndim != 1 or len(vector) < element + width:
            raise InvalidArgumentError("column '%s': row %d (counted from 0): found a vector of "
                                       "shape %s, expected at least %d elements" %
                                       (column, row, list(vector.shape), element + width))
        out[row] = vector[element:element + width]
    return out
