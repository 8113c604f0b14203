"""Checks which of Spark's sessions can be used: those with this process as their driver."""

from __future__ import annotations

from ..errors import UnimplementedError

_CONNECT = "pyspark.sql.connect"


def check_has_driver(session: object) -> None:
    """Raises UnimplementedError for a session of Spark Connect. Its driver is another program,
    which has the file systems and the identity for submitting jobs."""
    if any(kind.__module__.startswith(_CONNECT) for kind in type(session).__mro__):
        raise UnimplementedError(
            "this session is one of Spark Connect, whose driver is not this process; "
            "espalier.spark needs a driver's own",
            hint="Run the program in the driver: by spark-submit, or with a session that has a "
                 "master (SparkSession.builder.master(...), without SPARK_REMOTE). Jobs on files "
                 "that the cluster sees need no Spark: espalier.connect(...).submit(...); nor do "
                 "models: espalier.load(...).")
