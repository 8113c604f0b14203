"""Values of the client: jobs, workers, metrics, and the events of a job.

All are immutable. Times of day are aware datetimes in UTC, durations are in seconds, sizes are in
bytes. A value that is unknown, or not reached yet, is None.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Mapping, Optional, Tuple, Union

from .errors import EspalierError

if TYPE_CHECKING:
    from .model import Model

__all__ = [
    "AsyncCounts", "ClassMetrics", "CoordinatorAway", "Ended", "Evaluation", "Event", "JobInfo",
    "JobResult", "JobState", "Metrics", "Progress", "StateChanged", "TargetMetrics", "Timing",
    "WorkerInfo",
]


class JobKind(str, enum.Enum):
    """Kind of a job; equal to its name ("PREDICT")."""

    TRAIN = "TRAIN"
    PREDICT = "PREDICT"
    EVALUATE = "EVALUATE"


class JobState(str, enum.Enum):
    """State of a job; equal to its name ("TRAINING")."""

    QUEUED = "QUEUED"
    PROFILING = "PROFILING"
    LOADING = "LOADING"
    TRAINING = "TRAINING"
    RECOVERING = "RECOVERING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def final(self) -> bool:
        """Whether the job has ended."""
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class ClassMetrics:
    """Metrics of one class of a classifier; 0 if the denominator is 0.

    Attributes:
        weight: true weight of the class (rows, if they have no weights).
    """

    precision: float
    recall: float
    f1: float
    weight: float


@dataclass(frozen=True)
class TargetMetrics:
    """Metrics of one target of a regression, in its units.

    Attributes:
        r2: NaN with fewer than two rows. For a target with one value, 1 for exact predictions, 0
            for others.
        coverage: share of the weight whose target is in the prediction interval; None: the model
            has no intervals.
    """

    name: str
    rmse: float
    mae: float
    r2: float
    coverage: Optional[float] = None


@dataclass(frozen=True)
class ChosenThreshold:
    """The threshold between two classes that ``train.threshold`` chose.

    Attributes:
        label: the positive class.
        metric: "accuracy", "f1", "recall", "precision" or "cost".
        threshold: threshold of the probability of this class, in (0, 1).
        value: the metric on the held-out rows; with ``cost`` the mean cost of a row.
        value_at_half: the same with a threshold of 0.5.
        reached: False: no threshold has the required precision or recall.
    """

    label: str
    metric: str
    threshold: float
    value: float
    value_at_half: float
    reached: bool


@dataclass(frozen=True)
class PredictionIntervals:
    """Prediction intervals of a regression: prediction +- half-width; for counts, at least 0.

    Attributes:
        level: share of rows that they are meant to contain, in (0, 1).
        half_widths: one per target, in its units. Empty: too few held-out rows with a weight above
            0, or extreme residuals.
    """

    level: float
    half_widths: Tuple[float, ...]


@dataclass(frozen=True)
class Metrics:
    """Result of an evaluation on a set of rows.

    Attributes:
        rows: number of counted rows.
        weight: the sum of their weights.
        loss: weighted mean over rows.
        accuracy: share of the weight that is classified right, in [0, 1]; classification. For
            multilabel, share of the rows whose labels are all right.
        precision, recall, f1: weighted over classes; None if classes were not counted (the running
            values of training).
        auc: area under the ROC curve; two classes only.
        average_precision: area under the curve of precision by recall; two classes only.
        classes: one per class, in the order of the model's classes; for multilabel one per label.
        confusion: weights by true class, then by predicted class.
        f1_micro, f1_macro: of all labels' answers together, and the plain mean over labels;
            multilabel.
        rmse, mae, r2: means over rows and targets, in the units of the target; regression.
        unknown_labels: rows with a label that the model does not know; classification. They count
            as mistakes in the accuracy, and the loss leaves them out.
        targets: one per target; regression. Empty if targets were not counted.
        coverage: share of the weight whose target is in the prediction interval, mean over
            targets; None: the model has no intervals.
    """

    rows: int
    weight: float
    loss: float
    accuracy: Optional[float] = None
    precision: Optional[float] = None
    recall: Optional[float] = None
    f1: Optional[float] = None
    auc: Optional[float] = None
    classes: Tuple[ClassMetrics, ...] = ()
    confusion: Tuple[Tuple[float, ...], ...] = ()
    rmse: Optional[float] = None
    mae: Optional[float] = None
    r2: Optional[float] = None
    f1_micro: Optional[float] = None
    f1_macro: Optional[float] = None
    unknown_labels: int = 0
    targets: Tuple[TargetMetrics, ...] = ()
    average_precision: Optional[float] = None
    coverage: Optional[float] = None


@dataclass(frozen=True)
class Progress:
    """Event: progress of a training. Running values are those of the present epoch.

    Attributes:
        step: committed steps.
        steps_total: maximum number of steps; 0 while unknown.
        epoch: completed epochs, with a fraction.
        rows_per_second: trained rows.
        phase: "training", "evaluating" or "writing".
        phase_share: completed share of an evaluation, in [0, 1].
        bytes_read, input_bytes: of the profiling pass over the input.
        fit: number of the current fit, from 1; 0 while unknown.
        fits: number of fits that the model averages; 0 while unknown.
        fit_epoch: completed epochs of this fit, with a fraction.
    """

    job: str
    step: int = 0
    steps_total: int = 0
    epoch: float = 0.0
    epochs_total: float = 0.0
    loss: float = 0.0
    accuracy: float = 0.0
    learning_rate: float = 0.0
    rows_per_second: float = 0.0
    phase: str = ""
    phase_share: float = 0.0
    bytes_read: int = 0
    input_bytes: int = 0
    fit: int = 0
    fits: int = 0
    fit_epoch: float = 0.0


@dataclass(frozen=True)
class Evaluation:
    """Event: the model was evaluated, after each epoch or as the job says.

    Attributes:
        epoch: completed epochs, with a fraction.
        train: running values of the epoch, without an extra pass.
        validation: None if the job has no validation set.
        fit: number of the fit, from 1; 0 if unknown.
        fit_epoch: completed epochs of this fit, with a fraction.
    """

    job: str
    epoch: float
    step: int
    learning_rate: float
    train: Metrics
    validation: Optional[Metrics]
    fit: int = 0
    fit_epoch: float = 0.0


@dataclass(frozen=True)
class Timing:
    """Times of a job's phases.

    Attributes:
        start_seconds, profiling_seconds, train_seconds: the consecutive phases.
        step_ms_p50, step_ms_p99: time of a step, in milliseconds.
    """

    start_seconds: float
    profiling_seconds: float
    train_seconds: float
    step_ms_p50: float
    step_ms_p99: float

    @property
    def total_seconds(self) -> float:
        return self.start_seconds + self.profiling_seconds + self.train_seconds


@dataclass(frozen=True)
class Scoring:
    """Result of a job that predicts or evaluates, in addition to metrics.

    Attributes:
        rows: number of scored rows.
        rejected: number of rows that could not be scored. The column ``error`` in the lines of a
            prediction says why. With ``on_bad_row: reject``, the files in ``_rejects`` of its
            output do.
        rejects: reasons and places (``position``), the first ten in the order of the input.
        parts: predictions: files of rows.
        format: predictions: "csv" or "parquet"; otherwise "".
        unseen_values: by categorical column, rows with a value that is not in the model's
            vocabulary. It was in no training row, or in fewer than ``min_count`` of them. Nulls are
            not counted.
    """

    rows: int
    rejected: int
    rejects: Tuple[EspalierError, ...] = field(default=(), compare=False)
    parts: int = 0
    format: str = ""
    unseen_values: Mapping[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class AsyncCounts:
    """Delays of gradients in a job with ``mode: async``.

    Attributes:
        largest_lag: maximum number of steps between the moment when a worker got its weights and
            the moment when its gradient was applied.
        refused: gradients that came too late and were computed again.
    """

    largest_lag: int
    refused: int


@dataclass(frozen=True)
class JobResult:
    """Result of a job that succeeded.

    Attributes:
        job: its id ("job-3").
        bundle: path of the model's directory, as the workers see it.
        weights_sha256: SHA-256 of the file of weights, in hexadecimal; identifies the model.
        train: metrics of the saved weights if the best are kept, otherwise running values of
            the last epoch.
        validation, test: metrics of the saved weights; None if the job does not have that set.
        classes: labels in the order of the model's classes; empty for regression, and if a local
            run does not report them.
        stopped_because: "epochs", "steps", "time" or "early stopping", for gd and lbfgs also
            "convergence", for lbfgs "iterations" or "line search"; "" if not reported.
        scoring: result of a job that predicts or evaluates; None: it has trained. For a job that
            scores, only these other attributes are set: ``bundle``, the directory of its
            predictions or the file of its report ("": none), ``test``, the metrics of an
            evaluation, and ``classes``.
        async_counts: for a job trained with ``mode: async``; otherwise None.
        best_epochs: epochs of the saved weights, by fit, if early stopping restores the best.
        skipped_steps: steps that ``on_nonfinite: skip`` left out.
        fits: number of trainings whose predictions the model averages.
        threshold: None: the job has no ``train.threshold``.
        intervals: None: the job has no ``train.intervals``.
        accepted: differences from the earlier run that were accepted when this one was resumed.
    """

    job: str
    bundle: str
    weights_sha256: str
    steps: int
    epochs: float
    rows_per_epoch: int
    train: Metrics
    validation: Optional[Metrics]
    test: Optional[Metrics]
    timing: Timing
    classes: Tuple[str, ...] = ()
    stopped_because: str = ""
    skipped_rows: int = 0
    scoring: Optional[Scoring] = None
    async_counts: Optional[AsyncCounts] = None
    best_epochs: Tuple[float, ...] = ()
    skipped_steps: int = 0
    fits: int = 1
    threshold: Optional[ChosenThreshold] = None
    intervals: Optional[PredictionIntervals] = None
    accepted: Tuple[str, ...] = ()

    @property
    def best_epoch(self) -> Optional[float]:
        """The best epoch of a model with one fit; None for others."""
        return self.best_epochs[0] if len(self.best_epochs) == 1 else None

    def load(self) -> Model:
        """Returns the model, read from :attr:`bundle`; see :func:`espalier.load`. The bundle must
        be accessible from here: on a local disk of this machine, mounted, or on HDFS."""
        from .model import load
        model = load(self.bundle)
        model.check_weights(self.weights_sha256)
        return model


@dataclass(frozen=True)
class JobInfo:
    """A job at one moment.

    Attributes:
        id: "job-3".
        owner: the name of its submitter, by certificate or token; "" on a plain-text cluster.
        kind: kind of the job; one that predicts or evaluates is PROFILING meanwhile.
        waiting_because: reason why a job does not advance, for a person; "" if it does.
        trouble: problem that will stop it unless fixed, for example a delegation token that ends;
            or "".
        losses: times that it lost workers since the coordinator was started.
        last_loss: reason of the newest loss; "" for none.
        output: destination of the bundle, the predictions, or the report of an evaluation.
        workers: names of the workers that take part.
        leaves: the fixed number of virtual workers; additional workers are on standby.
        generation: number of the job's membership; each change makes a new one.
        result: present if it has succeeded.
        error: present if it has failed or was cancelled.
        inferred: features that `features: auto` found in addition to numbers, "categorical: job,
            city; numeric: 12 others"; "" for nothing.
    """

    id: str
    name: str = ""
    state: JobState = JobState.QUEUED
    waiting_because: str = ""
    output: str = ""
    workers: Tuple[str, ...] = ()
    leaves: int = 0
    generation: int = 0
    progress: Optional[Progress] = None
    result: Optional[JobResult] = None
    error: Optional[EspalierError] = field(default=None, compare=False)
    submitted: Optional[datetime] = None
    started: Optional[datetime] = None
    training: Optional[datetime] = None
    ended: Optional[datetime] = None
    inferred: str = ""
    kind: JobKind = JobKind.TRAIN
    trouble: str = ""
    owner: str = ""
    losses: int = 0
    last_loss: str = ""


@dataclass(frozen=True)
class WorkerInfo:
    """A worker that is attached.

    Attributes:
        id: "worker-2".
        address: host:port, or unix:/PATH, at which other workers reach it.
        arithmetic_id: workers with different ids compute different bits, and do not share a job.
        job: the job that it works on, or None.
        last_heard_seconds: age of its newest message.
    """

    id: str
    name: str
    address: str
    version: str
    arithmetic_id: str
    threads: int
    memory_bytes: int
    job: Optional[str]
    attached: Optional[datetime]
    last_heard_seconds: float


@dataclass(frozen=True)
class StateChanged:
    """Event: the job's state, its workers, or the reason why it waits has changed."""

    job: JobInfo


@dataclass(frozen=True)
class CoordinatorAway:
    """Event: the coordinator is unreachable; reported once per outage. The job may well continue.
    The watch continues as soon as the coordinator is back."""

    job: str
    seconds: float


@dataclass(frozen=True)
class Ended:
    """Event, the last one: the job succeeded, failed or was cancelled."""

    job: JobInfo


#: Events that :meth:`espalier.Job.watch` yields.
Event = Union[StateChanged, Progress, Evaluation, CoordinatorAway, Ended]
