"""Shows a running job: a line that moves in a terminal, a table and a plot in a notebook, plain
lines elsewhere."""

from __future__ import annotations

import html
import shutil
import sys
import time
from typing import Any, List, Optional, Sequence, TextIO, Tuple

from .types import (CoordinatorAway, Ended, Evaluation, Event, JobInfo, JobState, Metrics, Progress,
                    StateChanged)

__all__ = ["NotebookView", "PlainView", "SilentView", "TerminalView", "view_for"]

_DRAW_SECONDS = 0.1
_BAR = 22


class SilentView:
    """Shows nothing."""

    def show(self, event: Event) -> None:
        """Shows an event. Called with each event."""

    def close(self) -> None:
        """Ends the view. Called once, at the end or when watching stops."""


def view_for(progress: Optional[bool]) -> SilentView:
    """Returns the view for this environment. `progress`: see Job.watch."""
    if progress is False:
        return SilentView()
    if in_notebook():
        return NotebookView()
    if sys.stderr is not None and sys.stderr.isatty():
        return TerminalView(sys.stderr)
    return PlainView(sys.stderr) if progress and sys.stderr is not None else SilentView()


def in_notebook() -> bool:
    """Returns whether this is the kernel of a notebook."""
    if "IPython" not in sys.modules:
        return False
    kinds = type(sys.modules["IPython"].get_ipython()).__mro__
    return any(kind.__name__ == "ZMQInteractiveShell" for kind in kinds)  # Colab's is one of them


def headline(m: Metrics, prefix: str = "") -> str:
    """Returns "loss 0.4213  accuracy 87.90 %", or the rmse of a regression."""
    if m.accuracy is not None:
        return "%sloss %.4f  %saccuracy %.2f %%" % (prefix, m.loss, prefix, 100 * m.accuracy)
    return "%sloss %.4f  %srmse %.4g" % (prefix, m.loss, prefix, m.rmse or 0.0)


def _losses(m: Metrics, prefix: str) -> str:
    rest = "acc %.2f %%" % (100 * m.accuracy) if m.accuracy is not None else (
        "rmse %.4g" % (m.rmse or 0.0))
    return "  %sloss %.4f %s%s" % (prefix, m.loss, prefix, rest)


def _epoch_text(epochs: float, fit: int, p: Progress) -> str:
    """Returns "epoch 2/20", or with several fits "fit 1/5 epoch 2/20"."""
    several = fit > 0 and p.fits > 1
    total = p.epochs_total / p.fits if several else p.epochs_total
    return ("fit %d/%d " % (fit, p.fits) if several else "") + "epoch %g" % round(epochs, 3) + (
        "/%g" % total if total else "")


def evaluation_line(e: Evaluation, progress: Progress) -> str:
    """Returns "fit 1/5 epoch 2/20  loss 0.4213 acc 87.90 %  val_loss 0.1987 val_acc 94.20 %".
    `progress` is the job's."""
    line = _epoch_text(e.fit_epoch if e.fit else e.epoch, e.fit, progress)
    return line + _losses(e.train, "") + (_losses(e.validation, "val_") if e.validation else "")


def state_line(job: JobInfo) -> str:
    """Returns "job-3 training: 16 leaves on 2 workers (a, b)"."""
    line = "%s %s" % (job.id, job.state.value.lower())
    if job.waiting_because:
        return "%s: %s" % (line, job.waiting_because)
    if job.trouble and not job.state.final:
        return "%s: %s" % (line, job.trouble)
    if job.workers and not job.state.final:
        names = ", ".join(job.workers[:4]) + (", ..." if len(job.workers) > 4 else "")
        leaves = "%d leaves on " % job.leaves if job.leaves else ""
        line += ": %s%d worker%s (%s)" % (leaves, len(job.workers),
                                          "" if len(job.workers) == 1 else "s", names)
    return line


