"""Reading one file by WebHDFS, over HTTP or HTTPS, with simple authentication. Which NameNodes a
name service has, and where they speak it, is read from core-site.xml and hdfs-site.xml in
HADOOP_CONF_DIR; ESPALIER_HADOOP_CA names who signs their certificates."""

from __future__ import annotations

import getpass
import json
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree
from typing import Any, Dict, List, NamedTuple, Tuple

from .errors import (BadInputError, EspalierError, FailedPreconditionError, InvalidArgumentError,
                     NotFoundError, PermissionDeniedError, UnavailableError, UnimplementedError)

_TIMEOUT_SECONDS = 30.0
_CONF_BYTES_MAX = 16 << 20
_REPLY_BYTES_MAX = 64 << 10
_RPC_PORT, _RPC = 8020, "dfs.namenode.rpc-address"


class _Speech(NamedTuple):
    """How WebHDFS is spoken: which key names the addresses, which port is the default."""

    scheme: str
    key: str
    port: int


_PLAIN = _Speech("http", "dfs.namenode.http-address", 9870)
_SECURE = _Speech("https", "dfs.namenode.https-address", 9871)


def read_file(uri: str, limit: int) -> bytes:
    """The whole file.

    Raises:
        NotFoundError, PermissionDeniedError, UnavailableError: as the NameNode says.
        BadInputError: it is longer than `limit` bytes.
        FailedPreconditionError: its certificate is not one to trust.
        UnimplementedError: the cluster wants Kerberos.
    """
    conf = _configuration()
    speech = _speech(uri, conf)
    addresses, path = _name_nodes(uri, conf, speech)
    opener = _opener(speech)
    tried: List[str] = []
    for address in addresses:
        try:
            return _open(opener, "%s://%s/webhdfs/v1%s?%s" % (
                speech.scheme, address, urllib.parse.quote(path), urllib.parse.urlencode(
                    {"op": "OPEN", "user.name": _user()})), uri, limit)
        except UnavailableError as error:
            tried.append("%s: %s" % (address, error.message))
    raise UnavailableError("%s cannot be read" % uri, causes=tried)


def _user() -> str:
    return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()


