"""Requests of the client to an HDFS by WebHDFS, over HTTP or HTTPS: one file, a delegation token.
ESPALIER_HADOOP_CA names the authority that signs the certificates.

The caller's identity is the first of these that is available, as in src/storage/webhdfs_login.h:
    a token      that YARN gave to this container, in the file HADOOP_TOKEN_FILE_LOCATION
    Kerberos     if Hadoop's configuration says so, or a NameNode asks for it
    a name       HADOOP_USER_NAME, which an HDFS without security believes
Data nodes get no identity, because the NameNode's redirection carries its own proof. Addresses may
contain tokens, and are not shown.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, List, NamedTuple, Tuple

from ._hadoop_conf import NameNode, Place, find, own_name, shown, token_services
from ._hadoop_token import token_in_file
from ._kerberos import negotiate_header, own_principal, printable, problem
from .errors import (BadInputError, EspalierError, FailedPreconditionError, NotFoundError,
                     PermissionDeniedError, UnavailableError)

_TIMEOUT_SECONDS, _LOOK_SECONDS = 30.0, 5.0
_REPLY_BYTES_MAX = 64 << 10
_PROOFS_MAX = 4  # per call: by name, by Kerberos, again if one is taken for a replay
_LETTERS_MAX = 300
_OF_THE_FILE = ("; it is from the file that HADOOP_TOKEN_FILE_LOCATION names, which YARN writes: "
                "the application must be started again")
# Content of an answer about a rejected token, and its meaning. The first match applies.
_TOKEN_MEANINGS = (
    ("can't be found in cache", "the NameNode does not know its delegation token: it was "
     "cancelled, has expired long ago, or is of another HDFS"),
    ("xpired", "its delegation token has expired"),
    ("SecretManager$InvalidToken", "its delegation token has expired"),
    ("InvalidToken", "its delegation token is refused"),
    ("user group information: java.io.EOFException", "its delegation token is refused"),
)


def read_file(uri: str, limit: int) -> bytes:
    """Returns the whole file.

    Raises:
        NotFoundError, UnavailableError: as the NameNode says.
        PermissionDeniedError: HDFS or Kerberos denies access.
        BadInputError: it is longer than `limit` bytes.
        FailedPreconditionError: its certificate is not trusted, or Kerberos' library is missing.
    """
    place = find(uri)
    path = os.environ.get("HADOOP_TOKEN_FILE_LOCATION", "")
    token = token_in_file(path, token_services(place)) if path else None
    return _ask(place, {"op": "OPEN"}, limit, uri + " cannot be read",
                token.text() if token else "")


def is_secured(prefix: str) -> bool:
    """Returns whether that HDFS is secured: Hadoop's configuration says so, or its NameNode asks
    for Kerberos. A process asks the NameNode only if it has a Kerberos identity, and only once.
    Raises an EspalierError if this is unknown, because Hadoop's configuration does not specify the
    address or no NameNode answers. Other machines may still find it."""
    place = find(prefix + "/")
    if place.kerberos:
        return True
    try:
        own_principal(_LOOK_SECONDS)
    except EspalierError:
        return False
    opener = _opener(place)
    tried: List[str] = []
    for node in place.name_nodes:
        request = _request(place, node, {"op": "GETFILESTATUS", **_user()})
        try:
            with opener.open(request, timeout=_LOOK_SECONDS):
                return False
        except urllib.error.HTTPError as error:
            with error:
                return _asks_negotiate(error)
        except OSError as error:
            tried.append("%s: %s" % (shown(node.http), getattr(error, "reason", error)))
        except (ValueError, http.client.HTTPException) as error:
            tried.append("%s: it does not speak HTTP (%s)" %
                         (shown(node.http), type(error).__name__))
    raise UnavailableError("no NameNode of it answers", causes=tried)


def fetch_token(prefix: str, renewer: str) -> str:
    """Returns a new delegation token of this user, which `renewer` (a principal) may renew. It uses
    only Kerberos, because a token cannot create a token. Raises as read_file does."""
    failed = "cannot get a delegation token of %s" % prefix
    raw = _ask(find(prefix + "/"), {"op": "GETDELEGATIONTOKEN", "renewer": renewer},
               _REPLY_BYTES_MAX, failed)
    try:
        text = json.loads(raw)["Token"]["urlString"]
        if isinstance(text, str) and text.isascii() and text.isprintable() and text:
            return text
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise UnavailableError(failed + ": the reply has no delegation token")


def _user() -> Dict[str, str]:
    """Returns the user of requests without Kerberos."""
    name = own_name()
    return {"user.name": name} if name else {}


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirections from HTTPS to HTTP, and to any other protocol."""

    def __init__(self, secure: bool) -> None:
        self._secure = secure

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any,
                         newurl: str) -> Any:
        if not newurl.startswith(("https:",) if self._secure else ("https:", "http:")):
            raise FailedPreconditionError("%s sends to %s, which is not HTTP%s" %
                                          (req.host, newurl.partition("?")[0][:200],
                                           "S" if self._secure else ""))
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(place: Place) -> urllib.request.OpenerDirector:
    direct, secure = urllib.request.ProxyHandler({}), place.scheme == "https"
    if not secure:
        return urllib.request.build_opener(direct, _Redirects(secure))
    authority = os.environ.get("ESPALIER_HADOOP_CA", "")
    try:
        context = ssl.create_default_context(cafile=authority or None)
    except OSError as error:  # ssl.SSLError is a subclass
        raise FailedPreconditionError("ESPALIER_HADOOP_CA names %s, which cannot be read, or holds "
                                      "no certificate in PEM form" % authority) from error
    return urllib.request.build_opener(direct, urllib.request.HTTPSHandler(context=context),
                                       _Redirects(secure))


