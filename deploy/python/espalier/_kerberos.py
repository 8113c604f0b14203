"""Kerberos identity of this process, and its proof for a service that requires SPNEGO.

The system's own library (MIT's libgssapi_krb5) finds the identity, as it does for the programs.
It uses the keytab that KRB5_CLIENT_KTNAME names. Otherwise, it uses the tickets of the cache that
KRB5CCNAME names, or of the default cache. KRB5_CONFIG or /etc/krb5.conf defines realm and KDCs.

ctypes calls the library, instead of a package. The well-maintained packages (gssapi and krb5, on
which pyspnego and requests-gssapi are based) are available for Linux only as source code. Each
machine, including each of Spark's executors, would need a compiler and the headers of Python and
of Kerberos. The library itself is installed wherever kinit is. Its functions are those of
RFC 2744, and their binary form has not changed in decades.

The library waits for a KDC that does not answer, and cannot be interrupted. Each call therefore
runs on a separate thread, which is left behind when its time limit has passed.
"""

from __future__ import annotations

import base64
import ctypes
import functools
import os
import sys
import threading
from ctypes import POINTER, byref, c_int, c_size_t, c_uint32, c_void_p
from typing import Any, Callable, List, Tuple

from ._facts import (KERBEROS_CALLS_MAX, KERBEROS_MEANINGS, KERBEROS_WAIT_MS,
                     KERBEROS_WORDS_BYTES_MAX, KERBEROS_WORDS_MAX)
from .errors import (EspalierError, FailedPreconditionError, PermissionDeniedError,
                     UnavailableError, make_error)

WAIT_SECONDS = KERBEROS_WAIT_MS / 1000
_LIBRARY = "libgssapi_krb5.so.2"
_calls = threading.BoundedSemaphore(KERBEROS_CALLS_MAX)  # includes threads that wait for a KDC


# ---- meaning of a failure -----------------------------------------------------------------------

def printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def problem(doing: str, words: str) -> EspalierError:
    """Returns the error for the words of Kerberos' library, or of a server, about a failure.
    `doing`: "prove our identity to localhost"."""
    for text, code, why, fix in KERBEROS_MEANINGS:
        head, _, tail = text.rpartition("*")
        before, found, _ = words.partition(tail)
        if found and head in before:
            return make_error(code, "cannot %s: %s; %s (Kerberos says: %s)" %
                              (doing, why, fix, words), hint="")
    return PermissionDeniedError("cannot %s: %s" % (doing, words))


# ---- the library --------------------------------------------------------------------------------

class _Buffer(ctypes.Structure):
    _fields_ = [("length", c_size_t), ("value", c_void_p)]

    def read(self) -> bytes:
        return ctypes.string_at(self.value, self.length) if self.value else b""


class _Oid(ctypes.Structure):
    _fields_ = [("length", c_uint32), ("elements", c_void_p)]


class _OidSet(ctypes.Structure):
    _fields_ = [("count", c_size_t), ("elements", POINTER(_Oid))]


def _oid(raw: bytes) -> Tuple[_Oid, Any]:
    """Returns a name's pointer and the object that keeps its bytes alive."""
    kept = ctypes.create_string_buffer(raw, len(raw))
    return _Oid(len(raw), ctypes.cast(kept, c_void_p)), kept


_SPNEGO, _SPNEGO_BYTES = _oid(b"\x2b\x06\x01\x05\x05\x02")  # 1.3.6.1.5.5.2
_KRB5, _KRB5_BYTES = _oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02")  # 1.2.840.113554.1.2.2
# GSS_C_NT_HOSTBASED_SERVICE, 1.2.840.113554.1.2.1.4
_HOST_SERVICE, _HOST_SERVICE_BYTES = _oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04")
_INITIATE, _INDEFINITE, _GSS_CODE, _MECH_CODE = 1, 0xffffffff, 1, 2

