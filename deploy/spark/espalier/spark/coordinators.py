"""Connects Spark to the coordinator."""

from __future__ import annotations

from typing import Any, Optional

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from .. import client
from ..errors import UnavailableError
from . import files, identity


def connect(address: Optional[str] = None, **security: Any) -> client.Client:
    """Connects as `espalier.connect` does. A file on HDFS that contains the address is read as
    Spark reads files, with Spark's configuration and security of that HDFS. In an application's
    container, HADOOP_CONF_DIR does not have to contain it. Jobs belong to Spark's Kerberos
    identity.
    """
    return client.connect(address, read=_read, delegate=identity.delegation_token, **security)


def _read(where: str, limit: int) -> bytes:
    try:
        return files.read(SparkSession.builder.getOrCreate(), where, limit)
    except Py4JError as error:
        raise UnavailableError("cannot read %s: %s" % (where, files.said(error))) from error