def _request(place: Place, node: NameNode, query: Dict[str, str]) -> urllib.request.Request:
    return urllib.request.Request("%s://%s/webhdfs/v1%s?%s" % (
        place.scheme, shown(node.http), urllib.parse.quote(place.path),
        urllib.parse.urlencode(query)))


def _ask(place: Place, query: Dict[str, str], limit: int, failed: str, token: str = "") -> bytes:
    """Returns the answer of the first NameNode that serves."""
    opener = _opener(place)
    tried: List[str] = []
    for node in place.name_nodes:
        try:
            return _ask_node(opener, place, node, query, limit, token)
        except UnavailableError as error:
            tried.append("%s: %s" % (shown(node.http), error.message))
    raise UnavailableError(failed, causes=tried)


def _ask_node(opener: urllib.request.OpenerDirector, place: Place, node: NameNode,
              query: Dict[str, str], limit: int, token: str) -> bytes:
    who, kerberos = "the NameNode " + shown(node.http), place.kerberos
    for left in reversed(range(_PROOFS_MAX)):
        if token:
            request = _request(place, node, dict(query, delegation=token))
        elif kerberos:
            request = _request(place, node, query)
            # Data nodes do not get this header.
            request.add_unredirected_header("Authorization", _proof(place.uri, who, node))
        else:
            request = _request(place, node, {**query, **_user()})
        try:
            return _read(opener, request, place.uri, limit)
        except urllib.error.HTTPError as error:
            with error:
                refusal, at = _Refusal.of(error), urllib.parse.urlsplit(error.geturl()).netloc
            asks = refusal.negotiate and not token and not kerberos
            if left and (asks or kerberos and "replay" in refusal.gss):
                kerberos = True
                continue
            said_by = who if at == shown(node.http) else "the DataNode " + printable(at[:200])
            raise refusal.translate(place.uri, said_by, kerberos, token) from None
    raise AssertionError  # the last round returns or raises


def _proof(uri: str, who: str, node: NameNode) -> str:
    try:
        return negotiate_header(node.http[0].strip("[]"))
    except EspalierError as error:
        raise type(error)("%s: %s asks for Kerberos: %s" % (uri, who, error.message),
                          hint=error.hint) from None


