"""Reads rows from NumPy arrays, SciPy's sparse matrices, pandas frames, Arrow tables and dicts of
columns. From here on, a null is NaN. Columns are found by name. Their order and additional columns
do not matter. An array or a sparse matrix has the model's features in the model's order."""

from __future__ import annotations

import re
import sys
from typing import (AbstractSet, Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional,
                    Sequence, Tuple)

import numpy as np

from ._columns import number_of
from ._facts import COLUMNS_MAX
from ._sparse import SparseRows, is_sparse
from ._vectors import DENSE, FIELDS, SPARSE, Vectors
from .errors import InvalidArgumentError

_ELEMENT = re.compile(r"(.*)\[(0|[1-9][0-9]*)\]", re.S)  # "v[3]": one element of a vector column
_ENTRIES_SHARE = 16  # at most one feature in 16 has its own column next to vectors


class _Run(NamedTuple):
    """Adjacent features of a column. `element`: the first one of a vector, -1 for a column of
    numbers. `length`: length of the vectors; None: any length that is sufficient."""

    slot: int
    column: str
    element: int
    width: int
    length: Optional[int]


class Wanted:
    """The columns that a model needs, and their places in a table."""

    def __init__(self, names: Sequence[str], texts: AbstractSet[str] = frozenset(),
                 all_names: Iterable[str] = (),
                 number: Callable[[Any], float] = number_of) -> None:
        """`texts`: columns that are not read as numbers, see Rows.values. `all_names`: columns of
        the table that the model was made with, which define the lengths of its vectors. `number`:
        the number of a text, which raises ValueError for other texts."""
        self.names, self.texts, self.number = tuple(names), texts, number
        self._lengths = _lengths(all_names)
        self._last: Tuple[Any, List[_Run]] = ((), [])  # a table's columns and its plan

    def plan(self, columns: Iterable[str], rest: Optional[str] = None) -> List[_Run]:
        """Returns the places of the features. `rest`: a column of vectors with the features that no
        column is named after. Raises InvalidArgumentError if a feature is missing."""
        key = (tuple(columns), rest)
        last = self._last  # other threads may replace it
        if last[0] != key:
            last = self._last = (key, self._plan(set(key[0]), key[0], rest))
        return last[1]

    def _plan(self, known: AbstractSet[str], columns: Sequence[str],
              rest: Optional[str]) -> List[_Run]:
        found, missing = [], []
        for slot, name in enumerate(self.names):
            match = _ELEMENT.fullmatch(name)
            if name in known:
                found.append(_Run(slot, name, -1, 1, None))
            elif match and match.group(1) in known:
                base = match.group(1)
                found.append(_Run(slot, base, int(match.group(2)), 1, self._lengths.get(base)))
            else:
                missing.append(slot)
        if missing and rest is not None:
            more = self._of_rest(missing, rest)
            found, missing = sorted(found + more), [] if more else missing
        if missing:
            shown = ", ".join("'%s'" % self.names[m] for m in missing[:5])
            raise InvalidArgumentError(
                "the table does not have %d of the model's %d features: %s%s; it has %s%s" %
                (len(missing), len(self.names), shown, ", ..." if len(missing) > 5 else "",
                 ", ".join("'%s'" % c for c in columns[:10]) or "no columns",
                 ", ..." if len(columns) > 10 else ""))
        plan: List[_Run] = []
        for run in found:
            last = plan[-1] if plan else None
            if last and run.element >= 0 and last.column == run.column and \
                    last.element >= 0 and last.element + last.width == run.element:
                plan[-1] = last._replace(width=last.width + 1)
            else:
                plan.append(run)
        return plan

    def _of_rest(self, missing: Sequence[int], rest: str) -> List[_Run]:
        """Finds features in the vectors of `rest`. Elements of one vector in the model are the same
        elements here. Features without names of vector elements are its elements in their order. In
        other cases, the result is empty."""
        names = [self.names[slot] for slot in missing]
        matches = [_ELEMENT.fullmatch(name) for name in names]
        bases = {match.group(1) if match else None for match in matches}
        if len(bases) == 1 and None not in bases:
            length = self._lengths.get(str(*bases))
            return [_Run(slot, rest, int(match.group(2)), 1, length)
                    for slot, match in zip(missing, matches) if match]
        if bases != {None} or self.texts & set(names):
            return []
        return [_Run(slot, rest, i, 1, len(missing)) for i, slot in enumerate(missing)]


