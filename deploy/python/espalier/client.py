"""A cluster to submit jobs to."""

from __future__ import annotations

import os
import secrets
import sys
import time
from typing import Any, List, Mapping, Optional, Union

from ._connection import Connection, Limits, ReadFile
from ._convert import job_of, worker_of
from ._facts import (ASK_AGAIN_PAUSE_MS, DEFAULT_COORDINATOR, SUBMIT_AGAIN_MS, YARN_COORDINATOR)
from ._facts import VERSION as __version__
from ._job_tokens import Delegate, Renewer, fetch_job_tokens
from ._jobtext import JobSource, dump, job_text, paths_of
from ._proto import api_pb2
from ._security import Security, make_security
from ._yarn import kept_of
from .errors import (AbortedError, CancelledError, DeadlineExceededError, EspalierError,
                     FailedPreconditionError, InternalError, InvalidArgumentError, NotFoundError,
                     ResourceExhaustedError, UnavailableError)
from .job import Job
from .types import JobInfo, WorkerInfo

__all__ = ["Client", "connect"]

_NO_JOB = (1 << 64) - 1

PathLike = Union[str, "os.PathLike[str]"]


def connect(address: Optional[str] = None, *, ca: Optional[PathLike] = None,
            cert: Optional[PathLike] = None, key: Optional[PathLike] = None,
            token: Optional[str] = None, token_file: Optional[PathLike] = None,
            server_name: Optional[str] = None, timeout: Optional[float] = None,
            limits: Limits = Limits(), read: Optional[ReadFile] = None,
            delegate: Optional[Delegate] = None) -> Client:
    """Returns a client of the coordinator at `address`, after the coordinator has answered.

    Arguments that are None come from the environment, as for the command line:
    ``ESPALIER_COORDINATOR``, ``ESPALIER_TLS_CA``, ``ESPALIER_TLS_CERTIFICATE``,
    ``ESPALIER_TLS_KEY``, ``ESPALIER_TOKEN``, ``ESPALIER_TOKEN_FILE``, ``ESPALIER_TLS_SERVER_NAME``.

    Args:
        address: ``"host:port"``; ``"unix:/PATH"``; ``"file:PATH"`` or ``"hdfs://..."`` of a file
            that contains it; or ``"yarn:NAME"`` of a cluster that `espalier yarn up NAME` started
            on this machine. The latter uses the certificates kept here, unless others are given.
            Default: ``127.0.0.1:7700``.
        ca: PEM file of the authority of the cluster's certificates. With it, everything is
            encrypted. Without it, the connection is plain text.
        cert, key: PEM files of your certificate and its key (``chmod 600``, or 640).
        token: a token in place of a certificate; needs `ca`.
        token_file: a file that contains it (``chmod 600``, or 640).
        server_name: the host that the coordinator's certificate names, if it differs from that of
            `address`.
        timeout: time limit in seconds, in place of `limits`. It applies to attempts to reach the
            coordinator, now and if it becomes unreachable while a job is followed, and to the wait
            for an answer.
        limits: time limits for each kind of wait, in seconds.
        read: reads the file on HDFS that `address` names, given its URI and the maximum number of
            bytes. Default: over WebHDFS.
        delegate: gets the delegation tokens of jobs by an identity that is not this process's own,
            for example that of Spark's JVM. Its arguments are a file system ("hdfs://ns") and a
            function from that identity's principal to the one that renews the token. It returns
            the token's text, or None if it does not know of Kerberos there. It raises
            PermissionDeniedError if it has no token to give, so that your own ticket or keytab is
            used, and FailedPreconditionError if the job must go without any token, including yours.

    Raises:
        UnavailableError: no coordinator answers there.
        PermissionDeniedError: either side rejects a certificate, token or role.
        FailedPreconditionError: versions differ, or only one side uses TLS.
        InvalidArgumentError, NotFoundError: an argument, or a file that it names.
    """
    def given(value: Optional[PathLike], variable: str) -> str:
        return os.environ.get(variable, "") if value is None else os.fspath(value)
    where = given(address, "ESPALIER_COORDINATOR") or DEFAULT_COORDINATOR
    if where.startswith(YARN_COORDINATOR) and (ca, cert, key, server_name) == (None,) * 4:
        security = _security_of_yarn(where, token, token_file)
    else:
        own_token = given(token, "ESPALIER_TOKEN")
        if token is None and token_file is not None:
            own_token = ""
        security = make_security(
            given(ca, "ESPALIER_TLS_CA"), given(cert, "ESPALIER_TLS_CERTIFICATE"),
            given(key, "ESPALIER_TLS_KEY"), given(server_name, "ESPALIER_TLS_SERVER_NAME"),
            own_token, "" if token is not None else given(token_file, "ESPALIER_TOKEN_FILE"))
    client = Client(Connection(where, security,
                               limits if timeout is None else Limits.of(timeout), read), delegate)
    try:
        _reach(client, client._connection.limits.reach)
    except BaseException:
        client.close()
        raise
    return client


