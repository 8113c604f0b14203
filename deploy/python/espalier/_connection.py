"""Calls of the public service: address of the coordinator, channels, deadlines, errors."""

from __future__ import annotations

import ipaddress
import re
import threading
from dataclasses import dataclass
from typing import Any, Callable, Iterator, List, Optional, Tuple

import grpc

from ._convert import clean, error_of
from ._facts import (ADDRESS_FILE_BYTES_MAX, ANSWER_BYTES_MAX, AWAY_LIMIT_MS, CALL_TIMEOUT_MS,
                     CONNECT_TIMEOUT_MS, ERROR_KEY, KEEPALIVE_INTERVAL_MS, KEEPALIVE_TIMEOUT_MS,
                     METADATA_BYTES_MAX, REACH_LIMIT_MS, SUBMIT_TIMEOUT_MS, TIMEOUT_MS_MAX,
                     TIMEOUT_MS_MIN, VERSION_KEY, WITHDRAW_TIMEOUT_MS, YARN_COORDINATOR)
from ._facts import VERSION as __version__
from ._proto import api_pb2_grpc, types_pb2
from ._security import Security, explain
from ._yarn import kept_of
from .errors import (DeadlineExceededError, EspalierError, FailedPreconditionError,
                     InvalidArgumentError, NotFoundError, UnavailableError, make_error)

_ON_HDFS = ("hdfs://", "webhdfs://", "swebhdfs://")
ReadFile = Callable[[str, int], bytes]
# gRPC's words for a call that reached no coordinator. After any other failure, the coordinator may
# have performed the call.
_NO_CONNECTION = ("failed to connect to all addresses", "DNS resolution failed")
_OPTIONS: List[Tuple[str, Any]] = [
    ("grpc.max_receive_message_length", ANSWER_BYTES_MAX),
    ("grpc.max_metadata_size", METADATA_BYTES_MAX),
    ("grpc.absolute_max_metadata_size", METADATA_BYTES_MAX),
    ("grpc.keepalive_time_ms", KEEPALIVE_INTERVAL_MS),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.min_reconnect_backoff_ms", CONNECT_TIMEOUT_MS),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 400),
]


@dataclass(frozen=True)
class Limits:
    """Time limits in seconds. A submission takes longer than other calls, because the coordinator
    reads the job's input before it answers.

    Attributes:
        connect: for a connection, at each attempt.
        call, submit, withdraw: for the answer to a call.
        away: for a coordinator that becomes unreachable while a job is followed.
        reach: for a coordinator that is unreachable at first; 0: a single attempt.
    """

    connect: float = CONNECT_TIMEOUT_MS / 1000
    call: float = CALL_TIMEOUT_MS / 1000
    submit: float = SUBMIT_TIMEOUT_MS / 1000
    withdraw: float = WITHDRAW_TIMEOUT_MS / 1000
    away: float = AWAY_LIMIT_MS / 1000
    reach: float = REACH_LIMIT_MS / 1000

    @classmethod
    def of(cls, timeout: float) -> Limits:
        """Returns all limits for a maximum wait of `timeout`, as `espalier --timeout` does."""
        low, high = TIMEOUT_MS_MIN / 1000, TIMEOUT_MS_MAX / 1000
        if not low <= timeout <= high:
            raise InvalidArgumentError("timeout: found %s, expected seconds from %g to %g" %
                                       (timeout, low, high))
        return cls(connect=min(cls.connect, timeout), call=timeout, submit=timeout,
                   withdraw=min(cls.withdraw, timeout), away=timeout, reach=timeout)


def parse_address(text: str) -> Tuple[str, int]:
    """Returns host and port of "host:port" or "[::1]:port". Returns "unix:/PATH" itself and 0."""
    if re.fullmatch(r"unix:/[\w.+=@~-][\w./+=@~-]*", text, re.ASCII):
        return text, 0
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or \
            not 0 < int(port) < 65536 or ":" in host and not bracketed or "/" in host:
        raise InvalidArgumentError("coordinator: found '%s', expected host:port, "
                                   "unix:/PATH, file:PATH or hdfs://PATH of a file with it, "
                                   "or yarn:NAME of a cluster that `espalier yarn` started" %
                                   clean(text[:200]))
    return (host[1:-1] if bracketed else host), int(port)