class _StaySecure(urllib.request.HTTPRedirectHandler):
    """What was asked for over HTTPS is not read over HTTP."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any,
                         newurl: str) -> Any:
        if not newurl.startswith("https:"):
            raise FailedPreconditionError("%s sends to %s, which is not HTTPS" %
                                          (req.host, newurl.partition("?")[0][:200]))
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(speech: _Speech) -> urllib.request.OpenerDirector:
    direct = urllib.request.ProxyHandler({})
    if speech is _PLAIN:
        return urllib.request.build_opener(direct)
    authority = os.environ.get("ESPALIER_HADOOP_CA", "")
    try:
        context = ssl.create_default_context(cafile=authority or None)
    except OSError as error:  # ssl.SSLError is one
        raise FailedPreconditionError("ESPALIER_HADOOP_CA names %s, which cannot be read, or holds "
                                      "no certificate in PEM form" % authority) from error
    return urllib.request.build_opener(direct, urllib.request.HTTPSHandler(context=context),
                                       _StaySecure())


def _open(opener: urllib.request.OpenerDirector, url: str, uri: str, limit: int) -> bytes:
    try:
        with opener.open(url, timeout=_TIMEOUT_SECONDS) as reply:
            data = bytes(reply.read(limit + 1))
    except urllib.error.HTTPError as error:
        raise _refusal(error, uri) from error
    except OSError as error:
        why = getattr(error, "reason", error)
        if isinstance(why, ssl.SSLCertVerificationError):
            raise FailedPreconditionError(
                "%s: the certificate is not trusted: %s" % (uri, why.verify_message),
                hint="ESPALIER_HADOOP_CA names the PEM file of the authority that signs the "
                     "certificates of HDFS.") from error
        raise UnavailableError(str(why)) from error
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


def _speech(uri: str, conf: Dict[str, str]) -> _Speech:
    only_https = conf.get("dfs.http.policy", "") == "HTTPS_ONLY"
    if uri.startswith("swebhdfs:") or (uri.startswith("hdfs:") and only_https):
        return _SECURE
    if only_https:
        raise InvalidArgumentError("%s asks for plain HTTP, but dfs.http.policy in HADOOP_CONF_DIR "
                                   "is HTTPS_ONLY" % uri,
                                   hint="Write swebhdfs://HOST:PORT/PATH or hdfs://HOST/PATH.")
    return _PLAIN


def _name_nodes(uri: str, conf: Dict[str, str], speech: _Speech) -> Tuple[List[str], str]:
    """host:port of each NameNode's HTTP server, and the path. The rules are those of
    src/storage/name_nodes.cc: what is configured is used for the name service, or the NameNode
    with the rpc-address, that the URI names, and for no other."""
    parts = urllib.parse.urlsplit(uri)
    scheme, name = parts.scheme, parts.netloc
    if not name and scheme == "hdfs":
        default = urllib.parse.urlsplit(conf.get("fs.defaultFS", ""))
        scheme, name = default.scheme, default.netloc
    if not name:
        raise InvalidArgumentError("%s names no host, and HADOOP_CONF_DIR no fs.defaultFS" % uri)
    host, port = _host_port(name)
    if not port and (name in _list(conf, "dfs.nameservices") or
                     _list(conf, "dfs.ha.namenodes." + name)):
        ids = _list(conf, "dfs.ha.namenodes." + name)
        suffixes = ["." + name + "." + i for i in ids] or ["." + name]
        return [_http_of_service(conf, speech, suffix) for suffix in suffixes], parts.path
    if scheme != "hdfs":
        return ["%s:%s" % (host, port or speech.port)], parts.path
    for suffix in _suffixes(conf):
        rpc = conf.get(_RPC + suffix, "" if suffix else _default_rpc(conf))
        if rpc and _with_port(rpc, _RPC_PORT) == (host, port or _RPC_PORT) and \
                conf.get(speech.key + suffix):
            return [_http_of(conf, speech, suffix, host)], parts.path
    return ["%s:%s" % (host, speech.port)], parts.path


def _host_port(text: str) -> Tuple[str, int]:
    """Port 0: none is given."""
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        return text, 0
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise InvalidArgumentError("'%s' is no address, expected HOST:PORT" % text[:80])
    return host, int(port)


def _with_port(text: str, default: int) -> Tuple[str, int]:
    host, port = _host_port(text)
    return host, port or default


def _list(conf: Dict[str, str], key: str) -> List[str]:
    return [word.strip() for word in conf.get(key, "").split(",") if word.strip()]


def _suffixes(conf: Dict[str, str]) -> List[str]:
    """What follows the keys of each NameNode's addresses."""
    found = [""]
    for service in _list(conf, "dfs.nameservices"):
        found.append("." + service)
        found += ["." + service + "." + i for i in _list(conf, "dfs.ha.namenodes." + service)]
    return found


def _default_rpc(conf: Dict[str, str]) -> str:
    """Without an rpc-address the default file system names it."""
    default = urllib.parse.urlsplit(conf.get("fs.defaultFS", ""))
    return default.netloc if default.scheme == "hdfs" else ""


def _http_of(conf: Dict[str, str], speech: _Speech, suffix: str, host: str) -> str:
    """The http-address; `host` stands in for one that is every address of a machine."""
    key = speech.key + suffix
    told, port = _with_port(conf[key], speech.port)
    named = host if told in ("", "0.0.0.0", "[::]") else told
    if not named:
        raise FailedPreconditionError("%s in HADOOP_CONF_DIR is '%s', which names no host" %
                                      (key, conf[key][:80]))
    return "%s:%d" % (named, port)


def _http_of_service(conf: Dict[str, str], speech: _Speech, suffix: str) -> str:
    host, _ = _host_port(conf.get(_RPC + suffix, ""))
    if conf.get(speech.key + suffix):
        return _http_of(conf, speech, suffix, host)
    if not host:
        raise FailedPreconditionError("neither %s nor %s is set in HADOOP_CONF_DIR" %
                                      (speech.key + suffix, _RPC + suffix))
    return "%s:%d" % (host, speech.port)


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