class Columns(Dict[str, Any]):
    """A dict of columns with Wanted.plan's `rest`."""

    rest: Optional[str] = None


class Rows:
    """A table of rows.

    Attributes:
        count: number of rows.
    """

    def __init__(self, data: Any, wanted: Wanted) -> None:
        """Raises InvalidArgumentError if `data` is not a table, or if a feature is missing."""
        names, texts = self._names, self._texts = wanted.names, wanted.texts
        self._number = wanted.number
        module = type(data).__module__.split(".")[0]
        self._plan: Optional[List[_Run]] = None
        if is_sparse(data):  # before mappings, because one of the formats is a dict
            self._array: Any = SparseRows(data, len(names))
            self.count = len(self._array)
            return
        if _is_of_pandas(data, "DataFrame"):
            self._columns: Dict[str, Any] = _places([str(c) for c in data.columns])
            self._column, self.count = _pandas_column, len(data)
        elif module == "pyarrow" and hasattr(data, "schema") and hasattr(data, "num_rows"):
            self._columns = _places(data.schema.names)
            self._column, self.count = _arrow_column, int(data.num_rows)
        elif isinstance(data, Mapping):
            _places([str(c) for c in data])
            self._columns = {str(c): c for c in data}
            self._column, self.count = _mapping_column, _same_length(data)
        elif hasattr(data, "columns") or hasattr(data, "__dataframe__"):
            raise InvalidArgumentError(  # an array would lose the names of its columns
                "found a table of type %s.%s, expected a pandas or pyarrow table, a dict of "
                "columns or an array. Convert it with its to_pandas() or to_arrow()" %
                (type(data).__module__, type(data).__name__))
        else:
            self._array = _array(data, names, bool(texts), wanted.number)
            self.count = len(self._array)
            return
        self._data = data
        self._plan = wanted.plan(self._columns, getattr(data, "rest", None)
                                 if isinstance(data, Columns) else None)

    def matrix(self, begin: int, end: int) -> Any:
        """Returns [end - begin, features] float64 of those rows; NaN in columns of `texts`."""
        if self._plan is None and not self._texts:
            return self._array[begin:end].astype(np.float64)
        if self._plan is not None and len(self._plan) == 1 and not self._texts:
            run, = self._plan
            return _numbers(self._values(run, begin, end), run, self._number, begin)
        out = np.full((end - begin, len(self._names)), np.nan)
        if self._plan is None:
            block = self._array[begin:end]
            for slot, name in enumerate(self._names):
                if name not in self._texts:
                    out[:, slot:slot + 1] = _numbers(block[:, slot], _Run(slot, name, -1, 1, None),
                                                     self._number, begin)
            return out
        for run in self._plan:
            if run.column not in self._texts:
                out[:, run.slot:run.slot + run.width] = _numbers(
                    self._values(run, begin, end), run, self._number, begin)
        return out

    def entries(self, begin: int, end: int,
                largest: float) -> Optional[List[Tuple[Any, Any, Any]]]:
        """Returns the stored numbers of rows, if nearly all columns are in sparse vectors or all
        are in a sparse matrix, and no number is null or larger than `largest`. The result is parts
        of (starts, slots, numbers), in which row i has [starts[i], starts[i + 1]). All other
        numbers are zero. Otherwise, it returns None. It leaves out columns of `texts`."""
        if self._plan is None:
            return self._entries_of_matrix(begin, end, largest)
        runs = [run for run in self._plan if run.column not in self._texts]
        alone = [run for run in runs if run.element < 0]
        if not runs or len(alone) * _ENTRIES_SHARE > len(self._names) or \
                not self._texts <= set(self._columns):
            return None
        parts = []
        for run in runs:
            if run.element >= 0:
                values = self._values(run, begin, end)
                part = values.entries(run.element, run.width, run.length, largest) \
                    if isinstance(values, Vectors) else None
                if part is None:
                    return None
                parts.append((part[0], part[1] + run.slot if run.slot else part[1], part[2]))
        if alone:
            x = np.hstack([_numbers(self._values(run, begin, end), run, self._number, begin)
                           for run in alone])
            if not np.all(np.abs(x) <= largest):
                return None
            parts.append((np.arange(len(x) + 1) * len(alone),
                          np.tile([run.slot for run in alone], len(x)), x.reshape(-1)))
        return parts

    def _entries_of_matrix(self, begin: int, end: int,
                           largest: float) -> Optional[List[Tuple[Any, Any, Any]]]:
        if not isinstance(self._array, SparseRows):
            return None
        starts, slots, numbers = self._array.entries(begin, end)
        if self._texts:
            is_number = np.array([name not in self._texts for name in self._names])[slots]
            starts = np.concatenate([[0], np.cumsum(is_number)])[starts]
            slots, numbers = slots[is_number], numbers[is_number]
        return [(starts, slots, numbers)] if np.all(np.abs(numbers) <= largest) else None

    def _values(self, run: _Run, begin: int, end: int) -> Any:
        return self._column(self._data, self._columns[run.column], begin, end)

    def values(self, slot: int, begin: int, end: int) -> Any:
        """Returns [end - begin] of the column at that place among the names, with its values
        unchanged: booleans are not 1 and 0, whole numbers have all digits, and floats keep their
        precision. Elements of vectors are float64."""
        if self._plan is None:
            return self._array[begin:end, slot]
        at = self._columns.get(self._names[slot])
        if at is not None:
            return self._column(self._data, at, begin, end, as_it_is=True)
        run = next(r for r in self._plan if r.slot <= slot < r.slot + r.width)
        one = run._replace(element=run.element + slot - run.slot, width=1)
        return _numbers(self._values(one, begin, end), one, self._number, begin)[:, 0]


