"""Follows a job through streams that may break, and yields each state, evaluation and progress
once."""

from __future__ import annotations

import time
from typing import Any, Iterator, Optional

from ._connection import Connection
from ._convert import evaluation_of, job_of
from ._facts import WATCH_AGAIN_PAUSE_MS
from ._proto import api_pb2
from .errors import (AbortedError, DeadlineExceededError, InternalError, NotFoundError,
                     ResourceExhaustedError, UnavailableError)
from .types import CoordinatorAway, Ended, Event, JobInfo, StateChanged


class Follower:
    """Follows one job. Each stream begins with the whole history. The follower skips what it has
    already reported."""

    def __init__(self, connection: Connection, job: int, submitted_here: bool) -> None:
        self.connection, self.number = connection, job
        self.submitted_here = submitted_here
        self.rows_told = 0
        self.last: Optional[JobInfo] = None

    def events(self, timeout: Optional[float]) -> Iterator[Event]:
        """Yields events until the job has ended. The errors are those of Job.watch."""
        until = None if timeout is None else time.monotonic() + timeout
        away_since: Optional[float] = None
        while True:
            try:
                for event in self._stream(until):
                    away_since = None
                    yield event
                if self.last is None or not self.last.state.final:
                    raise InternalError("the coordinator ended the stream before the job was over")
                yield Ended(self.last)
                return
            except NotFoundError as error:
                if self.last is None and not self.submitted_here:
                    raise
                raise AbortedError("job-%d was lost: the coordinator was restarted and keeps no "
                                   "jobs" % self.number) from error
            except ResourceExhaustedError:
                # The coordinator drops a client that reads too slowly, and the client connects
                # again.
                if self.last is None:
                    raise
                time.sleep(WATCH_AGAIN_PAUSE_MS / 1000)
            except (UnavailableError, DeadlineExceededError) as error:
                now = time.monotonic()
                if until is not None and now >= until:
                    raise DeadlineExceededError(
                        "job-%d was not over within %g s" % (self.number, timeout or 0),
                        hint="It continues. You can call watch() and result() again.") from error
                if self.last is None or self.last.state.final:
                    raise
                if away_since is None:
                    away_since = now
                    yield CoordinatorAway(self.last.id, 0.0)
                if now - away_since > self.connection.limits.away:
                    raise UnavailableError(
                        "the coordinator has been unreachable for %.0f s" % (now - away_since),
                        causes=(error.message,),
                        hint="job-%d may still run. Call watch() again when the coordinator is "
                             "back." % self.number) from error
                time.sleep(WATCH_AGAIN_PAUSE_MS / 1000)

    def _stream(self, until: Optional[float]) -> Iterator[Event]:
        timeout = None if until is None else max(0.0, until - time.monotonic())
        rows = 0
        for update in self.connection.stream("Watch", api_pb2.WatchRequest(job=self.number),
                                             timeout):
            yield from self._tell(update, rows)
            rows += len(update.history)
            self.rows_told = max(self.rows_told, rows)

    def _tell(self, update: Any, rows_before: int) -> Iterator[Event]:
        job = job_of(update.snapshot)
        last, self.last = self.last, job
        # A coordinator without saved state numbers its jobs from the start again.
        if last is not None and last.submitted != job.submitted:
            self.last = last
            raise NotFoundError("%s is another job by now" % job.id)
        if last is None or _state(last) != _state(job):
            yield StateChanged(job)
        for row in list(update.history)[max(0, self.rows_told - rows_before):]:
            yield evaluation_of(update.snapshot.job, row)
        if job.progress is not None and not job.state.final and job.state != "QUEUED" and (
                last is None or last.progress != job.progress):
            yield job.progress


def _state(job: JobInfo) -> Any:
    return job.state, job.waiting_because, job.workers, job.generation, job.trouble
