"""Files as Spark sees them, through its own Hadoop file systems: HDFS with its security, local
disks. Paths are Spark's. Paths of the job file are the same, except that local ones have no
scheme."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ..errors import AlreadyExistsError, BadInputError, NotFoundError
from .sessions import check_has_driver

_PIECE_BYTES = 4 << 20  # Py4J makes several copies of the data


def _path(spark: SparkSession, where: str) -> Any:
    check_has_driver(spark)
    jvm: Any = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(where)
    return path, path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())


def file_system(spark: SparkSession, where: str) -> Any:
    """Returns Java's file system of that path. Raises Py4JJavaError if Spark does not find it."""
    return _path(spark, where)[1]


def qualified(spark: SparkSession, where: str) -> str:
    """Returns the path with scheme and host, as Spark understands it wherever it runs."""
    path, fs = _path(spark, where)
    return str(fs.makeQualified(path).toString())


def parent(spark: SparkSession, where: str) -> str:
    """Returns the directory that contains `where`, qualified; "" for a root."""
    path, fs = _path(spark, where)
    above = fs.makeQualified(path).getParent()
    return str(above.toString()) if above is not None else ""


def for_jobs(where: str) -> str:
    """Converts a qualified path to the form of job files."""
    if where.startswith("file:"):
        return "/" + where[len("file:"):].lstrip("/")
    return where


def read(spark: SparkSession, where: str, limit: int, hint: str = "") -> bytes:
    """Reads a file. Raises NotFoundError with that hint, or BadInputError for more than `limit`
    bytes."""
    path, fs = _path(spark, where)
    if not fs.exists(path):
        raise NotFoundError("%s does not exist" % where, hint=hint)
    size = fs.getFileStatus(path).getLen()
    if size > limit:
        raise BadInputError("%s: found %d bytes, expected at most %d" % (where, size, limit))
    stream = fs.open(path)
    try:
        jvm: Any = spark.sparkContext._jvm
        data = bytearray()
        while len(data) < size:
            data += jvm.org.apache.commons.io.IOUtils.toByteArray(
                stream, min(_PIECE_BYTES, size - len(data)))
        return bytes(data)
    finally:
        stream.close()


def make_directory(spark: SparkSession, where: str) -> bool:
    """Makes a directory and those above it. Returns whether it exists now. Raises Py4JJavaError."""
    path, fs = _path(spark, where)
    return bool(fs.mkdirs(path))


def write(spark: SparkSession, where: str, data: bytes) -> None:
    """Writes a new file. Raises AlreadyExistsError."""
    path, fs = _path(spark, where)
    if fs.exists(path):
        raise AlreadyExistsError("%s already exists" % where)
    stream = fs.create(path, False)
    try:
        for begin in range(0, len(data), _PIECE_BYTES):
            stream.write(bytearray(data[begin:begin + _PIECE_BYTES]))
    finally:
        stream.close()


def remove(spark: SparkSession, where: str) -> None:
    """Removes the file, or the directory with its content. A missing path is not an error."""
    path, fs = _path(spark, where)
    if not fs.delete(path, True) and fs.exists(path):
        raise OSError("the file system refuses it")


def said(error: Exception) -> str:
    """Returns the message of an error of these functions, without Java's stack."""
    java: Any = error if isinstance(error, Py4JJavaError) else None
    return str(java.java_exception.toString() if java else error)[:500]