def lost_line(job: JobInfo, before: Sequence[str]) -> str:
    """Returns "job-3 lost the worker left" if the job recovers from that; otherwise "". `before`
    are its workers before the event."""
    lost = [name for name in before if name not in job.workers]
    recovers = job.state == JobState.RECOVERING and job.workers
    if not recovers or not lost or not set(job.workers) <= set(before):
        return ""
    return "%s lost the worker%s %s" % (job.id, "" if len(lost) == 1 else "s", ", ".join(lost))


def _away_line(event: CoordinatorAway) -> str:
    return "The coordinator is unreachable; retrying. The job may continue without it."


def _share(p: Progress, state: Optional[JobState]) -> float:
    if state in (JobState.PROFILING, JobState.QUEUED):
        return p.bytes_read / p.input_bytes if p.input_bytes else 0.0
    if p.steps_total:
        return p.step / p.steps_total
    return p.epoch / p.epochs_total if p.epochs_total else 0.0


class Pace:
    """Estimates the remaining time from the pace since the first step that was seen."""

    def __init__(self) -> None:
        self._first: Optional[Tuple[int, float]] = None

    def left(self, p: Progress, now: float) -> Optional[float]:
        """Returns seconds, or None before the first estimate."""
        if not p.step or not p.steps_total:
            return None
        if self._first is None or p.step < self._first[0]:
            self._first = (p.step, now)
        done, spent = p.step - self._first[0], now - self._first[1]
        return spent * (p.steps_total - p.step) / done if done > 0 and spent > 0.5 else None