def is_loopback(host: str) -> bool:
    """Returns whether only this machine can reach it: 127.0.0.0/8, ::1, "localhost" or a Unix
    socket."""
    try:
        return host.startswith("unix:") or host == "localhost" or \
            ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def find_coordinator(where: str, read: Optional[ReadFile] = None) -> str:
    """Returns the host:port that `where` refers to. A file is read again at each call. `read` reads
    one on HDFS, given its URI and the maximum number of bytes; None: over WebHDFS."""
    if where.startswith(YARN_COORDINATOR):
        where = _line_of("file:" + kept_of(where).coordinator, read)
    return _line_of(where, read)


def _line_of(where: str, read: Optional[ReadFile]) -> str:
    """Returns the first line of the file that `where` names, or `where` itself if it names none."""
    if where.startswith("file:"):
        raw = _local(where[len("file:"):])
    elif where.startswith(_ON_HDFS):
        raw = _remote(where, read)
    else:
        return where
    line = raw.decode("utf-8", "replace").splitlines()[0].strip() if raw.strip() else ""
    if not line:
        raise UnavailableError("%s: found no text, expected the coordinator's host:port" % where)
    return line


def _nowhere(path: str, why: str) -> UnavailableError:
    return UnavailableError("no coordinator's address is in %s (%s)" % (path, why),
                            hint="A coordinator with --address-file writes it while it runs.")


def _local(path: str) -> bytes:
    try:
        with open(path, "rb") as f:
            return f.read(ADDRESS_FILE_BYTES_MAX)
    except OSError as error:
        raise _nowhere(path, str(error.strerror)) from error


def _remote(uri: str, read: Optional[ReadFile]) -> bytes:
    from ._webhdfs import read_file
    try:
        return (read or read_file)(uri, ADDRESS_FILE_BYTES_MAX)
    except (NotFoundError, UnavailableError) as error:
        raise _nowhere(uri, " <- ".join((error.message,) + error.causes)) from error


