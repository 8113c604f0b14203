"""The delegation tokens that a job takes along: one for each secured file system it names, got with
the Kerberos identity of the person who submits it. The rules are those of src/cli/job_tokens.cc."""

from __future__ import annotations

from typing import Callable, Iterable, List, NamedTuple, Tuple

from ._hadoop_conf import prefix_of
from ._kerberos import own_principal
from ._webhdfs import fetch_token, is_secured
from .errors import FailedPreconditionError, PermissionDeniedError


class JobTokens(NamedTuple):
    tokens: List[Tuple[str, str]]  # what paths begin with, "hdfs://ns"; the token: SECRET
    notes: List[str]  # for the person: what was not done, and what follows


def fetch_job_tokens(paths: Iterable[str], renewer: Callable[[], str]) -> JobTokens:
    """`renewer` asks the coordinator for its principal; it is asked only when there is a ticket.
    Without a ticket, Kerberos' library, or a coordinator's principal, that is a note: the daemons
    may have identities of their own. Raises: the file system, or Kerberos, fails otherwise."""
    job = JobTokens([], [])
    principal = ""
    for file_system in sorted({prefix_of(path) for path in paths} - {""}):
        if not is_secured(file_system):
            continue
        if not principal:
            try:
                own = own_principal()
            except (PermissionDeniedError, FailedPreconditionError) as error:
                job.notes.append("no delegation token of %s goes with the job, so that the daemons "
                                 "must have a keytab of their own: %s" %
                                 (file_system, " ".join(str(error).split("\n"))))
                return job
            try:
                principal = renewer()
            except FailedPreconditionError as error:
                job.notes.append("the job's delegation tokens cannot be renewed, and end after a "
                                 "day unless HDFS is configured otherwise: " + error.message)
                principal = own
        job.tokens.append((file_system, fetch_token(file_system, principal)))
    return job
