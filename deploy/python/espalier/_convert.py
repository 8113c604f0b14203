"""Converts messages of the service to the client's values. Text for people loses its control
characters, because other people choose the names of jobs and workers."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Iterable, Optional, Tuple

from ._proto import api_pb2, types_pb2
from .errors import EspalierError, InputPosition, InternalError, make_error
from .types import (AsyncCounts, ChosenThreshold, ClassMetrics, Evaluation, JobInfo, JobKind,
                    JobResult, JobState, Metrics, PredictionIntervals, Progress, Scoring,
                    TargetMetrics, Timing, WorkerInfo)


def clean(text: str) -> str:
    """Returns the text without characters that would move a terminal's cursor."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def text_of(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def time_of(ms: int) -> Optional[datetime]:
    if ms <= 0:
        return None
    try:
        return datetime.fromtimestamp(ms / 1000, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return None


def job_id(number: int) -> str:
    return "job-%d" % number


def error_of(detail: Any) -> EspalierError:
    """Returns the exception for an ErrorDetail."""
    try:
        code = types_pb2.ErrorCode.Name(detail.code)[len("ERROR_CODE_"):]
    except ValueError:
        code = "INTERNAL"
    messages = [clean(m) for m in detail.messages] or ["the cluster does not say why"]
    position = None
    if detail.HasField("position"):
        at = detail.position
        position = InputPosition(
            file=clean(text_of(at.file)), row=at.row if at.HasField("row") else None,
            column=clean(text_of(at.column)),
            offset=at.offset if at.HasField("offset") else None, text=clean(at.text))
    return make_error(code, messages[0], causes=messages[1:], position=position)


def _square(flat: Iterable[float], size: int) -> Tuple[Tuple[float, ...], ...]:
    cells = tuple(flat)
    if len(cells) != size * size:
        return ()
    return tuple(cells[i * size:(i + 1) * size] for i in range(size))


def metrics_of(m: Any, counted: bool = False) -> Metrics:
    """Converts metrics. `counted`: classes were counted, even if the message has none, as in
    history."""
    if not m.classification:
        return Metrics(
            rows=m.rows, weight=m.weight, loss=m.loss, rmse=m.rmse, mae=m.mae, r2=m.r2,
            targets=tuple(TargetMetrics(text_of(t.name), t.rmse, t.mae, t.r2,
                                        t.coverage if t.HasField("coverage") else None)
                          for t in m.targets),
            coverage=m.coverage if m.HasField("coverage") else None)
    counted = counted or len(m.classes) > 0
    return Metrics(
        rows=m.rows, weight=m.weight, loss=m.loss, accuracy=m.accuracy,
        precision=m.precision if counted else None, recall=m.recall if counted else None,
        f1=m.f1 if counted else None, auc=m.auc if m.HasField("auc") else None,
        f1_micro=m.f1_micro if m.HasField("f1_micro") else None,
        f1_macro=m.f1_macro if m.HasField("f1_macro") else None,
        classes=tuple(ClassMetrics(c.precision, c.recall, c.f1, c.weight) for c in m.classes),
        confusion=_square(m.confusion, len(m.classes)), unknown_labels=m.unknown_labels,
        average_precision=m.average_precision if m.HasField("average_precision") else None)


def evaluation_of(job: int, row: Any) -> Evaluation:
    return Evaluation(
        job=job_id(job), epoch=row.epoch, step=row.step, learning_rate=row.learning_rate,
        train=metrics_of(row.train),
        validation=metrics_of(row.validation, counted=True) if row.HasField("validation") else None,
        fit=row.fit, fit_epoch=row.fit_epoch)


def progress_of(s: Any) -> Progress:
    p = s.progress
    return Progress(
        job=job_id(s.job), step=p.step, steps_total=p.steps_total, epoch=p.epoch,
        epochs_total=p.epochs_total, loss=p.loss, accuracy=p.accuracy,
        learning_rate=p.learning_rate, rows_per_second=p.rows_per_second, phase=clean(p.phase),
        phase_share=p.phase_share, bytes_read=s.profiling_bytes_done, input_bytes=s.input_bytes,
        fit=p.fit, fits=p.fits, fit_epoch=p.fit_epoch)


def scoring_of(r: Any) -> Scoring:
    return Scoring(rows=r.rows, rejected=r.rejected,
                   rejects=tuple(error_of(why) for why in r.first_rejects), parts=r.parts,
                   format=clean(r.format),
                   unseen_values={text_of(u.label): u.rows for u in r.unseen})


def kind_of(s: Any) -> JobKind:
    """Returns the job's kind. Older coordinators do not send it, and they only train."""
    if s.kind == api_pb2.JOB_KIND_UNSPECIFIED:
        return JobKind.TRAIN
    try:
        return JobKind(api_pb2.JobKind.Name(s.kind)[len("JOB_KIND_"):])
    except ValueError:
        raise InternalError("the coordinator reports %s with a kind %d that this client does not "
                            "know" % (job_id(s.job), s.kind)) from None


def result_of(s: Any) -> JobResult:
    r = s.result
    return JobResult(
        job=job_id(s.job), bundle=text_of(r.bundle), weights_sha256=r.weights_sha256,
        steps=r.steps, epochs=r.epochs, rows_per_epoch=r.rows_per_epoch,
        train=metrics_of(r.train),
        validation=metrics_of(r.validation) if r.HasField("validation") else None,
        test=metrics_of(r.test) if r.HasField("test") else None,
        timing=Timing(s.start_phase_ms / 1000, s.profiling_phase_ms / 1000, s.train_phase_ms / 1000,
                      r.step_ms_p50, r.step_ms_p99),
        classes=tuple(text_of(c) for c in r.classes), stopped_because=clean(r.stopped_because),
        skipped_rows=r.skipped_rows,
        scoring=scoring_of(r.scoring) if r.HasField("scoring") else None,
        async_counts=AsyncCounts(r.async_counts.largest_lag, r.async_counts.refused)
        if r.HasField("async_counts") else None,
        best_epochs=tuple(r.best_epochs), fits=r.fits,
        skipped_steps=r.skipped_steps,
        threshold=ChosenThreshold(text_of(r.positive), clean(r.threshold.metric),
                                  r.threshold.threshold, r.threshold.value,
                                  r.threshold.value_at_half, r.threshold.reached)
        if r.HasField("threshold") else None,
        intervals=PredictionIntervals(r.intervals.level, tuple(r.intervals.half_widths))
        if r.HasField("intervals") else None,
        accepted=tuple(clean(text) for text in r.accepted))


def job_of(s: Any) -> JobInfo:
    """Converts a JobSnapshot."""
    try:
        state = JobState(api_pb2.JobState.Name(s.state)[len("JOB_STATE_"):])
    except ValueError:
        raise InternalError("the coordinator reports %s in a state %d that this client does not "
                            "know" % (job_id(s.job), s.state)) from None
    return JobInfo(
        id=job_id(s.job), name=clean(s.name), state=state,
        waiting_because=clean(s.waiting_because), output=text_of(s.output),
        workers=tuple(clean(w) for w in s.workers), leaves=s.leaves, generation=s.generation,
        progress=progress_of(s), result=result_of(s) if s.HasField("result") else None,
        error=error_of(s.error) if s.HasField("error") else None,
        submitted=time_of(s.submitted_ms), started=time_of(s.started_ms),
        training=time_of(s.training_ms), ended=time_of(s.ended_ms), inferred=clean(s.inferred),
        kind=kind_of(s), trouble=clean(s.trouble), owner=clean(s.owner), losses=s.losses,
        last_loss=clean(s.last_loss))


def worker_of(w: Any) -> WorkerInfo:
    return WorkerInfo(
        id="worker-%d" % w.worker, name=clean(w.name), address=clean(w.address),
        version=clean(w.version), arithmetic_id=clean(w.arithmetic_id), threads=w.threads,
        memory_bytes=w.memory_bytes, job=job_id(w.job) if w.job else None,
        attached=time_of(w.attached_ms), last_heard_seconds=w.last_heard_ms / 1000)
