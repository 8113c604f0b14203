"""One job of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, List, Optional

from ._connection import Connection
from ._convert import evaluation_of, job_id, job_of
from ._follow import Follower
from ._proto import api_pb2
from .errors import CancelledError, InternalError, JobCancelledError, JobFailedError
from .history import history_frame
from .progress import view_for
from .types import Ended, Evaluation, Event, JobInfo, JobResult

if TYPE_CHECKING:
    import pandas

__all__ = ["Job"]


class Job:
    """A job, from :meth:`Client.submit` or :meth:`Client.job`.

    Attributes:
        id: "job-3".
    """

    def __init__(self, connection: Connection, number: int, submitted_here: bool = False) -> None:
        self._connection, self._number = connection, number
        self._submitted_here = submitted_here
        self.id = job_id(number)

    def __repr__(self) -> str:
        return "<espalier.Job %s at %s>" % (self.id, self._connection.where)

    def _get(self) -> Any:
        return self._connection.call("GetJob", api_pb2.GetJobRequest(job=self._number))

    def info(self) -> JobInfo:
        """The job as it is now.

        Raises:
            NotFoundError: the coordinator does not know it (any more).
        """
        return job_of(self._get().snapshot)

    def watch(self, *, timeout: Optional[float] = None,
              progress: Optional[bool] = None) -> Iterator[Event]:
        """The job's events, until it has ended; each state and evaluation once, the earlier ones
        first.

        An outage of the coordinator is bridged: a :class:`CoordinatorAway` event tells of it, and
        the job is watched again when the coordinator is back.

        Args:
            timeout: seconds to watch at most; None: without limit.
            progress: whether the job's progress is shown while it is watched: a line that moves in
                a terminal (standard error), a table and a plot of the loss in a notebook, plain
                lines elsewhere. None: in terminals and notebooks only.

        Yields:
            StateChanged, Progress, Evaluation, CoordinatorAway, and at last Ended. Leaving the
            loop detaches; the job goes on.

        Raises:
            NotFoundError: there is no such job.
            DeadlineExceededError: `timeout` is over.
            UnavailableError: the coordinator has been unreachable for too long (``Limits.away``).
            AbortedError: a coordinator that keeps no jobs was restarted.
        """
        view = view_for(progress)
        follower = Follower(self._connection, self._number, self._submitted_here)
        try:
            for event in follower.events(timeout):
                view.show(event)
                yield event
        finally:
            view.close()

    def result(self, *, timeout: Optional[float] = None,
               progress: Optional[bool] = None) -> JobResult:
        """Waits for the job's end.

        Args:
            timeout, progress: as of :meth:`watch`.

        Returns:
            Metrics, the bundle's path and the weights' name; ``result.load()`` is the model.

        Raises:
            JobFailedError, JobCancelledError: it ended without a model, and why.
            EspalierError: as of :meth:`watch`.
        """
        for event in self.watch(timeout=timeout, progress=progress):
            if isinstance(event, Ended):
                return outcome(event.job)
        raise InternalError("%s ended without a last event" % self.id)

    def cancel(self, keep: bool = False) -> None:
        """Ends the job; nothing is left at its output.

        Args:
            keep: save the weights of a job that has had an evaluation: it ends after its next
                step, with the best weights so far if early stopping restores them.

        Raises:
            NotFoundError: there is no such job.
            PermissionDeniedError: it belongs to another person, who is named.
            FailedPreconditionError: it has ended already.
        """
        self._connection.call("Cancel", api_pb2.CancelRequest(job=self._number, keep=keep))

    def evaluations(self) -> List[Evaluation]:
        """The evaluations so far, the first one first."""
        return [evaluation_of(self._number, row) for row in self._get().history]

    def history(self) -> pandas.DataFrame:
        """The evaluations so far as a pandas frame, one row each, with the columns of the
        bundle's history.csv: epoch, step, learning_rate, then metrics of the training rows
        ("loss", "accuracy", ...) and of the validation rows ("val_loss", ...).

        Raises:
            ImportError: pandas is not installed; :meth:`evaluations` needs none.
        """
        return history_frame(self.evaluations())


def outcome(job: JobInfo) -> JobResult:
    """The result of a job that is over; raises why there is none."""
    if job.state == "SUCCEEDED" and job.result is not None:
        return job.result
    error = job.error or InternalError("its coordinator does not say why")
    if job.state == "CANCELLED":
        raise JobCancelledError(job.id, error)
    raise JobFailedError(job.id, error) from (None if isinstance(error, CancelledError) else error)