def _clock(seconds: float) -> str:
    whole = int(seconds)
    hours = "%d:" % (whole // 3600) if whole >= 3600 else ""
    return "%s%0*d:%02d" % (hours, 2 if hours else 1, whole // 60 % 60, whole % 60)


def live_line(p: Progress, state: Optional[JobState], left: Optional[float], width: int) -> str:
    """Returns the moving line, at most `width` - 1 characters. The least important parts are
    dropped first."""
    share = min(1.0, max(0.0, _share(p, state)))
    filled = int(share * _BAR)
    bar = "[" + ("=" * filled + ">" if filled < _BAR else "=" * _BAR).ljust(_BAR)[:_BAR] + "]"
    if state == JobState.PROFILING:
        parts = ["reading", bar, "%3d %%" % (100 * share), "%.1f MB" % (p.bytes_read / 1e6)]
    elif p.phase == "writing":
        parts = ["writing the bundle"]
    else:
        parts = [_epoch_text(int(p.fit_epoch if p.fit else p.epoch) + 1, p.fit, p), bar,
                 "%3d %%" % (100 * share), "loss %.4f" % p.loss]
        parts.append("evaluating %d %%" % (100 * p.phase_share) if p.phase == "evaluating" else
                     "%s rows/s" % format(int(p.rows_per_second), ","))
        if left is not None:
            parts.append(_clock(left) + " left")
        parts.append("step %s" % format(p.step, ","))
    line = ""
    for part in parts:
        if len(line) + len(part) + 2 < width:
            line += ("  " if line else "") + part
    return line


class PlainView(SilentView):
    """Shows one line for each state and each evaluation."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._progress = Progress("")
        self._workers: Tuple[str, ...] = ()
        self._last = ""

    def line(self, text: str) -> None:
        if text != self._last:
            self._last = text
            self._out.write(text + "\n")
            self._out.flush()

    def show(self, event: Event) -> None:
        if isinstance(event, (StateChanged, Ended)):
            self._progress = event.job.progress or self._progress
            lost = lost_line(event.job, self._workers)
            self._workers = event.job.workers
            if lost:
                self.line(lost)
            self.line(state_line(event.job))
        elif isinstance(event, Progress):
            self._progress = event
        elif isinstance(event, Evaluation):
            self.line(evaluation_line(event, self._progress))
        else:
            self.line(_away_line(event))


class TerminalView(PlainView):
    """Shows the same, and below it a line that moves."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        self._state: Optional[JobState] = None
        self._pace, self._drawn, self._next = Pace(), False, 0.0

    def line(self, text: str) -> None:
        self.close()
        super().line(text)

    def show(self, event: Event) -> None:
        super().show(event)
        if isinstance(event, StateChanged):
            self._state = event.job.state
        now = time.monotonic()
        if not isinstance(event, Progress) or now < self._next:
            return
        self._next = now + _DRAW_SECONDS
        width = shutil.get_terminal_size().columns
        self._out.write("\r" + live_line(event, self._state, self._pace.left(event, now), width) +
                        "\x1b[K")
        self._out.flush()
        self._drawn = True

    def close(self) -> None:
        if self._drawn:
            self._out.write("\r\x1b[K")
            self._out.flush()
        self._drawn = False


def loss_plot(train: List[Tuple[float, float]], validation: List[Tuple[float, float]],
              width: int = 480, height: int = 160) -> str:
    """Returns an SVG of (epoch, loss): training rows solid, validation rows dashed. "" for fewer
    than two."""
    points = [p for p in train + validation if p[1] == p[1] and abs(p[1]) < 1e300]
    if len(train) < 2 or not points:
        return ""
    low_x, high_x = min(p[0] for p in points), max(p[0] for p in points)
    low_y, high_y = min(p[1] for p in points), max(p[1] for p in points)

    def path(line: List[Tuple[float, float]]) -> str:
        return " ".join("%.1f,%.1f" % (
            40 + (width - 50) * (x - low_x) / ((high_x - low_x) or 1),
            10 + (height - 30) * (high_y - y) / ((high_y - low_y) or 1))
            for x, y in line if (x, y) in kept)
    kept = set(points)
    label = '<text x="%d" y="%d" font-size="10" fill="currentColor">%s</text>'
    line = '<polyline points="%s" fill="none" stroke="%s"%s/>'
    return ('<svg width="%d" height="%d" role="img" aria-label="loss by epoch">' % (width, height) +
            line % (path(train), "#1f77b4", "") +
            line % (path(validation), "#d62728", ' stroke-dasharray="4 3"') +
            label % (0, 16, "%.4g" % high_y) + label % (0, height - 20, "%.4g" % low_y) +
            label % (40, height - 4, "epoch %g to %g: loss (solid), val_loss (dashed)" %
                     (low_x, high_x)) + "</svg>")


class NotebookView(SilentView):
    """Shows a table and a plot of the loss, and draws them again at each evaluation."""

    ROWS = 10

    def __init__(self) -> None:
        import IPython.display
        ipython: Any = IPython.display
        self._html = ipython.HTML
        self._handle = ipython.display(self._html(""), display_id=True)
        self._evaluations: List[Evaluation] = []
        self._status, self._live, self._next = "", "", 0.0
        self._state: Optional[JobState] = None
        self._pace = Pace()

    def show(self, event: Event) -> None:
        now = time.monotonic()
        if isinstance(event, (StateChanged, Ended)):
            self._status, self._state, self._live = state_line(event.job), event.job.state, ""
        elif isinstance(event, Evaluation):
            self._evaluations.append(event)
        elif isinstance(event, Progress):
            self._live = live_line(event, self._state, self._pace.left(event, now), 120)
            if now < self._next:
                return
        else:
            self._live = _away_line(event)
        self._next = now + 5 * _DRAW_SECONDS
        self._handle.update(self._html(self.text()))

    def text(self) -> str:
        """Returns the HTML."""
        rows = "".join(
            "<tr><td>%d</td><td>%g</td><td>%d</td><td>%s</td><td>%s</td></tr>" % (
                max(1, e.fit), round(e.fit_epoch if e.fit else e.epoch, 3), e.step,
                headline(e.train),
                headline(e.validation) if e.validation else "")
            for e in self._evaluations[-self.ROWS:])
        table = ("<table><tr><th>fit</th><th>epoch</th><th>step</th><th>training</th>"
                 "<th>validation</th></tr>%s</table>" % rows) if rows else ""
        plot = loss_plot([(e.epoch, e.train.loss) for e in self._evaluations],
                         [(e.epoch, e.validation.loss) for e in self._evaluations if e.validation])
        return "<div><b>%s</b><pre>%s</pre>%s%s</div>" % (
            html.escape(self._status), html.escape(self._live), plot, table)
