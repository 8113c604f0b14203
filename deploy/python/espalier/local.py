"""Trains on this machine, without a cluster: the `espalier` program starts one and removes it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from typing import IO, TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional

from ._facts import (EXIT_INTERRUPTED, EXIT_JOB_FAILED, EXIT_UNREACHABLE, EXIT_USAGE,
                     METRIC_NAMES)
from .errors import (CancelledError, EspalierError, InputPosition, InternalError, JobCancelledError,
                     JobFailedError, NotFoundError, make_error)
from .progress import view_for
from .types import (AsyncCounts, ChosenThreshold, ClassMetrics, CoordinatorAway, Ended, Evaluation,
                    Event, JobInfo, JobResult, JobState, Metrics, PredictionIntervals, Progress,
                    StateChanged, TargetMetrics, Timing)

if TYPE_CHECKING:
    from ._jobtext import JobSource

__all__ = ["find_program", "train"]

# Error codes by exit code of the program, for errors without a code.
_CODES = {EXIT_JOB_FAILED: "INTERNAL", EXIT_USAGE: "INVALID_ARGUMENT",
          EXIT_UNREACHABLE: "UNAVAILABLE", EXIT_INTERRUPTED: "CANCELLED"}

_STOP_S = 330  # the program gives up after five minutes on a job that does not end


def find_program() -> str:
    """Returns the path of the `espalier` program: in ``ESPALIER_HOME`` or its bin/ (an unpacked
    tarball), on ``PATH``, or in build/bin of the source tree of this module.

    Raises:
        NotFoundError: the program was not found.
    """
    home = os.environ.get("ESPALIER_HOME", "")
    tree = os.path.abspath(__file__)
    for _ in range(4):
        tree = os.path.dirname(tree)
    places = [os.path.join(home, "bin"), home] if home else []
    for place in places:
        path = os.path.join(place, "espalier")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    on_path = shutil.which("espalier")
    if on_path:
        return on_path
    built = os.path.join(tree, "build", "bin", "espalier")
    if os.path.isfile(built) and os.access(built, os.X_OK):
        return built
    raise NotFoundError(
        "the program `espalier` is not found (%son PATH)" %
        ("in ESPALIER_HOME=%s, " % home if home else ""),
        hint="Unpack espalier-VERSION-linux-x86_64.tar.gz and set ESPALIER_HOME to its folder, or "
             "use a cluster: espalier.connect(\"HOST:PORT\").submit(job).")


def train(job: JobSource, *, workers: Optional[int] = None, threads: Optional[int] = None,
          progress: Optional[bool] = None) -> JobResult:
    """Trains on this machine, from start to model.

    The program starts a coordinator and workers for this job alone. They are gone when the job
    ends, for whatever reason. The weights are byte for byte those of any cluster.

    Args:
        job: see :meth:`Client.submit`.
        workers: number of workers; None: as many as the job allows, at most the number of cores
            and at most four.
        threads: threads per worker; None: the cores are shared.
        progress: see :meth:`Job.watch`.

    Raises:
        NotFoundError: the `espalier` program is missing; see :func:`find_program`.
        InvalidArgumentError, NotFoundError, AlreadyExistsError, BadInputError: see
            :meth:`Client.submit`.
        JobFailedError, JobCancelledError: the job ended without a model. The error says why.

    A KeyboardInterrupt ends the training. After the first evaluation, the output then has the
    weights so far: the best ones, if early stopping restores them. Before it, the output stays
    empty.
    """
    from ._jobtext import job_text
    program = find_program()
    with tempfile.TemporaryDirectory(prefix="espalier-python-") as folder:
        path = os.path.join(folder, "job.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(job_text(job))
        # The program ends with this process, however this process ends. The kernel's own signal
        # would not do, because it also reacts to the end of a thread.
        command = [program, "train", path, "--json", "--exit-with-parent"]
        command += ["--workers", str(workers)] if workers is not None else []
        command += ["--threads", str(threads)] if threads is not None else []
        with open(os.path.join(folder, "errors"), "w+b") as errors:
            return _run(command, errors, progress, path)


def _run(command: List[str], errors: IO[bytes], progress: Optional[bool], path: str) -> JobResult:
    view = view_for(progress)
    try:
        # A separate session, so that a terminal's Ctrl-C does not reach the program as well.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=errors, start_new_session=True)
    except OSError as error:
        raise NotFoundError("%s cannot be run: %s" % (command[0], error.strerror)) from error
    last: Dict[str, Any] = {}
    try:
        assert process.stdout is not None
        for line in process.stdout:
            last = json.loads(line)
            for event in _events(last):
                view.show(event)
        code = process.wait()
    except BaseException:
        _stop(process)
        raise
    finally:
        view.close()
        if process.stdout is not None:
            process.stdout.close()
    if last.get("status") == "SUCCEEDED" and code == 0:
        return _result(last)
    errors.seek(0)
    said = errors.read(64 << 10).decode("utf-8", "replace")
    raise _failure(last, code, said, path)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the job and removes its daemons and files, as Ctrl-C does. If that fails, it kills the
    program at once."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=_STOP_S)  # reads the last lines
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.kill()
            process.wait()


def _failure(last: Mapping[str, Any], code: int, said: str, path: str) -> EspalierError:
    details = last.get("error") or {}
    message = details.get("message") or said.strip() or "the program ended with code %d" % code
    message = message.replace(path, "job")
    position = None
    if details.get("file"):
        position = InputPosition(file=details["file"], row=details.get("row"),
                                 column=details.get("column") or "", offset=details.get("offset"))
        message = message.rpartition(" [")[0] or message
    first, *causes = message.split(" <- ")
    # Older programs send no code, nor does a program that cannot start.
    kind = details.get("code") or (
        "BAD_INPUT" if position and code == EXIT_JOB_FAILED else _CODES.get(code, "INTERNAL"))
    error = make_error(kind, first, causes=causes, position=position, hint="")
    if not last.get("job"):
        return error
    if last.get("status") == "CANCELLED":
        return JobCancelledError(last["job"], CancelledError(first, causes=causes))
    return JobFailedError(last["job"], error)


def _events(line: Mapping[str, Any]) -> Iterator[Event]:
    """Yields the event that a line of --json describes, if it describes one."""
    kind, job = line.get("event"), str(line.get("job"))
    if kind == "state":
        info = JobInfo(id=job, state=JobState(line["state"]), workers=tuple(line["workers"]),
                       waiting_because=line.get("waiting_because") or "",
                       trouble=line.get("trouble") or "")
        yield StateChanged(info)
    elif kind == "progress":
        number = _number
        yield Progress(
            job=job, step=line["step"], steps_total=line["steps_total"],
            epoch=number(line, "epoch"), epochs_total=number(line, "epochs_total"),
            loss=number(line, "loss"), accuracy=number(line, "accuracy"),
            learning_rate=number(line, "learning_rate"),
            rows_per_second=number(line, "rows_per_second"), phase=line.get("phase") or "",
            phase_share=number(line, "phase_share"), bytes_read=line["profiling_bytes_done"],
            input_bytes=line["input_bytes"], fit=line.get("fit") or 0, fits=line.get("fits") or 0,
            fit_epoch=number(line, "fit_epoch"))
    elif kind == "evaluation":
        yield Evaluation(job=job, epoch=line["epoch"], step=line["step"],
                         learning_rate=line["learning_rate"], train=_some_metrics(line["train"]),
                         validation=_metrics(line["validation"]), fit=line.get("fit") or 0,
                         fit_epoch=_number(line, "fit_epoch"))
    elif kind == "coordinator_away":
        yield CoordinatorAway(job, line["away_s"])
    elif line.get("status") in ("SUCCEEDED", "FAILED", "CANCELLED") and line.get("job"):
        yield Ended(JobInfo(id=job, state=JobState(line["status"])))


def _number(line: Mapping[str, Any], name: str) -> float:
    value = line.get(name)
    return float("nan") if value is None else float(value)


def _metrics(m: Optional[Mapping[str, Any]]) -> Optional[Metrics]:
    return None if m is None else _some_metrics(m)


def _some_metrics(m: Mapping[str, Any]) -> Metrics:
    names = {name: m.get(name) for name in METRIC_NAMES if name != "loss"}
    classes = tuple(ClassMetrics(c["precision"], c["recall"], c["f1"], c["weight"])
                    for c in m.get("per_class", ()))
    targets = tuple(TargetMetrics(t["target"], _number(t, "rmse"), _number(t, "mae"),
                                  _number(t, "r2"), t.get("coverage"))
                    for t in m.get("per_target", ()))
    return Metrics(rows=m["rows"], weight=m["weight"], loss=_number(m, "loss"), classes=classes,
                   confusion=tuple(tuple(row) for row in m.get("confusion_matrix", ())),
                   unknown_labels=m.get("unknown_labels", 0), targets=targets,
                   coverage=m.get("coverage"), **names)


def _threshold(t: Optional[Mapping[str, Any]]) -> Optional[ChosenThreshold]:
    return None if t is None else ChosenThreshold(t["class"], t["metric"], t["threshold"],
                                                  t["value"], t["value_at_half"], t["reached"])


def _result(last: Mapping[str, Any]) -> JobResult:
    try:
        sets, timing = last["metrics"], last["timing"]
        classes = [c for name in ("test", "validation", "train")
                   for c in (sets[name] or {}).get("per_class", ())]
        named = tuple(dict.fromkeys(str(c["class"]) for c in classes))
        return JobResult(
            job=last["job"], bundle=last["bundle"], weights_sha256=last["weights_sha256"],
            steps=last["steps"], epochs=last["epochs"], rows_per_epoch=last["rows_per_epoch"],
            train=_some_metrics(sets["train"]), validation=_metrics(sets["validation"]),
            test=_metrics(sets["test"]),
            timing=Timing(timing["start_s"], timing["profiling_s"], timing["train_s"],
                          timing["step_ms_p50"], timing["step_ms_p99"]), classes=named,
            # Absent in the outcome of older programs.
            stopped_because=last.get("stopped_because", ""),
            skipped_rows=last.get("skipped_rows", 0),
            async_counts=AsyncCounts(last["async"]["largest_lag"], last["async"]["refused"])
            if "async" in last else None,
            best_epochs=tuple(last.get("best_epochs", [last["best_epoch"]]
                                       if "best_epoch" in last else ())),
            skipped_steps=last.get("skipped_steps", 0), fits=last.get("fits", 1),
            threshold=_threshold(last.get("threshold")),
            intervals=PredictionIntervals(last["intervals"]["level"],
                                          tuple(last["intervals"]["half_widths"]))
            if "intervals" in last else None, accepted=tuple(last.get("accepted", ())))
    except KeyError as error:
        raise InternalError("the program's result does not have %s. Is its version that of this "
                            "client?" % error) from error