def _security_of_yarn(where: str, token: Optional[str],
                      token_file: Optional[PathLike]) -> Security:
    """Returns the settings kept for that cluster, and ignores the environment."""
    kept = kept_of(where)
    return make_security(kept.at("ca.crt"), kept.at("tls.crt"), kept.at("tls.key"), kept.service,
                         token or "", os.fspath(token_file or ""))


def _reach(client: Client, seconds: float) -> None:
    """Waits until the coordinator has answered, for at most `seconds`. It asks for a job that does
    not exist. The coordinator checks version and role as for any other call, and the answer is
    short."""
    began = time.monotonic()
    while True:
        try:
            client._connection.call("GetJob", api_pb2.GetJobRequest(job=_NO_JOB))
            return
        except NotFoundError as error:
            if error.answered:
                return
            raise
        except UnavailableError as error:
            tried = time.monotonic() - began
            if error.answered or tried >= seconds:
                raise error if seconds == 0 else UnavailableError(
                    "no coordinator was reached in %.1f s" % tried,
                    causes=(error.message,) + tuple(error.causes), hint=error.hint) from error
            time.sleep(ASK_AGAIN_PAUSE_MS / 1000)


class Client:
    """A connection to a coordinator, made by :func:`connect`. Safe from any thread, and a context
    manager that closes it. Each method raises an :class:`EspalierError` that says what to do."""

    def __init__(self, connection: Connection, delegate: Optional[Delegate] = None) -> None:
        self._connection, self._delegate = connection, delegate

    def close(self) -> None:
        """Ends the connection. Jobs continue."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<espalier.Client of %s>" % self._connection.where

    @property
    def address(self) -> str:
        """Address of the coordinator, "host:port". A file that contains it is read again."""
        return self._connection.find()

    def submit(self, job: JobSource) -> Job:
        """Queues a job.

        Args:
            job: the path of a job file, its YAML text (more than one line), or the same as a dict:
                ``{"data": {"train": "t.csv", "label": "y"}, "output": "model"}``. A column given
                as text is a name, also ``"08"``, and a column given as a number is a position.
                ``"1..3"`` is a range of positions, as in a job file. Relative local paths refer to
                the working directory, and the workers must see them, too. A job that scores is
                ``{"predict": {"model": "model", "data": "new.csv"}, "output": "scored"}`` or
                ``{"evaluate": {"model": .., "data": ..}}``. Its result is ``result().scoring``, and
                for an evaluation also ``result().test``, whose "output" is a page with charts.

        For each file system secured by Kerberos that the job names, the client fetches a delegation
        token with your ticket (``kinit``) or keytab (``KRB5_CLIENT_KTNAME``) and sends it along.
        The job then reads and writes as you. Without a ticket or keytab, the daemons must have a
        keytab. Standard error says which applies.

        Returns:
            The job, which is waiting or running by now.

        Raises:
            InvalidArgumentError: the job is wrong. The message has line, column and the nearest
                known key.
            NotFoundError: an input is missing.
            AlreadyExistsError: the output exists. ``output: {path: .., overwrite: true}``
                replaces it.
            BadInputError: the first header does not fit.
            UnimplementedError: this version does not have a feature that the job needs.
            ResourceExhaustedError: the queue is full.
            AbortedError: storage that the job names is unreachable now. Try again.
            FailedPreconditionError: a delegation token would travel in the clear.

        A KeyboardInterrupt before the coordinator answers withdraws the submission.
        """
        text = job_text(job)
        request = api_pb2.SubmitRequest(
            version=__version__, client_request_id=secrets.token_hex(16),
            job_yaml=text.encode("utf-8", "surrogateescape"))
        job_tokens = fetch_job_tokens(paths_of(text), self._renewer,
                                      self._delegated if self._delegate else None)
        for note in job_tokens.notes:
            print("note: " + note, file=sys.stderr)
        for file_system, token in job_tokens.tokens:
            request.tokens.add(file_system=file_system.encode("utf-8", "surrogateescape"),
                               text=token.encode("ascii"))
        return Job(self._connection, self._submit_once(request), submitted_here=True)

    def _check(self, job: Mapping[str, Any]) -> None:
        """Raises InvalidArgumentError if the coordinator rejects a training job because of its
        content, without a look at its files. The request has a relative path of rows, so that the
        coordinator reads and starts nothing."""
        relative = dict(job, data=dict(job["data"], train="rows"))
        try:
            self._connection.call("Submit", api_pb2.SubmitRequest(
                version=__version__, client_request_id=secrets.token_hex(16),
                job_yaml=dump(relative).encode("utf-8", "surrogateescape")))
        except InvalidArgumentError as error:
            if not error.message.startswith("data.train: found the relative path"):
                raise
        except (AbortedError, ResourceExhaustedError):
            pass  # the coordinator is busy, and the submission of the job will say more
        else:
            raise InternalError("the coordinator accepted a job with a relative path")

    def job(self, job: Union[str, int]) -> Job:
        """Returns a job that was submitted before, by its id ("job-3", or 3).

        Raises:
            NotFoundError: the job does not exist.
        """
        found = Job(self._connection, job_number(job))
        found.info()
        return found

    def jobs(self) -> List[JobInfo]:
        """Returns all jobs that the coordinator remembers, the newest last."""
        answer = self._connection.call("ListJobs", api_pb2.ListJobsRequest())
        return [job_of(snapshot) for snapshot in answer.jobs]

    def workers(self) -> List[WorkerInfo]:
        """Returns the workers that are attached."""
        answer = self._connection.call("ListWorkers", api_pb2.ListWorkersRequest())
        return [worker_of(snapshot) for snapshot in answer.workers]

    def cancel(self, job: Union[str, int], keep: bool = False) -> None:
        """Ends a job; see :meth:`Job.cancel`."""
        Job(self._connection, job_number(job)).cancel(keep)

    def drain(self, worker: str) -> None:
        """Drains a worker: its share of a job moves to the others, then it ends.

        Args:
            worker: its name or id, as in :meth:`workers`.

        Raises:
            NotFoundError: no worker with this name or id is attached.
            PermissionDeniedError: on a cluster with certificates, only an admin drains workers.
            FailedPreconditionError: its job cannot continue without it now. It leaves as soon as
                that changes.
        """
        for w in self.workers():
            if worker in (w.name, w.id):
                number = int(w.id[len("worker-"):])
                self._connection.call("Drain", api_pb2.DrainRequest(worker=number))
                return
        raise NotFoundError("no worker '%s' is attached now" % worker,
                            hint="client.workers() shows the names and ids of those that are.")

    def _renewer(self) -> str:
        """Returns the coordinator's own principal, which renews a job's tokens."""
        return str(self._connection.call("Renewer", api_pb2.RenewerRequest(),
                                         self._connection.limits.submit).principal)

    def _delegated(self, file_system: str, renewer: Renewer) -> Optional[str]:
        """Gets a token from the delegate, but not if the token may not be sent. People without a
        ticket here need that identity."""
        assert self._delegate is not None

        def if_private(own: str) -> str:
            address = self._connection.clear_address()
            if address:
                raise FailedPreconditionError(
                    "it would travel unencrypted to the coordinator at %s. Use TLS"
                    % address)
            return renewer(own)
        return self._delegate(file_system, if_private)

    def _submit_once(self, request: Any) -> int:
        """Returns the job's number. If a submission's answer does not arrive, the client repeats it
        with the same id, which is the same job, or withdraws it."""
        try:
            return self._submit_until_heard(request)
        except KeyboardInterrupt:
            self._give_up(request, CancelledError("interrupted"))
            raise

    def _submit_until_heard(self, request: Any) -> int:
        until: Optional[float] = None
        secret = "" if not request.tokens else (
            "a delegation token of " + request.tokens[0].file_system.decode("utf-8", "replace"))
        while True:
            try:
                return int(self._connection.call("Submit", request,
                                                 self._connection.limits.submit, secret).job)
            except UnavailableError as error:
                if until is None and (error.answered or error.never_sent):
                    raise
                if until is None:
                    print("the connection to the coordinator ended before it answered; "
                          "asking again", file=sys.stderr)
                    until = time.monotonic() + SUBMIT_AGAIN_MS / 1000
                if time.monotonic() > until:
                    raise self._give_up(request, error) from None
                time.sleep(ASK_AGAIN_PAUSE_MS / 1000)
            except DeadlineExceededError as error:
                raise error if error.answered else self._give_up(request, error) from None

    def _give_up(self, request: Any, why: EspalierError) -> EspalierError:
        """Withdraws the submission, so that it has no effect later."""
        try:
            self._connection.call(
                "Withdraw", api_pb2.WithdrawRequest(client_request_id=request.client_request_id),
                self._connection.limits.withdraw)
            hint = "The submission is withdrawn."
        except FailedPreconditionError as ended:
            hint = ended.message
        except EspalierError:
            hint = "Whether the job was accepted is not known; client.jobs() shows it."
        return type(why)(why.message, causes=why.causes, hint=hint)


def job_number(job: Union[str, int]) -> int:
    """Returns 3 for 3, "3" or "job-3"."""
    text = str(job)
    digits = text[len("job-"):] if text.startswith("job-") else text
    if isinstance(job, bool) or not digits.isascii() or not digits.isdigit() or \
            not 0 < int(digits) < 1 << 64:
        raise InvalidArgumentError("job: found '%s', expected an id such as \"job-3\"" %
                                   text[:80])
    return int(digits)