def _places(names: Sequence[str]) -> Dict[str, Any]:
    """Returns places by name. Raises InvalidArgumentError for two columns of the same name."""
    places: Dict[str, Any] = {}
    for i, name in enumerate(names):
        if places.setdefault(name, i) != i:
            raise InvalidArgumentError("the table has two columns '%s', %d and %d. Rename one" %
                                       (name, places[name], i))
    return places


def _lengths(names: Iterable[str]) -> Dict[str, int]:
    """Returns the length of each vector that has all its elements among the names."""
    most: Dict[str, int] = {}
    count: Dict[str, int] = {}
    for name in names:
        match = _ELEMENT.fullmatch(name)
        if match:
            base = match.group(1)
            most[base] = max(most.get(base, 0), int(match.group(2)) + 1)
            count[base] = count.get(base, 0) + 1
    return {base: length for base, length in most.items() if count[base] == length}


def _array(data: Any, names: Sequence[str], texts: bool, number: Callable[[Any], float]) -> Any:
    try:
        own = isinstance(data, np.ndarray)
        array = np.asarray(data, dtype=object if texts and not own else None)
        if array.dtype.kind in "SU" and not own:  # numbers among texts would have become texts
            array = np.asarray(data, dtype=object)
    except ValueError as error:
        raise InvalidArgumentError("expected rows of numbers: %s" % error) from error
    if array.ndim == 0:
        raise InvalidArgumentError(
            "found a value of type %s.%s, expected a table: a pandas frame, an Arrow table, a dict "
            "of columns, a SciPy sparse matrix or an array of rows" %
            (type(data).__module__, type(data).__name__))
    if array.ndim != 2 or array.shape[1] != len(names):
        raise InvalidArgumentError("found an array of shape %s, expected [rows, %d]: the model's "
                                   "features in their order (model.features)" %
                                   (list(array.shape), len(names)))
    if texts:
        return array
    if array.dtype.kind in "OSTU":
        out = np.empty(array.shape)
        for slot, name in enumerate(names):
            run = _Run(slot, name, -1, 1, None)
            out[:, slot:slot + 1] = _numbers(array[:, slot], run, number, 0)
        return out
    if array.dtype.kind not in "fiub":
        raise InvalidArgumentError("found an array of %s, expected numbers" % array.dtype)
    return array