_u32, _handle = POINTER(c_uint32), POINTER(c_void_p)
_buffer, _of_oid, _of_oids = POINTER(_Buffer), POINTER(_Oid), POINTER(_OidSet)
_ARGUMENTS = {
    "gss_acquire_cred": [_u32, c_void_p, c_uint32, _of_oids, c_int, _handle, c_void_p, _u32],
    "gss_inquire_cred": [_u32, c_void_p, _handle, _u32, c_void_p, c_void_p],
    "gss_import_name": [_u32, _buffer, _of_oid, _handle],
    "gss_display_name": [_u32, c_void_p, _buffer, c_void_p],
    "gss_init_sec_context": [_u32, c_void_p, _handle, c_void_p, _of_oid, c_uint32, c_uint32,
                             c_void_p, _buffer, c_void_p, _buffer, _u32, _u32],
    "gss_display_status": [_u32, c_uint32, c_int, c_void_p, _u32, _buffer],
    "gss_release_cred": [_u32, _handle],
    "gss_release_name": [_u32, _handle],
    "gss_release_buffer": [_u32, _buffer],
    "gss_delete_sec_context": [_u32, _handle, _buffer],
}


@functools.lru_cache(maxsize=1)
def _load() -> Any:
    if not sys.platform.startswith("linux"):
        raise FailedPreconditionError("Kerberos is supported only on Linux")
    try:
        library = ctypes.CDLL(_LIBRARY)
        for name, arguments in _ARGUMENTS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, c_uint32
    except (OSError, AttributeError) as error:
        raise FailedPreconditionError(
            "Kerberos' library is missing: %s cannot be loaded (%s)" % (_LIBRARY, error),
            hint="Install it: apt-get install libgssapi-krb5-2 (Debian, Ubuntu), dnf install "
                 "krb5-libs (Red Hat and derivatives).") from error
    return library


class _Failure(Exception):
    """Failure with the words of the library."""


class _Library:
    """Calls of the library on one thread. Everything that it allocated is released at the end."""

    def __init__(self) -> None:
        self._library = _load()
        self._ends: List[Callable[[], Any]] = []

    def __enter__(self) -> _Library:
        return self

    def __exit__(self, *_: object) -> None:
        for end in reversed(self._ends):
            end()

    def call(self, name: str, *arguments: Any) -> None:
        minor = c_uint32()
        major = getattr(self._library, name)(byref(minor), *arguments)
        if major & 0xffff0000:  # GSS_ERROR
            raise _Failure(self._words(major, minor.value))

    def _words(self, major: int, minor: int) -> str:
        """Returns the general message and the mechanism's message."""
        words: List[str] = []
        for value, kind in ((major, _GSS_CODE), (minor, _MECH_CODE)):
            context, ignored = c_uint32(), c_uint32()
            for _ in range(KERBEROS_WORDS_MAX):
                text = _Buffer()
                if self._library.gss_display_status(byref(ignored), value, kind, None,
                                                    byref(context), byref(text)):
                    break
                words.append(_text(text.read()))
                self._library.gss_release_buffer(byref(ignored), byref(text))
                if not context.value:
                    break
        return "; ".join(words)[:KERBEROS_WORDS_BYTES_MAX]

    def own(self, end: str, thing: Any, *more: Any) -> Any:
        """Registers `thing`, a handle or a buffer, for release by `end`."""
        ignored = c_uint32()
        self._ends.append(lambda: getattr(self._library, end)(byref(ignored), byref(thing), *more))
        return thing

    def credential(self, mechanism: _Oid = _SPNEGO) -> Any:
        wanted, found = _OidSet(1, ctypes.pointer(mechanism)), c_void_p()
        self.call("gss_acquire_cred", None, _INDEFINITE, byref(wanted), _INITIATE, byref(found),
                  None, None)
        return self.own("gss_release_cred", found)


def _text(raw: bytes) -> str:
    return printable(raw.split(b"\0", 1)[0].decode("utf-8", "replace"))


