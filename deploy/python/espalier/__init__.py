"""Espalier's Python client: submits training jobs, follows them, and uses the models.

>>> import espalier
>>> with espalier.connect("head:7700") as cluster:
...     job = cluster.submit("job.yaml")
...     result = job.result()          # a progress bar in terminals and notebooks
>>> model = result.load()              # NumPy only; includes the fitted preprocessing
>>> model.predict(frame)               # NumPy arrays, pandas frames, Arrow tables

``espalier.train("job.yaml", workers=2)`` needs no cluster. A model alone (:func:`load`) needs only
NumPy. Only the modules that communicate with a cluster import gRPC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._facts import VERSION as __version__
from .errors import (AbortedError, AlreadyExistsError, BadInputError, CancelledError, DataLossError,
                     DeadlineExceededError, EspalierError, FailedPreconditionError, InputPosition,
                     InternalError, InvalidArgumentError, JobCancelledError, JobError,
                     JobFailedError, NotFoundError, PermissionDeniedError, ResourceExhaustedError,
                     UnavailableError, UnimplementedError)
from .local import train
from .model import Model, load
from .types import (AsyncCounts, ChosenThreshold, ClassMetrics, CoordinatorAway, Ended, Evaluation,
                    Event, JobInfo, JobKind, JobResult, JobState, Metrics, PredictionIntervals,
                    Progress, Scoring, StateChanged, TargetMetrics, Timing, WorkerInfo)

if TYPE_CHECKING:
    from ._connection import Limits
    from .client import Client, connect
    from .job import Job

__all__ = [
    "AbortedError", "AlreadyExistsError", "AsyncCounts", "BadInputError", "CancelledError",
    "ChosenThreshold", "ClassMetrics", "Client", "CoordinatorAway", "DataLossError",
    "DeadlineExceededError", "Ended", "EspalierError", "Evaluation", "Event",
    "FailedPreconditionError", "InputPosition", "InternalError", "InvalidArgumentError", "Job",
    "JobCancelledError", "JobError", "JobFailedError", "JobInfo", "JobKind", "JobResult",
    "JobState", "Limits", "Metrics", "Model", "NotFoundError", "PermissionDeniedError",
    "PredictionIntervals", "Progress", "ResourceExhaustedError", "Scoring", "StateChanged",
    "TargetMetrics", "Timing", "UnavailableError", "UnimplementedError", "WorkerInfo",
    "__version__", "connect", "load", "train",
]

_OF_A_CLUSTER = {"Client": "client", "connect": "client", "Job": "job", "Limits": "_connection"}


def __getattr__(name: str) -> Any:
    if name not in _OF_A_CLUSTER:
        raise AttributeError("module 'espalier' has no attribute '%s'" % name)
    from importlib import import_module
    value = getattr(import_module("." + _OF_A_CLUSTER[name], __name__), name)
    globals()[name] = value
    return value
