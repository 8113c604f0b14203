"""Finds an HDFS: its NameNodes, from Hadoop's configuration in HADOOP_CONF_DIR (or etc/hadoop of
HADOOP_HOME). The rules are those of src/storage/name_nodes.cc."""

from __future__ import annotations

import getpass
import os
import re
import socket
from typing import List, NamedTuple, Tuple

from ._facts import (NAME_NODE_HTTP_PORT, NAME_NODE_HTTPS_PORT, NAME_NODE_RPC_PORT, NAME_NODES_MAX)
from ._hadoop_xml import Configuration
from .errors import FailedPreconditionError, InvalidArgumentError

_RPC = "dfs.namenode.rpc-address"
_URI = re.compile(r"(?P<prefix>(?P<scheme>hdfs|s?webhdfs):(?://(?P<name>[^/]*))?)(?P<path>/.*)",
                  re.DOTALL)
Address = Tuple[str, int]  # port 0: none is given


class _Speech(NamedTuple):
    """Variant of WebHDFS: its scheme, the key of the addresses, and the default port."""

    scheme: str
    key: str
    port: int


_PLAIN = _Speech("http", "dfs.namenode.http-address", NAME_NODE_HTTP_PORT)
_SECURE = _Speech("https", "dfs.namenode.https-address", NAME_NODE_HTTPS_PORT)


class NameNode(NamedTuple):
    http: Address  # WebHDFS address
    rpc: Address  # host "": unknown


class Place(NamedTuple):
    """A path on an HDFS."""

    uri: str
    path: str
    scheme: str  # "http" or "https"
    name_nodes: List[NameNode]
    kerberos: bool  # according to the configuration
    service: str  # name service, or host without a port; or ""


def prefix_of(uri: str) -> str:
    """Returns the prefix of paths on that HDFS, without the last slash: "hdfs://ns"; "": `uri` is
    not on an HDFS. "hdfs:/a" is on the default one, "hdfs://"."""
    found = _URI.fullmatch(uri)
    return "%s://%s" % (found["scheme"], found["name"] or "") if found else ""


def find(uri: str) -> Place:
    """Finds the NameNodes of a path. Raises InvalidArgumentError and FailedPreconditionError if the
    URI, or the configuration, does not specify them. A path is used unchanged, as Hadoop's own
    tools do: `?` is a part of it."""
    found = _URI.fullmatch(uri)
    if found is None:
        raise InvalidArgumentError("found '%s', expected a file on HDFS: hdfs://HOST/PATH, "
                                   "hdfs:///PATH, webhdfs://HOST:PORT/PATH or swebhdfs://HOST:PORT"
                                   "/PATH" % uri[:200])
    conf = _configuration()
    scheme, name = found["scheme"], found["name"] or ""
    speech = _speech(uri, scheme, conf)
    if not name and scheme == "hdfs":
        scheme, name = _default(conf)
    if not name:
        raise InvalidArgumentError("%s has no host, and no fs.defaultFS in HADOOP_CONF_DIR is an "
                                   "HDFS" % uri)
    return Place(uri, found["path"], speech.scheme, _name_nodes(conf, speech, scheme, name),
                 conf.get("hadoop.security.authentication") == "kerberos",
                 "" if _host_port(name)[1] else name)


def token_services(place: Place) -> List[str]:
    """Returns the names that tokens may use for that HDFS: "ha-hdfs:ns", "host:port", "ip:port". It
    looks up host names."""
    out = ["ha-hdfs:" + place.service] if place.service else []
    for node in place.name_nodes:
        out += _services(node.rpc) + _services(node.http)
    return out


def shown(address: Address) -> str:
    return "%s:%d" % address


def _speech(uri: str, scheme: str, conf: Configuration) -> _Speech:
    only_https = conf.get("dfs.http.policy") == "HTTPS_ONLY"
    if scheme == "swebhdfs" or (scheme == "hdfs" and only_https):
        return _SECURE
    if only_https:
        raise InvalidArgumentError("%s requires plain HTTP, but dfs.http.policy in HADOOP_CONF_DIR "
                                   "is HTTPS_ONLY" % uri,
                                   hint="Write swebhdfs://HOST:PORT/PATH or hdfs://HOST/PATH.")
    return _PLAIN


