"""Writes frames to the Parquet files of a job. It checks types before it writes anything."""

from __future__ import annotations

from typing import AbstractSet, List

from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..errors import InvalidArgumentError
from .params import ColumnParams, JobParams


def type_of(frame: DataFrame, name: str, what: str) -> T.DataType:
    if name not in frame.columns:
        raise InvalidArgumentError("%s: column '%s' does not exist; the frame has %s" %
                                   (what, name, ", ".join("'%s'" % c for c in frame.columns[:20])))
    return frame.schema[name].dataType


def column(name: str) -> Column:
    return F.col("`%s`" % name.replace("`", "``"))  # so that dots are part of the name


def _wrong(what: str, name: str, kind: T.DataType, expected: str) -> InvalidArgumentError:
    return InvalidArgumentError("%s: column '%s' is of type %s, expected %s" %
                                (what, name, kind.simpleString(), expected))


def feature(frame: DataFrame, name: str, what: str, coded: AbstractSet[str],
            dates: AbstractSet[str]) -> Column:
    """Returns a feature column as Parquet and pandas have it: a number, an array of numbers, or one
    of Spark's vectors. `coded` columns may also be text or a date, and `dates` a moment."""
    kind = type_of(frame, name, what)
    if isinstance(kind, VectorUDT):
        return column(name)
    if name in dates and isinstance(kind, T.TimestampType):
        # Seconds since 1970, which do not depend on the session's time zone, as pandas' time stamps
        # would.
        return column(name).cast("double").alias(name)
    if name in dates and isinstance(kind, T.TimestampNTZType):
        return column(name)
    numbers = kind.elementType if isinstance(kind, T.ArrayType) else kind
    if name in coded and isinstance(kind, (T.StringType, T.DateType)):
        return column(name)
    if not isinstance(numbers, (T.NumericType, T.BooleanType)):
        raise _wrong(what, name, kind, "numbers, or a vector of numbers" if name not in coded else
                     "a date, a time stamp or text" if name in dates else
                     "text, whole numbers or booleans")
    if isinstance(numbers, T.DecimalType):
        as_double = T.ArrayType(T.DoubleType()) if numbers is not kind else T.DoubleType()
        return column(name).cast(as_double).alias(name)
    return column(name)


def features(frame: DataFrame, params: ColumnParams, coded: AbstractSet[str],
             dates: AbstractSet[str] = frozenset()) -> List[Column]:
    """Returns all feature columns. `coded`: names of columns that may be other than numbers.
    `dates`: names of those among them that are dates."""
    by_input = params.isSet(params.inputCols)
    known = set(params.getOrDefault(params.categoricalCols))
    return [feature(frame, name, "categoricalCols" if name in known else
                    "inputCols" if by_input else "featuresCol", coded, dates)
            for name in params.feature_columns()]


def job_rows(frame: DataFrame, params: JobParams, classification: bool) -> DataFrame:
    """Returns only the necessary columns, each once. Sparse vectors have no zeros there."""
    columns = features(frame, params, params.coded_columns(), params.date_columns())
    label = params.getLabelCol()
    kind = type_of(frame, label, "labelCol")
    whole = (T.NumericType, T.BooleanType) + ((T.StringType,) if classification else ())
    if not isinstance(kind, whole):
        raise _wrong("labelCol", label, kind, "a number" + (" or text" * classification))
    columns.append(column(label).cast("double").alias(label)
                   if isinstance(kind, (T.DecimalType, T.BooleanType)) else column(label))
    for param, types, expected in (
            (params.weightCol, T.NumericType, "a number"),
            (params.validationIndicatorCol, T.BooleanType, "true or false")):
        name = params.column_of(param)
        if name:
            kind = type_of(frame, name, param.name)
            if not isinstance(kind, types):
                raise _wrong(param.name, name, kind, expected)
            columns.append(column(name))
    out = frame.select(*columns)
    if len(set(out.columns)) != len(out.columns):
        raise InvalidArgumentError("the same column has two roles among %s" % out.columns)
    return out
