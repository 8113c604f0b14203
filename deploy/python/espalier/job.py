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
        """Returns the job as it is now.

        Raises:
            NotFoundError: the coordinator does not know it (any more).
        """
        return job_of(self._get().snapshot)

    def watch(self, *, timeout: Optional[float] = None,
              progress: Optional[bool] = None) -> Iterator[Event]:
        """Yields the job's events, until it has ended: each state and evaluation once, the earlier
        ones first.

        An outage of the coordinator does not end the watch. A :class:`CoordinatorAway` event
        reports it, and the watch continues when the coordinator is back.

        Args:
            timeout: maximum time to watch, in seconds; None: without limit.
            progress: whether to show the job's progress during the watch: a line that moves in a
                terminal (standard error), a table and a plot of the loss in a notebook, plain lines
                elsewhere. None: in terminals and notebooks only.

        Yields:
            StateChanged, Progress, Evaluation, CoordinatorAway, and at last Ended. Leaving the loop
            detaches, and the job continues.

        Raises:
            NotFoundError: the job does not exist.
            DeadlineExceededError: `timeout` has passed.
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
            timeout, progress: see :meth:`watch`.

        Returns:
            Metrics, the bundle's path and the weights' name. ``result.load()`` returns the model.

        Raises:
            JobFailedError, JobCancelledError: the job ended without a model. The error says why.
            EspalierError: see :meth:`watch`.
        """
        for event in self.watch(timeout=timeout, progress=progress):
            if isinstance(event, Ended):
                return outcome(event.job)
        raise InternalError("%s ended without a last event" % self.id)

    def cancel(self, keep: bool = False) -> None:
        """Ends the job. Its output stays empty.

        Args:
            keep: saves the weights of a job that has had an evaluation. The job ends after its next
                step, with the best weights so far if early stopping restores them.

        Raises:
            NotFoundError: the job does not exist.
            PermissionDeniedError: it belongs to another person. The message contains the name.
            FailedPreconditionError: it has ended already.
        """
        self._connection.call("Cancel", api_pb2.CancelRequest(job=self._number, keep=keep))

    def evaluations(self) -> List[Evaluation]:
        """Returns the evaluations so far, the first one first."""
        return [evaluation_of(self._number, row) for row in self._get().history]

    def history(self) -> pandas.DataFrame:
        """Returns the evaluations so far as a pandas frame, one row each. It has the columns of the
        bundle's history.csv: epoch, step, learning_rate, then metrics of the training rows ("loss",
        "accuracy", ...) and of the validation rows ("val_loss", ...).

        Raises:
            ImportError: pandas is not installed. :meth:`evaluations` does not need it.
        """
        return history_frame(self.evaluations())


def outcome(job: JobInfo) -> JobResult:
    """Returns the result of a job that has ended, or raises its error."""
    if job.state == "SUCCEEDED" and job.result is not None:
        return job.result
    error = job.error or InternalError("its coordinator does not say why")
    if job.state == "CANCELLED":
        raise JobCancelledError(job.id, error)
    raise JobFailedError(job.id, error) from (None if isinstance(error, CancelledError) else error)