def _name_nodes(conf: Configuration, speech: _Speech, scheme: str, name: str) -> List[NameNode]:
    """Returns the NameNodes. The configuration applies only to the name service that `name` is, or
    to the NameNode with that rpc-address."""
    host, port = _host_port(name)
    ids = conf.get_list("dfs.ha.namenodes." + name)
    if not port and (ids or name in conf.get_list("dfs.nameservices") or
                     conf.get("dfs.client.failover.proxy.provider." + name)):
        if len(ids) > NAME_NODES_MAX:
            raise FailedPreconditionError("dfs.ha.namenodes.%s in %s lists %d NameNodes; at most "
                                          "%d are used" % (name, conf.origin, len(ids),
                                                           NAME_NODES_MAX))
        suffixes = ["." + name + "." + i for i in ids] or ["." + name]
        return [_of_service(conf, speech, suffix) for suffix in suffixes]
    if scheme != "hdfs":
        http = host, port or speech.port
        return [NameNode(http, _rpc_behind(conf, speech, http))]
    rpc = host, port or NAME_NODE_RPC_PORT
    for suffix in _suffixes(conf):
        configured = conf.get(_RPC + suffix) or ("" if suffix else _default_rpc(conf))
        matches = configured and _with_port(configured, NAME_NODE_RPC_PORT) == rpc
        if matches and conf.get(speech.key + suffix):
            return [NameNode(_http_of(conf, speech, suffix, host), rpc)]
    return [NameNode((host, speech.port), rpc)]


def _host_port(text: str) -> Address:
    """Splits host and port. Port 0: none is given."""
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        return text, 0
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise InvalidArgumentError("found '%s', expected an address HOST:PORT" % text[:80])
    return host, int(port)


def _with_port(text: str, default: int) -> Address:
    host, port = _host_port(text)
    return host, port or default


def _suffixes(conf: Configuration) -> List[str]:
    """Returns the suffixes of the keys of each NameNode's addresses."""
    found = [""]
    for service in conf.get_list("dfs.nameservices"):
        found.append("." + service)
        found += ["." + service + "." + i for i in conf.get_list("dfs.ha.namenodes." + service)]
    return found


def _default(conf: Configuration) -> Tuple[str, str]:
    """Returns scheme and host of the default file system; "": it is not an HDFS."""
    told = conf.get("fs.defaultFS") or conf.get("fs.default.name")  # its name in Hadoop 1
    found = _URI.match(told + "/")
    return (found["scheme"], found["name"] or "") if found else ("", "")


def _default_rpc(conf: Configuration) -> str:
    """Returns the rpc-address of the default file system, for NameNodes that have none configured.
    """
    scheme, name = _default(conf)
    return name if scheme == "hdfs" else ""


def _http_of(conf: Configuration, speech: _Speech, suffix: str, host: str) -> Address:
    """Returns the http-address. `host` replaces an address that means all addresses of a machine.
    """
    key = speech.key + suffix
    told, port = _with_port(conf.get(key), speech.port)
    named = host if told in ("", "0.0.0.0", "[::]") else told
    if not named:
        raise FailedPreconditionError("%s in HADOOP_CONF_DIR is '%s', which has no host" %
                                      (key, conf.get(key)[:80]))
    return named, port


def _of_service(conf: Configuration, speech: _Speech, suffix: str) -> NameNode:
    rpc = _with_port(conf.get(_RPC + suffix), NAME_NODE_RPC_PORT)
    if conf.get(speech.key + suffix):
        return NameNode(_http_of(conf, speech, suffix, rpc[0]), rpc)
    if not rpc[0]:
        raise FailedPreconditionError("neither %s nor %s is set in HADOOP_CONF_DIR" %
                                      (speech.key + suffix, _RPC + suffix))
    return NameNode((rpc[0], speech.port), rpc)


def _rpc_behind(conf: Configuration, speech: _Speech, http: Address) -> Address:
    """Returns the rpc-address of the NameNode that has this HTTP address in the configuration."""
    for suffix in _suffixes(conf):
        rpc = _with_port(conf.get(_RPC + suffix), NAME_NODE_RPC_PORT)
        if rpc[0] and conf.get(speech.key + suffix) and \
                _http_of(conf, speech, suffix, rpc[0]) == http:
            return rpc
    return "", 0


def _services(address: Address) -> List[str]:
    """Returns the host itself and its addresses, each with the port, as tokens write them."""
    host, port = address
    if not host:
        return []
    out = [shown(address)]
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return out
    for family, _, _, _, where in found:
        out.append(("[%s]:%d" if family == socket.AF_INET6 else "%s:%d") % (where[0], port))
    return out


def _folder() -> str:
    named = os.environ.get("HADOOP_CONF_DIR", "")
    home = os.path.join(os.environ.get("HADOOP_HOME", ""), "etc", "hadoop")
    return named or (home if os.path.isabs(home) and os.path.isdir(home) else "")


def _configuration() -> Configuration:
    folder = _folder()
    return Configuration.read(folder, own_name()) if folder else Configuration()


def own_name() -> str:
    """Returns the user name for an HDFS without Kerberos; "": this process has no name."""
    try:
        return (os.environ.get("HADOOP_USER_NAME") or os.environ.get("USER") or
                getpass.getuser())
    except (KeyError, OSError):
        return ""
