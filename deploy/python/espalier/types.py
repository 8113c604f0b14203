"""What the client tells: jobs, workers, metrics, and the events of a job.

All are immutable values. Times of day are aware datetimes in UTC, durations are seconds; sizes are
bytes. What is unknown, or not reached yet, is None.
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
    """What a job does; equal to its name ("PREDICT")."""

    TRAIN = "TRAIN"
    PREDICT = "PREDICT"
    EVALUATE = "EVALUATE"


class JobState(str, enum.Enum):
    """How far a job is; equal to its name ("TRAINING")."""

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
        """Whether nothing more happens to the job."""
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class ClassMetrics:
    """Of one class of a classifier; 0 where the denominator is 0.

    Attributes:
        weight: true weight of the class (rows, when they have no weights).
    """

    precision: float
    recall: float
    f1: float
    weight: float


@dataclass(frozen=True)
class TargetMetrics:
    """Of one target of a regression, in its units.

    Attributes:
        r2: NaN with fewer than two rows. Of a target with one value 1 for exact predictions, 0 for
            others.
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
        reached: False: no threshold has the precision or recall that was asked for.
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
        half_widths: one a target, in its units. Empty: too few held-out rows with a weight above
            0, or extreme residuals.
    """

    level: float
    half_widths: Tuple[float, ...]


@dataclass(frozen=True)
class Metrics:
    """What an evaluation on a set of rows yields.

    Attributes:
        rows: rows that were counted.
        weight: the sum of their weights.
        loss: weighted mean over rows.
        accuracy: share of the weight that is classified right, in [0, 1]; classification. Of
            multilabel, share of the rows whose labels are all right.
        precision, recall, f1: weighted over classes; None where classes were not counted (the
            running values of training).
        auc: area under the ROC curve; two classes only.
        average_precision: area under the curve of precision by recall; two classes only.
        classes: one a class, in the order of the model's classes; of multilabel one a label.
        confusion: weights by true class, then by predicted class.
        f1_micro, f1_macro: of all labels' answers together, and the plain mean over labels;
            multilabel.
        rmse, mae, r2: means over rows and targets, in the units of the target; regression.
        unknown_labels: rows whose label the model does not know; classification. They are mistakes
            in the accuracy, and the loss leaves them out.
        targets: one a target; regression. Empty where targets were not counted.
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
    """Event: how far a training is. Running values are those of the present epoch.

    Attributes:
        step: committed steps.
        steps_total: how many there are at most; 0 while unknown.
        epoch: completed epochs, with a fraction.
        rows_per_second: trained rows.
        phase: "training", "evaluating" or "writing".
        phase_share: of an evaluation that is done, in [0, 1].
        bytes_read, input_bytes: of the profile of the input.
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


@dataclass(frozen=True)
class Evaluation:
    """Event: the model was evaluated, after each epoch or as the job says.

    Attributes:
        epoch: completed epochs, with a fraction.
        train: running values of the epoch; no extra pass.
        validation: None when the job has no validation set.
    """

    job: str
    epoch: float
    step: int
    learning_rate: float
    train: Metrics
    validation: Optional[Metrics]


@dataclass(frozen=True)
class Timing:
    """Where a job's time went.

    Attributes:
        start_seconds, profiling_seconds, train_seconds: the consecutive phases.
        step_ms_p50, step_ms_p99: what a step took, in milliseconds.
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
    """What a job that predicts or evaluates yields, beside metrics.

    Attributes:
        rows: that were scored.
        rejected: that could not be. The lines of a prediction say why in the column ``error``, or
            with ``on_bad_row: reject`` the files in ``_rejects`` of its output do.
        rejects: why and where (``position``), the first ten in the order of the input.
        parts: predictions: files of rows.
        format: predictions: "csv" or "parquet"; else "".
        unseen_values: by categorical column, rows with a value that the model's vocabulary does not
            have.
    """

    rows: int
    rejected: int
    rejects: Tuple[EspalierError, ...] = field(default=(), compare=False)
    parts: int = 0
    format: str = ""
    unseen_values: Mapping[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class AsyncCounts:
    """How late gradients came in a job with ``mode: async``.

    Attributes:
        largest_lag: steps taken, at the most, between the moment when a worker got its weights and
            that when its gradient was applied.
        refused: gradients that came too late and were computed again.
    """

    largest_lag: int
    refused: int


@dataclass(frozen=True)
class JobResult:
    """What a job that succeeded yields.

    Attributes:
        job: its id ("job-3").
        bundle: path of the model's directory, as the workers see it.
        weights_sha256: SHA-256 of the file of weights, in hexadecimal: it names the model.
        train: of the saved weights where the best are restored, otherwise running values of the
            last epoch.
        validation, test: of the saved weights; None when the job has no such set.
        classes: labels in the order of the model's classes; empty for regression, and when a local
            run does not say.
        stopped_because: "epochs", "steps", "time" or "early stopping", of gd and lbfgs also
            "convergence", of lbfgs "iterations" or "line search"; "" when not told.
        scoring: of a job that predicts or evaluates; None: it has trained. Of all above it has
            ``bundle``, the directory of its predictions or the file of its report ("": none),
            ``test``, the metrics of an evaluation, and ``classes``.
        async_counts: of a job trained with ``mode: async``; None: it was not.
        best_epochs: of the saved weights, by fit, where early stopping restores the best.
        skipped_steps: steps that ``on_nonfinite: skip`` left out.
        fits: trainings whose predictions the model averages.
        threshold: None: the job has no ``train.threshold``.
        intervals: None: the job has no ``train.intervals``.
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

    @property
    def best_epoch(self) -> Optional[float]:
        """The one of a model of one fit; None of others."""
        return self.best_epochs[0] if len(self.best_epochs) == 1 else None

    def load(self) -> Model:
        """The model, read from :attr:`bundle`; see :func:`espalier.load`. The bundle must be
        reachable from here: on a local disk of this machine, mounted, or on HDFS."""
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
        kind: what it does; one that predicts or evaluates is PROFILING meanwhile.
        waiting_because: why a job does not get on, for a person; "" when it does.
        trouble: what will stop it unless mended, such as a delegation token that ends; or "".
        output: where the bundle goes, or the predictions, or the report of an evaluation.
        workers: names of those that take part.
        leaves: the fixed number of virtual workers; more workers than that stand by.
        generation: numbers the job's membership; each change makes a new one.
        result: present when it has succeeded.
        error: present when it has failed or was cancelled.
        inferred: what `features: auto` found beside numbers, "categorical: job, city; numeric: 12
            others"; "" for nothing.
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


@dataclass(frozen=True)
class WorkerInfo:
    """A worker that is attached.

    Attributes:
        id: "worker-2".
        address: host:port, or unix:/PATH, where other workers reach it.
        arithmetic_id: workers whose ids differ compute different bits, and do not share a job.
        job: what it works on, or None.
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
    """Event: the job's state, its workers, or what it waits for is another one."""

    job: JobInfo


@dataclass(frozen=True)
class CoordinatorAway:
    """Event: the coordinator is not reached; told once an outage. The job may well go on, and is
    watched again as soon as the coordinator is back."""

    job: str
    seconds: float


@dataclass(frozen=True)
class Ended:
    """Event, the last one: the job succeeded, failed or was cancelled."""

    job: JobInfo


#: What :meth:`espalier.Job.watch` yields.
Event = Union[StateChanged, Progress, Evaluation, CoordinatorAway, Ended]
