"""Reading one file by WebHDFS, with simple authentication. Which NameNodes a name service has, and
where they speak HTTP, is read from core-site.xml and hdfs-site.xml in HADOOP_CONF_DIR."""

from __future__ import annotations

import getpass
import json
import os
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree
from typing import Dict, List, Tuple

from .errors import (BadInputError, EspalierError, FailedPreconditionError, InvalidArgumentError,
                     NotFoundError, PermissionDeniedError, UnavailableError, UnimplementedError)

_TIMEOUT_SECONDS = 30.0
_CONF_BYTES_MAX = 16 << 20
_REPLY_BYTES_MAX = 64 << 10
_HTTP_PORT = 9870


def read_file(uri: str, limit: int) -> bytes:
    """The whole file.

    Raises:
        NotFoundError, PermissionDeniedError, UnavailableError: as the NameNode says.
        BadInputError: it is longer than `limit` bytes.
        UnimplementedError: the cluster wants Kerberos.
    """
    addresses, path = _name_nodes(uri)
    tried: List[str] = []
    for address in addresses:
        try:
            return _open("http://%s/webhdfs/v1%s?%s" % (
                address, urllib.parse.quote(path), urllib.parse.urlencode(
                    {"op": "OPEN", "user.name": _user()})), uri, limit)
        except UnavailableError as error:
            tried.append("%s: %s" % (address, error.message))
    raise UnavailableError("%s cannot be read" % uri, causes=tried)


def _user() -> str:
    return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()


def _open(url: str, uri: str, limit: int) -> bytes:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=_TIMEOUT_SECONDS) as reply:
            data = bytes(reply.read(limit + 1))
    except urllib.error.HTTPError as error:
        raise _refusal(error, uri) from error
    except OSError as error:
        raise UnavailableError(str(getattr(error, "reason", error))) from error
    if len(data) > limit:
        raise BadInputError("%s: expected at most %d bytes" % (uri, limit))
    return data


def _refusal(error: urllib.error.HTTPError, uri: str) -> EspalierError:
    try:
        told = json.loads(error.read(_REPLY_BYTES_MAX))["RemoteException"]
        kind, words = str(told["exception"]), str(told["message"]).split("\n", 1)[0]
    except (ValueError, KeyError, TypeError, OSError):
        kind, words = "", "HTTP %d" % error.code
    if error.code == 401:
        return UnimplementedError(
            "%s: the cluster wants Kerberos, which the Python client does not speak" % uri,
            hint="Fetch the bundle first: hdfs dfs -get %s" % uri)
    if error.code == 404 or kind == "FileNotFoundException":
        return NotFoundError("there is no %s: %s" % (uri, words))
    if kind == "StandbyException" or error.code >= 500:
        return UnavailableError(words)
    if error.code == 403:
        return PermissionDeniedError("%s: %s" % (uri, words),
                                     hint="HADOOP_USER_NAME says who you are there.")
    return FailedPreconditionError("%s: %s" % (uri, words))


def _name_nodes(uri: str) -> Tuple[List[str], str]:
    """host:port of each NameNode's HTTP server, and the path."""
    parts = urllib.parse.urlsplit(uri)
    conf = _configuration()
    name = parts.netloc
    if not name and parts.scheme == "hdfs":
        default = urllib.parse.urlsplit(conf.get("fs.defaultFS", ""))
        name = default.netloc
    if not name:
        raise InvalidArgumentError("%s names no host, and HADOOP_CONF_DIR no fs.defaultFS" % uri)
    if parts.scheme == "webhdfs" and ":" in name:
        return [name], parts.path
    ids = [i.strip() for i in conf.get("dfs.ha.namenodes." + name, "").split(",") if i.strip()]
    found = [conf["dfs.namenode.http-address.%s.%s" % (name, i)] for i in ids
             if "dfs.namenode.http-address.%s.%s" % (name, i) in conf]
    if not found:
        host, _, _ = name.partition(":")
        told = conf.get("dfs.namenode.http-address", "")
        told_host, _, port = told.rpartition(":")
        found = [told if told_host not in ("", "0.0.0.0") else
                 "%s:%s" % (host, port or _HTTP_PORT)]
    return found, parts.path


def _configuration() -> Dict[str, str]:
    folder = os.environ.get("HADOOP_CONF_DIR", "")
    conf: Dict[str, str] = {}
    for name in ("core-site.xml", "hdfs-site.xml") if folder else ():
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            continue
        try:
            with open(path, "rb") as f:
                raw = f.read(_CONF_BYTES_MAX + 1)
            if b"<!ENTITY" in raw or len(raw) > _CONF_BYTES_MAX:
                raise ValueError("it declares entities, or is too long")
            for entry in xml.etree.ElementTree.fromstring(raw).iter("property"):
                key, value = entry.findtext("name"), entry.findtext("value")
                if key and value:
                    conf[key.strip()] = value.strip()
        except (OSError, ValueError, xml.etree.ElementTree.ParseError) as error:
            raise FailedPreconditionError("%s cannot be read: %s" % (path, error)) from error
    return conf