class Connection:
    """Connection that any number of threads may use. The first call makes a channel. After a call
    that reached no coordinator, the next call looks up the address and reads the certificates
    again."""

    def __init__(self, where: str, security: Security, limits: Limits,
                 read: Optional[ReadFile] = None) -> None:
        self.where, self.security, self.limits, self._read = where, security, limits, read
        if not where.startswith(("file:", YARN_COORDINATOR) + _ON_HDFS):
            parse_address(where)
        self._lock = threading.Lock()  # guards the members below
        self._channel: Optional[Any] = None
        self._address = ""
        self._checked, self._stale = False, False

    def find(self) -> str:
        """Finds the address, see find_coordinator."""
        return find_coordinator(self.where, self._read)

    def close(self) -> None:
        with self._lock:
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stub(self) -> Tuple[Any, str]:
        with self._lock:
            if self._channel is None or self._stale:
                self._renew()
            make_stub: Any = api_pb2_grpc.EspalierStub
            return make_stub(self._channel), self._address

    def _renew(self) -> None:
        """Makes a channel for the current address. Running calls keep the previous one. REQUIRES
        the lock."""
        address = self.find()
        host, port = parse_address(address)
        if self.security.encrypted and not port:
            raise InvalidArgumentError("the coordinator at %s is a Unix socket, which takes no "
                                       "certificates and tokens" % address)
        if self.security.encrypted and not self._checked:
            why = explain(host, port, self.security, self.limits.connect)
            if why is not None:
                raise why
            self._checked = True
        if self._channel is None or address != self._address or self.security.encrypted:
            self._channel, self._address = self._make_channel(address), address
        self._stale = False

    def _make_channel(self, address: str) -> Any:
        options = list(_OPTIONS)
        if not self.security.encrypted:
            return grpc.insecure_channel(address, options)
        if self.security.server_name:
            options.append(("grpc.ssl_target_name_override", self.security.server_name))
        ca, cert, key = self.security.read()
        credentials = grpc.ssl_channel_credentials(ca, key, cert)
        return grpc.secure_channel(address, credentials, options)

    def _is_clear(self, address: str) -> bool:
        """Returns whether others on the network can read the data sent there."""
        return not self.security.encrypted and not is_loopback(parse_address(address)[0])

    def clear_address(self) -> str:
        """Returns the coordinator's address if others on the network can read the data sent to it;
        otherwise "". Raises as `find` does."""
        _, address = self._stub()
        return address if self._is_clear(address) else ""

    def _metadata(self) -> List[Tuple[str, str]]:
        out = [(VERSION_KEY, __version__)]
        if self.security.token:
            out.append(("authorization", "Bearer " + self.security.token))
        return out

    def call(self, method: str, request: Any, timeout: Optional[float] = None,
             secret: str = "") -> Any:
        """Makes one call and returns its answer. `secret`: the part of it that must not travel in
        the clear.

        Raises:
            EspalierError: the coordinator's own error, complete. UnavailableError,
                PermissionDeniedError and FailedPreconditionError if the connection fails, and
                DeadlineExceededError. The attribute `answered` is True if the error is from the
                coordinator.
        """
        timeout = self.limits.call if timeout is None else timeout
        stub, address = self._stub()
        if secret and self._is_clear(address):
            raise FailedPreconditionError(
                "%s would travel unencrypted to the coordinator at %s" % (secret, address),
                hint="Use TLS (ca=, cert=, key=), or submit without a Kerberos ticket when the "
                     "daemons have a keytab.")
        try:
            return getattr(stub, method)(request, timeout=timeout, metadata=self._metadata())
        except grpc.RpcError as error:
            raise self.translate(error, address, timeout) from None
        except ValueError as error:
            raise _closed(error) from None

    def stream(self, method: str, request: Any, timeout: Optional[float]) -> Iterator[Any]:
        """Makes one streamed call. Closing the iterator ends it. Raises as `call` does."""
        stub, address = self._stub()
        try:
            stream = getattr(stub, method)(request, timeout=timeout, metadata=self._metadata())
        except ValueError as error:
            raise _closed(error) from None
        try:
            yield from stream
        except grpc.RpcError as error:
            raise self.translate(error, address, timeout) from None
        finally:
            stream.cancel()

    def translate(self, error: Any, address: str, timeout: Optional[float]) -> EspalierError:
        """Returns the error that a failed call means."""
        for key, value in error.trailing_metadata() or ():
            if key == ERROR_KEY:
                return _answered(value)
        code, details = error.code(), clean(error.details() or "no message")
        who = "coordinator at " + address
        if code == grpc.StatusCode.UNAVAILABLE:
            with self._lock:
                self._stale = True
            host, port = parse_address(address)
            found = explain(host, port, self.security, self.limits.connect) if port else None
            why = found or UnavailableError(
                # gRPC's last words: "failed to connect to all addresses; last error: UNKNOWN:
                # unix:/x: Failed to connect to remote host: Connection refused"
                "%s cannot be reached: %s" % (who, details.rpartition(": ")[2]),
                hint="Is espalier-coordinator running there?")
            why.never_sent = any(words in details for words in _NO_CONNECTION)
            return why
        if code == grpc.StatusCode.DEADLINE_EXCEEDED:
            return DeadlineExceededError("%s did not answer within %g s" % (who, timeout or 0))
        if code == grpc.StatusCode.UNAUTHENTICATED:
            return make_error("PERMISSION_DENIED", "%s: the call was refused: %s" % (who, details))
        return make_error(code.name, "%s failed the call: %s" % (who, details))


def _closed(error: ValueError) -> EspalierError:
    """Returns the error for a channel that another thread has closed."""
    if "closed" not in str(error):
        raise error
    return make_error("CANCELLED", "the client was closed")


def _answered(raw: bytes) -> EspalierError:
    detail = types_pb2.ErrorDetail()
    try:
        detail.ParseFromString(raw)
    except Exception:  # protobuf's DecodeError has a different module in each version
        return make_error("INTERNAL", "the coordinator sent an error that cannot be read")
    error = error_of(detail)
    error.answered = True
    return error
