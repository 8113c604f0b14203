"""Spark's configuration of HDFS, for daemons that it starts."""

from __future__ import annotations

from typing import Any, Dict
from xml.sax.saxutils import escape

_KEYS = ("fs.defaultFS", "hadoop.security.authentication", "dfs.nameservices", "dfs.http.policy")
_PREFIXES = ("dfs.ha.namenodes.", "dfs.client.failover.proxy.provider.",
             "dfs.namenode.rpc-address", "dfs.namenode.http-address", "dfs.namenode.https-address")


def site(context: Any) -> bytes:
    """Returns a core-site.xml with the settings that clients need to find an HDFS, and no secrets.
    Returns b"" if no HDFS is configured."""
    jvm: Any = context._jvm
    # Also reads hdfs-site.xml.
    conf = jvm.org.apache.hadoop.hdfs.HdfsConfiguration(context._jsc.hadoopConfiguration())
    found: Dict[str, Any] = {key: conf.get(key) for key in _KEYS}
    if not str(found["fs.defaultFS"]).startswith("hdfs:"):
        return b""
    for prefix in _PREFIXES:
        for rest, value in dict(conf.getPropsWithPrefix(prefix)).items():
            found[prefix + rest] = value
    return ("<configuration>\n%s</configuration>\n" % "".join(
        "<property><name>%s</name><value>%s</value></property>\n" %
        (escape(key), escape(str(value))) for key, value in found.items()
        if value is not None)).encode()