def _acquire(library: _Library) -> Any:
    try:
        return library.credential()
    except _Failure as failure:
        if "cannot find mechanisms" not in str(failure):
            raise
    # SPNEGO loses the message of its mechanism if there are no credentials at all.
    try:
        return library.credential(_KRB5)
    except _Failure as failure:
        raise _Failure("%s%s" % (failure, _keytab())) from None


def _keytab() -> str:
    named = os.environ.get("KRB5_CLIENT_KTNAME", "")
    if not named:
        return ""
    path = named[len("FILE:"):] if named.startswith("FILE:") else named
    why = ", which is missing, or not for this user to read, is not used"
    if os.access(path, os.R_OK):
        why = " is empty, or no keytab"
    return "; the keytab %s%s" % (printable(path), why)


def _negotiate(library: _Library, host: str) -> bytes:
    credential = _acquire(library)
    service = b"HTTP@" + host.encode("utf-8", "replace")
    kept = ctypes.create_string_buffer(service, len(service))
    text = _Buffer(len(service), ctypes.cast(kept, c_void_p))
    name = library.own("gss_release_name", c_void_p())
    library.call("gss_import_name", byref(text), byref(_HOST_SERVICE), byref(name))
    context = library.own("gss_delete_sec_context", c_void_p(), None)
    token = library.own("gss_release_buffer", _Buffer())
    library.call("gss_init_sec_context", credential, byref(context), name, byref(_SPNEGO), 0,
                 _INDEFINITE, None, None, None, byref(token), None, None)
    return bytes(token.read())


def _principal(library: _Library) -> str:
    credential = _acquire(library)
    name = library.own("gss_release_name", c_void_p())
    try:
        library.call("gss_inquire_cred", credential, byref(name), None, None, None)
    except _Failure:  # a proof to any service explains why a keytab gives no ticket
        _negotiate(library, "localhost")
        raise
    text = library.own("gss_release_buffer", _Buffer())
    library.call("gss_display_name", name, byref(text), None)
    return _text(text.read())


# ---- waiting with a limit -----------------------------------------------------------------------

def _limited(doing: str, seconds: float, work: Callable[[_Library], Any]) -> Any:
    _load()  # reports a missing library at once
    away = UnavailableError(
        "cannot %s: no KDC answers within %g s; is it up, and does krb5.conf (KRB5_CONFIG) name "
        "its address?" % (doing, seconds))
    if not _calls.acquire(timeout=seconds):
        raise away
    done: List[Any] = []

    def run() -> None:
        try:
            with _Library() as library:
                done.append(work(library))
        except _Failure as failure:
            done.append(problem(doing, str(failure)))
        except Exception as error:
            done.append(error)
        finally:
            _calls.release()
    thread = threading.Thread(target=run, name="espalier-kerberos", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        _calls.release()
        raise
    thread.join(seconds)
    if not done:
        raise away
    if isinstance(done[0], Exception):
        raise done[0]
    return done[0]


def negotiate_header(host: str, seconds: float = WAIT_SECONDS) -> str:
    """Returns the value of an Authorization header for the service HTTP on `host`: "Negotiate ...".
    `host` is a name that the KDC knows, not an address. The value is SECRET, and valid for one
    request within minutes.

    Raises:
        PermissionDeniedError: says what is missing or wrong, and how to fix it.
        UnavailableError: no KDC answers.
        FailedPreconditionError: Kerberos' library is not installed.
    """
    token = _limited("prove our identity to '%s' by Kerberos" % host, seconds,
                     lambda library: _negotiate(library, host))
    return "Negotiate " + base64.b64encode(token).decode("ascii")


def own_principal(seconds: float = WAIT_SECONDS) -> str:
    """Returns this process's own principal: "name@REALM". Raises as negotiate_header does."""
    return str(_limited("find our identity by Kerberos", seconds, _principal))
