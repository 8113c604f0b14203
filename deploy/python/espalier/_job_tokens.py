"""Gets the delegation tokens for a job: one for each secured file system that the job names, with
the Kerberos identity of the submitter. The rules are those of src/cli/job_tokens.cc."""

from __future__ import annotations

from typing import Callable, Iterable, List, NamedTuple, Optional, Tuple

from ._hadoop_conf import prefix_of
from ._kerberos import own_principal
from ._webhdfs import fetch_token, is_secured
from .errors import EspalierError, FailedPreconditionError, PermissionDeniedError

# Given the submitter's principal, returns the principal that may renew a token.
Renewer = Callable[[str], str]
# Returns a file system's token ("hdfs://ns") of an identity other than this process's own. That
# identity has priority. None: it does not know of Kerberos there. Raises PermissionDeniedError if
# it has no token to give, so that this process uses its own identity. Raises
# FailedPreconditionError if the job must go without any token, including this process's own.
Delegate = Callable[[str, Renewer], Optional[str]]


class JobTokens(NamedTuple):
    tokens: List[Tuple[str, str]]  # prefix of paths, "hdfs://ns"; the token: SECRET
    notes: List[str]  # for the user: what was not done, and the consequence


def fetch_job_tokens(paths: Iterable[str], renewer: Callable[[], str],
                     delegate: Optional[Delegate] = None) -> JobTokens:
    """Gets the tokens. `renewer` asks the coordinator for its principal, and is called only if
    there is a ticket. If the ticket, Kerberos' library, a coordinator's principal, or a way to that
    file system is missing, the result is a note. The daemons may have their own identities and
    ways. Raises an error if the file system or Kerberos fails otherwise."""
    job = JobTokens([], [])
    asked: List[str] = []

    def renewed_by(own: str) -> str:
        if not asked:
            try:
                asked.append(renewer())
            except FailedPreconditionError as error:
                job.notes.append("the job's delegation tokens cannot be renewed, and end after a "
                                 "day unless HDFS is configured otherwise: " + error.message)
                asked.append(own)
        return asked[0]

    own = ""
    unknown: Optional[EspalierError] = None  # the error of own_principal(), which is called once
    for file_system in sorted({prefix_of(path) for path in paths} - {""}):
        text: Optional[str] = None
        refused: Optional[EspalierError] = None
        try:
            text = delegate(file_system, renewed_by) if delegate else None
        except PermissionDeniedError as error:
            refused = error
        except FailedPreconditionError as error:
            job.notes.append(_without(file_system, error))
            continue
        try:
            secured = text is None and is_secured(file_system)
        except EspalierError as error:
            job.notes.append(_without(file_system, refused) if refused else
                             "no delegation token of %s goes with the job, as it is not known "
                             "whether it is secured by Kerberos: %s" % (file_system, _line(error)))
            continue
        if (secured or refused) and not own:
            try:
                own = "" if unknown else own_principal()
            except (PermissionDeniedError, FailedPreconditionError) as error:
                unknown = error
            if unknown:
                job.notes.append(_without(file_system, refused or unknown))
                if delegate is None:
                    break  # the other file systems do not get one either
                continue
        if secured:
            text = fetch_token(file_system, renewed_by(own))
        if text is not None:
            job.tokens.append((file_system, text))
    return job


def _without(file_system: str, why: EspalierError) -> str:
    return ("no delegation token of %s goes with the job, so the daemons must have a keytab: "
            "%s" % (file_system, _line(why)))


def _line(error: EspalierError) -> str:
    return " ".join(str(error).split("\n"))