def _read(opener: urllib.request.OpenerDirector, request: urllib.request.Request, uri: str,
          limit: int) -> bytes:
    try:
        with opener.open(request, timeout=_TIMEOUT_SECONDS) as reply:
            data, missing = bytes(reply.read(limit + 1)), reply.length or 0
    except urllib.error.HTTPError:
        raise
    except http.client.HTTPException as error:  # its message may contain an address
        raise UnavailableError("it does not speak HTTP (%s)" % type(error).__name__) from None
    except OSError as error:
        why = getattr(error, "reason", error)
        if isinstance(why, ssl.SSLCertVerificationError):
            raise FailedPreconditionError(
                "%s: the certificate is not trusted: %s" % (uri, why.verify_message),
                hint="ESPALIER_HADOOP_CA names the PEM file of the authority that signs the "
                     "certificates of HDFS.") from error
        raise UnavailableError(str(why)) from error
    except ValueError as error:  # for an invalid redirection
        raise UnavailableError("it redirects to an invalid address (%s)" %
                               type(error).__name__) from None
    if len(data) > limit:
        raise BadInputError("%s: expected at most %d bytes" % (uri, limit))
    if missing:
        raise UnavailableError("it ended %d bytes before the end" % missing)
    return data


def _asks_negotiate(error: urllib.error.HTTPError) -> bool:
    told = error.headers.get_all("WWW-Authenticate", [])
    return error.code == 401 and any(word.lower().startswith("negotiate") for word in told)


class _Refusal(NamedTuple):
    code: int
    negotiate: bool  # whether it asks for Kerberos
    kind: str  # Java exception, or ""
    words: str
    gss: str  # message of Java's Kerberos, or ""

    @classmethod
    def of(cls, error: urllib.error.HTTPError) -> _Refusal:
        try:
            raw = error.read(_REPLY_BYTES_MAX).decode("utf-8", "replace")
        except (OSError, ValueError, http.client.HTTPException):
            raw = ""
        kind, words = "", "HTTP %d" % error.code
        try:
            told = json.loads(raw)["RemoteException"]
            kind, words = str(told["exception"]), str(told["message"]).split("\n", 1)[0]
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        gss = raw.partition("GSSException: ")[2].split("<")[0].split("\n")[0]
        return cls(error.code, _asks_negotiate(error), *_short(kind, words, gss))

    def translate(self, uri: str, who: str, kerberos: bool, token: str) -> EspalierError:
        if self.kind == "StandbyException":
            return UnavailableError(self.words)
        for text, why in _TOKEN_MEANINGS if token else ():
            if text in self.kind or text in self.words:
                return PermissionDeniedError("%s: %s%s" % (uri, why, _OF_THE_FILE))
        if not self.kind and self.gss:
            return self._of_kerberos(uri, who)
        if self.code == 401:
            return PermissionDeniedError("%s: %s answers HTTP 401: it %s" % (
                uri, who, "rejects the Kerberos ticket. Get one of a realm that HDFS trusts"
                if kerberos else "requires authentication of an unknown kind (expected Kerberos "
                "(SPNEGO) or delegation tokens)"))
        if self.code == 404 or self.kind == "FileNotFoundException":
            return NotFoundError("%s does not exist: %s" % (uri, self.words))
        if self.code >= 500:
            return UnavailableError(self.words)
        if self.code == 403:
            return PermissionDeniedError(
                "%s: %s" % (uri, self.words),
                hint="" if kerberos or token else "Set HADOOP_USER_NAME to your user name there.")
        return FailedPreconditionError("%s: %s" % (uri, self.words))

    def _of_kerberos(self, uri: str, who: str) -> EspalierError:
        if "replay" in self.gss:
            return UnavailableError("%s rejected the Kerberos proof as a repeated one" % who)
        if "Checksum failed" in self.gss:
            return PermissionDeniedError(
                "%s: %s cannot read our Kerberos ticket: its keytab does not have the key "
                "that the KDC has for its principal HTTP/HOST (%s). Export its keytab again" %
                (uri, who, self.gss))
        found = problem("be believed by " + who, self.gss)
        return type(found)("%s: %s" % (uri, found.message))


def _short(*texts: str) -> Tuple[str, ...]:
    return tuple(printable(text)[:_LETTERS_MAX] for text in texts)
