"""Errors as exceptions.

Each contains the complete error of the cluster: a code, the message, its causes, the place in the
input if there is one, and a hint on what to do. ``str(error)`` shows all of it. Each code has one
class, so that ``except espalier.NotFoundError`` catches exactly that code. All are subclasses of
:class:`EspalierError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Optional, Sequence, Tuple, Type

from ._facts import ERROR_CODES

__all__ = [
    "AbortedError", "AlreadyExistsError", "BadInputError", "CancelledError", "DataLossError",
    "DeadlineExceededError", "EspalierError", "FailedPreconditionError", "InputPosition",
    "InternalError", "InvalidArgumentError", "JobCancelledError", "JobError", "JobFailedError",
    "NotFoundError", "PermissionDeniedError", "ResourceExhaustedError", "UnavailableError",
    "UnimplementedError", "make_error",
]


@dataclass(frozen=True)
class InputPosition:
    """Position of an error in an input file. Unknown parts are None or empty.

    Attributes:
        file: the path.
        row: 1-based line where the record starts, the header and empty lines counted.
        column: the header's name, or the 0-based position in decimal.
        offset: bytes from the start of the (decompressed) file.
        text: the text found there, at most 80 bytes.
    """

    file: str = ""
    row: Optional[int] = None
    column: str = ""
    offset: Optional[int] = None
    text: str = ""

    def __str__(self) -> str:
        parts = [self.file] if self.file else []
        if self.row is not None:
            parts.append("row %d" % self.row)
        if self.column:
            parts.append("column '%s'" % self.column)
        if self.offset is not None:
            parts.append("byte %d" % self.offset)
        if self.text:
            parts.append("found '%s'" % self.text)
        return ", ".join(parts)


class EspalierError(Exception):
    """An error of the cluster or of this client.

    Attributes:
        code: the name of the error's code as in ``ErrorCode`` of proto/espalier/v1/types.proto,
            for example ``"NOT_FOUND"``.
        message: the outermost message.
        causes: the causes, each caused by the next one.
        position: the place in the input, or None.
        hint: what to do, or "" if the message says it.
    """

    code = "INTERNAL"
    answered = False  # whether it is from the coordinator, not from the connection to it
    never_sent = False  # whether the failed call reached no coordinator

    def __init__(self, message: str, *, causes: Sequence[str] = (),
                 position: Optional[InputPosition] = None, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.causes: Tuple[str, ...] = tuple(causes)
        self.position = position
        self.hint = hint

    def __str__(self) -> str:
        text = " <- ".join((self.message,) + self.causes)
        if self.position is not None and str(self.position):
            text += " (%s)" % self.position
        return text + ("\n" + self.hint if self.hint else "")


class InvalidArgumentError(EspalierError, ValueError):
    """The job file, or an argument of a call, is wrong. Nothing was started."""

    code = "INVALID_ARGUMENT"


class NotFoundError(EspalierError, LookupError):
    """A file, a job or a worker does not exist."""

    code = "NOT_FOUND"


class AlreadyExistsError(EspalierError):
    """An output already exists."""

    code = "ALREADY_EXISTS"


class PermissionDeniedError(EspalierError):
    """Either side rejects a certificate, a token, a role or a file's mode."""

    code = "PERMISSION_DENIED"


class BadInputError(EspalierError, ValueError):
    """The content of a data file, or of a bundle, is wrong."""

    code = "BAD_INPUT"


class DataLossError(EspalierError):
    """A checksum differs, or a file is truncated."""

    code = "DATA_LOSS"


class ResourceExhaustedError(EspalierError):
    """Memory, disk, the size of a message or the queue is not sufficient."""

    code = "RESOURCE_EXHAUSTED"


class UnavailableError(EspalierError, ConnectionError):
    """A coordinator, or storage, is unreachable now."""

    code = "UNAVAILABLE"


class DeadlineExceededError(EspalierError, TimeoutError):
    """A wait ended without its event."""

    code = "DEADLINE_EXCEEDED"


class FailedPreconditionError(EspalierError):
    """Versions differ, the job has ended, or only one side uses TLS."""

    code = "FAILED_PRECONDITION"


class CancelledError(EspalierError):
    """A person or a shutdown requested the end."""

    code = "CANCELLED"


class AbortedError(EspalierError):
    """The operation's context is gone. For a submission: storage that the job names is unreachable
    now, and you can try again."""

    code = "ABORTED"


class UnimplementedError(EspalierError, NotImplementedError):
    """This version does not have the feature."""

    code = "UNIMPLEMENTED"


class InternalError(EspalierError):
    """Espalier itself has a bug."""

    code = "INTERNAL"


class JobError(EspalierError):
    """A job ended without a model.

    Attributes:
        job: its id ("job-3").
        error: the job's own error, one of the classes above. ``code``, ``causes`` and ``position``
            are copied from it.
    """

    def __init__(self, job: str, error: EspalierError, words: str) -> None:
        super().__init__("%s %s" % (job, words), causes=(error.message,) + error.causes,
                         position=error.position, hint=error.hint)
        self.job = job
        self.error = error
        self.code = error.code


class JobFailedError(JobError):
    """The job failed."""

    def __init__(self, job: str, error: EspalierError) -> None:
        super().__init__(job, error, "failed")


class JobCancelledError(JobError):
    """The job was cancelled. Its causes say by whom."""

    def __init__(self, job: str, error: EspalierError) -> None:
        super().__init__(job, error, "was cancelled")


_KINDS: Dict[str, Type[EspalierError]] = {
    kind.code: kind for kind in (
        InvalidArgumentError, NotFoundError, AlreadyExistsError, PermissionDeniedError,
        BadInputError, DataLossError, ResourceExhaustedError, UnavailableError,
        DeadlineExceededError, FailedPreconditionError, CancelledError, AbortedError,
        UnimplementedError, InternalError)
}
_CLASSES = {code: _KINDS[code] for code in ERROR_CODES}

_HINTS = {
    "PERMISSION_DENIED": "An admin cancels every job and drains workers, an operator submits and "
                         "cancels its own jobs, and a reader only reads. Give cert= and key=, or "
                         "token=, as your identity, and ca=, the authority of the cluster's "
                         "certificates.",
    "UNAVAILABLE": "Try again when the coordinator or the storage named above is back.",
    "RESOURCE_EXHAUSTED": "Try again when the cluster is less busy, or ask for less.",
    "INTERNAL": "This is a bug of Espalier. Report it with this message and the log.",
}


def make_error(code: str, message: str, *, causes: Sequence[str] = (),
               position: Optional[InputPosition] = None, hint: Optional[str] = None
               ) -> EspalierError:
    """Returns the exception for a code. An unknown code becomes an :class:`InternalError`.

    Args:
        hint: None: the usual hint of that code, if there is one.
    """
    kind = _CLASSES.get(code, InternalError)
    return kind(message, causes=causes, position=position,
                hint=_HINTS.get(kind.code, "") if hint is None else hint)