def _is_of_pandas(data: Any, kind: str) -> bool:
    """Returns whether `data` is this class of pandas, or a subclass. It does not load pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, getattr(pandas, kind))


def _same_length(data: Mapping[Any, Any]) -> int:
    for name, column in data.items():
        if is_sparse(column):
            raise InvalidArgumentError(
                "column '%s' is a sparse matrix, expected a list of values. Pass a sparse matrix "
                "of all features by itself, or the rows of this one as a list of arrays" % name)
        if not hasattr(column, "__len__") or isinstance(column, (str, bytes)) or \
                getattr(column, "ndim", 1) == 0:
            raise InvalidArgumentError("column '%s' is one value, expected a list, also for "
                                       "one row" % name)
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
    if _is_of_pandas(column, "Series"):
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
    if as_it_is and hasattr(kind, "categories"):  # no category is widened to make room for nulls
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
    """Returns an array of one dimension, also of vectors."""
    return np.array(list(values) + [None], dtype=object)[:-1]


def _numbers(values: Any, run: _Run, number: Callable[[Any], float], first_row: int) -> Any:
    """Returns a new [rows, width] float64 array; a null is NaN. Texts become numbers as in
    training."""
    column = run.column
    if isinstance(values, Vectors):
        if run.element < 0:
            raise InvalidArgumentError("column '%s' has vectors, expected numbers" % column)
        out = values.elements(run.element, run.width, run.length)
        return _elements(_objects(values.structs()), run, first_row) if out is None else out
    if run.element >= 0:
        return _elements(values, run, first_row)
    if values.ndim == 1 and values.dtype.kind in "fiub":
        return values.astype(np.float64)[:, np.newaxis]
    if values.ndim != 1 or values.dtype.kind not in "OSTU":
        raise InvalidArgumentError("column '%s' is of %s, expected numbers" %
                                   (column, values.dtype))
    out = np.empty(len(values), np.float64)
    for row, value in enumerate(values):
        out[row] = _number(value, column, first_row + row, number)
    return out[:, np.newaxis]


def _number(value: Any, column: str, row: int, number: Callable[[Any], float]) -> float:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return float("nan")
    try:
        if isinstance(value, bytes):
            value = value.decode("utf-8")
        return number(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        pass
    raise InvalidArgumentError("column '%s': row %d (counted from 0): found %.80r, expected a "
                               "number or null" % (column, row, value))


def _vector(value: Any, column: str, row: int) -> Any:
    """Returns the elements of a list, an array, or one of Spark's vectors. The latter is an object
    of PySpark's, or a struct as in Parquet, of type (0: sparse, 1: dense), size, indices and
    values.
    """
    try:
        return _vector_of(value, column, row)
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise InvalidArgumentError("column '%s': row %d (counted from 0): found %.80r, expected a "
                                   "vector of numbers" % (column, row, value)) from error


def _vector_of(value: Any, column: str, row: int) -> Any:
    if hasattr(value, "toArray"):
        return np.asarray(value.toArray(), dtype=np.float64)
    if not (isinstance(value, Mapping) and set(value) == set(FIELDS)):
        return np.asarray(value, dtype=np.float64)
    numbers = np.asarray(value["values"], dtype=np.float64)
    if value["type"] == DENSE and numbers.ndim == 1:
        return numbers
    size, indices = value["size"], value["indices"]
    if (value["type"] == SPARSE and size is not None and 0 <= size <= COLUMNS_MAX and
            indices is not None):
        places = np.asarray(indices, dtype=np.float64)
        inside = np.all((places >= 0) & (places < size)) and np.all(np.diff(places) > 0)
        if places.ndim == 1 and places.shape == numbers.shape and inside:
            vector = np.zeros(int(size))
            vector[places.astype(np.int64)] = numbers
            return vector
    raise InvalidArgumentError("column '%s': row %d (counted from 0): found %.80r, expected a "
                               "vector as Spark writes it" % (column, row, value))


def _elements(values: Any, run: _Run, first_row: int) -> Any:
    end = run.element + run.width
    alike = all(isinstance(v, np.ndarray) and v.dtype.kind in "fiu" for v in values)
    lengths = {v.shape for v in values} if alike else set()
    if len(lengths) == 1:
        shape, = lengths
        if len(shape) == 1 and _fits(shape[0], run):
            joined = np.concatenate(values).reshape(len(values), -1)
            return joined[:, run.element:end].astype(np.float64)
    out = np.empty((len(values), run.width), np.float64)
    for row, value in enumerate(values):
        if value is None:
            out[row] = np.nan
            continue
        vector = _vector(value, run.column, first_row + row)
        if vector.ndim != 1 or not _fits(len(vector), run):
            raise InvalidArgumentError(
                "column '%s': row %d (counted from 0): found a vector of shape %s, expected %s "
                "elements" % (run.column, first_row + row, list(vector.shape),
                              "at least %d" % end if run.length is None else
                              "the model's %d" % run.length))
        out[row] = vector[run.element:end]
    return out


def _fits(length: int, run: _Run) -> bool:
    return length >= run.element + run.width if run.length is None else length == run.length
