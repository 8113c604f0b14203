"""Security of a connection: reads and checks files, and explains why a connection fails.

gRPC compares the server's certificate with the authority and with the host's name. It reports
neither what it found nor why a handshake failed. Therefore, Python's own ssl connects again if a
call fails. It also connects once before the first call and checks the role in the certificate,
because the server may be a worker.
"""

from __future__ import annotations

import os
import socket
import ssl
import stat
from dataclasses import dataclass, field
from typing import Any, Optional, Tuple

from ._facts import (CLIENT_TOKEN_FILE_BYTES_MAX, PEM_BYTES_MAX, ROLE_SCHEME,
                     SECRET_MODE_REFUSED)
from .errors import (EspalierError, FailedPreconditionError, InvalidArgumentError, NotFoundError,
                     PermissionDeniedError, UnavailableError)


@dataclass(frozen=True)
class Security:
    """Paths of PEM files, and a token. All empty: plain text."""

    ca: str = ""
    cert: str = ""
    key: str = ""
    server_name: str = ""
    token: str = field(default="", repr=False)

    @property
    def encrypted(self) -> bool:
        return bool(self.ca)

    def read(self) -> Tuple[bytes, Optional[bytes], Optional[bytes]]:
        """Returns the files' content: authority, certificate, key. It reads them at each
        connection, so that replaced files take effect."""
        ca = _read(self.ca, "ca")
        if not self.cert:
            return ca, None, None
        return ca, _read(self.cert, "cert"), _read(self.key, "key", secret=True)


def _read(path: str, what: str, secret: bool = False) -> bytes:
    try:
        with open(path, "rb") as f:
            mode = os.fstat(f.fileno()).st_mode
            if secret and mode & SECRET_MODE_REFUSED:
                raise PermissionDeniedError(
                    "%s=: '%s' is a secret that %s. Fix it with `chmod 600 %s`" %
                    (what, path, "any user of this machine may read or write"
                     if mode & stat.S_IRWXO else "its group may write", path))
            data = f.read(PEM_BYTES_MAX + 1)
    except OSError as error:
        raise NotFoundError("%s=: cannot read %s: %s" % (what, path, error.strerror)) from error
    if len(data) > PEM_BYTES_MAX or b"-----BEGIN" not in data and what != "token_file":
        raise InvalidArgumentError("%s=: %s is not a PEM file" % (what, path))
    return data


def make_security(ca: str, cert: str, key: str, server_name: str, token: str,
                  token_file: str) -> Security:
    """Checks that the settings fit together. Raises InvalidArgumentError, or an error from reading.
    """
    if bool(cert) != bool(key):
        raise InvalidArgumentError("cert= and key= belong together: found only %s=" %
                                   ("cert" if cert else "key"))
    if token_file and not token:
        raw = _read(token_file, "token_file", secret=True)
        token = raw[:CLIENT_TOKEN_FILE_BYTES_MAX + 1].decode("utf-8", "replace").strip()
    if (cert or token or server_name) and not ca:
        raise InvalidArgumentError(
            "a certificate or token requires TLS, but no authority is given",
            hint="Give ca= (or ESPALIER_TLS_CA) with the authority of the coordinator's "
                 "certificate.")
    if token and (len(token) > CLIENT_TOKEN_FILE_BYTES_MAX or not token.isascii() or
                  not token.isprintable() or " " in token):
        raise InvalidArgumentError("the token has spaces, several lines or unprintable characters")
    security = Security(ca, cert, key, server_name, token)
    if ca:
        security.read()
        _context(security, verify=True)
    return security


def _context(security: Security, verify: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    try:
        context.load_verify_locations(cafile=security.ca)
        if security.cert:
            context.load_cert_chain(security.cert, security.key)
    except ssl.SSLError as error:
        raise InvalidArgumentError("the TLS files do not fit together (%s): ca=%s cert=%s key=%s" %
                                   (error, security.ca, security.cert, security.key)) from error
    return context


def _handshake(host: str, port: int, security: Security, verify: bool,
               timeout: float) -> Tuple[str, ...]:
    """Returns the URIs in the server's certificate (without `verify`: none)."""
    context = _context(security, verify)
    with socket.create_connection((host, port), timeout=timeout) as plain:
        with context.wrap_socket(plain, server_hostname=security.server_name or host) as secured:
            names: Any = (secured.getpeercert() or {}).get("subjectAltName", ())
            return tuple(str(value) for kind, value in names if kind == "URI")


def explain(host: str, port: int, security: Security, timeout: float) -> Optional[EspalierError]:
    """Returns why a connection there fails, or must not be made; None: no cause was found."""
    who = "coordinator at %s:%d" % (host, port)
    try:
        uris = _handshake(host, port, security, security.encrypted, timeout)
    except ssl.SSLCertVerificationError as error:
        return PermissionDeniedError(
            "%s: the coordinator's certificate is not trusted: %s" % (who, error.verify_message),
            hint="ca= must be the authority of that coordinator's certificate, and the address "
                 "(or server_name=) a name in it.")
    except (ssl.SSLError, ConnectionResetError, EOFError) as error:
        if not security.encrypted:
            return None
        if "WRONG_VERSION_NUMBER" in str(error) or "RECORD_LAYER" in str(error):
            return FailedPreconditionError(
                "%s: this side speaks TLS and the other one plain text" % who,
                hint="Connect without ca=, cert=, key= and token=, or give that coordinator "
                     "certificates.")
        return PermissionDeniedError("%s: the handshake failed: %s" % (who, error))
    except OSError as error:
        return UnavailableError(
            "%s cannot be reached: %s" % (who, error.strerror or error),
            hint="Is espalier-coordinator running there? Set its address with "
                 "espalier.connect(\"HOST:PORT\") or ESPALIER_COORDINATOR.")
    if not security.encrypted:
        return FailedPreconditionError(
            "%s: this side speaks plain text and the other one TLS" % who,
            hint="Give ca=, and cert= with key= or token=.")
    ours = [uri for uri in uris if uri.startswith(ROLE_SCHEME)]
    if ours and not any(uri.startswith(ROLE_SCHEME + "coordinator/") for uri in ours):
        return PermissionDeniedError("%s: the server there shows the certificate of %s, which is "
                                     "not a coordinator's" % (who, ours[0]))
    return None
