"""Evaluations as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Sequence

from ._facts import METRIC_NAMES
from .types import Evaluation, Metrics

if TYPE_CHECKING:
    import pandas

__all__ = ["history_columns", "history_frame"]


def history_columns(evaluations: Sequence[Evaluation]) -> Dict[str, List[Optional[float]]]:
    """Returns columns by name, with one value per evaluation, as in history.csv. It leaves out
    metrics that no evaluation has."""
    columns: Dict[str, List[Optional[float]]] = {
        "epoch": [e.epoch for e in evaluations],
        "step": [e.step for e in evaluations],
        "learning_rate": [e.learning_rate for e in evaluations],
    }
    for prefix, sets in (("", [e.train for e in evaluations]),
                         ("val_", [e.validation for e in evaluations])):
        for name in METRIC_NAMES:
            values = [metric(m, name) for m in sets]
            if any(v is not None for v in values):
                columns[prefix + name] = values
    return columns


def metric(metrics: Optional[Metrics], name: str) -> Optional[float]:
    """Returns a metric by its name, None if the evaluation does not have it."""
    value: Optional[float] = None if metrics is None else getattr(metrics, name)
    return value


def history_frame(evaluations: Sequence[Evaluation]) -> pandas.DataFrame:
    """Returns the same as a pandas frame. Raises ImportError without pandas."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("history() makes a pandas frame, and pandas is not installed: pip "
                          "install pandas, or use evaluations()") from error
    return pandas.DataFrame(history_columns(evaluations))
