"""Course of a fit, and quality of a classifier with the names of Spark's summaries. Each number of
the latter is computed as Spark's MulticlassMetrics does."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from functools import cached_property
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import BadInputError, FailedPreconditionError, InvalidArgumentError
from ..types import JobResult
from .rows import column, type_of


_FORMAT = 1  # of summary.json; a later one of the same number may have further keys


@dataclasses.dataclass(frozen=True)
class FitSummary:
    """Course of a fit, which is saved with the model.

    Attributes:
        history: the learning curve: columns by name, with a value for each evaluation. "loss" and
            other metrics are those of the training rows, "val_loss" and others those of the
            validation rows. None: the evaluation does not have it.
        bestEpoch: epoch of the saved weights, if early stopping restores the best; None: it does
            not, or the model averages several fits.
        totalIterations: number of steps.
        rows: number of training rows.
        seconds: time of the training, without the wait for workers and the profiling pass.
    """

    history: Dict[str, List[Optional[float]]]
    bestEpoch: Optional[float]
    totalIterations: int
    rows: int
    seconds: float

    @classmethod
    def of(cls, result: JobResult, history: str) -> FitSummary:
        """`history`: text of history.csv; "" if it could not be read."""
        rows = list(csv.DictReader(io.StringIO(history)))
        columns = {name: [float(row[name]) if row[name] else None for row in rows]
                   for name in (rows[0] if rows else ())}
        return cls(columns, result.best_epoch, result.steps, result.rows_per_epoch,
                   result.timing.train_seconds)

    def to_json(self) -> bytes:
        return json.dumps(dict(format=_FORMAT, **dataclasses.asdict(self))).encode()

    @classmethod
    def from_json(cls, text: bytes) -> FitSummary:
        """Reads the result of `to_json`, and ignores unknown keys. Raises BadInputError."""
        try:
            read = json.loads(text)
            if read.get("format", _FORMAT) != _FORMAT:
                raise ValueError("found format %s, expected %d" % (read["format"], _FORMAT))
            return cls(**{f.name: read[f.name] for f in dataclasses.fields(cls)})
        except KeyError as error:
            raise BadInputError("summary.json of the model does not have %s" % error) from error
        except (AttributeError, TypeError, ValueError) as error:
            raise BadInputError("summary.json of the model: %s" % error) from error


class MultilayerPerceptronClassificationSummary:
    """Summary of rows with known labels: pyspark.ml.classification's class of this name. It scores
    all rows once, when a number is first requested.

    Attributes:
        predictions: the rows with the columns that `transform` adds.
        predictionCol, labelCol, weightCol: names of its columns. weightCol is "", as in Spark:
            each row counts as one.
    """

    weightCol = ""

    def __init__(self, predictions: DataFrame, predictionCol: str, labelCol: str) -> None:
        type_of(predictions, labelCol, "labelCol")  # raises if it is missing
        self.predictions = predictions
        self.predictionCol, self.labelCol = predictionCol, labelCol

    @cached_property
    def _counts(self) -> Tuple[List[Any], Any, Any, Any, float]:
        """Returns the labels that occur, in order. For each: the rows that have it, the rows
        predicted to have it, and the rows where both are true. Also returns the number of all
        rows."""
        kind = self.predictions.schema[self.predictionCol].dataType
        pairs = self.predictions.select(
            column(self.labelCol).cast(kind).alias("label"),
            column(self.predictionCol).alias("said")).groupBy("label", "said").agg(
            F.count(F.lit(1)).alias("rows")).collect()
        if not pairs:
            raise InvalidArgumentError("the frame has no rows to evaluate")
        if any(pair.label is None for pair in pairs):
            raise InvalidArgumentError("labelCol: column '%s' has rows without a label, or with "
                                       "one that is not a %s" %
                                       (self.labelCol, kind.simpleString()))
        labels = sorted({pair.label for pair in pairs})

        def rows(wanted: Any) -> Any:
            return np.array([sum(p.rows for p in pairs if wanted(p, label)) for label in labels],
                            float)
        have = rows(lambda p, label: p.label == label)
        return (labels, have, rows(lambda p, label: p.said == label),
                rows(lambda p, label: p.label == label == p.said), float(have.sum()))

    def _weighted(self, values: List[float]) -> float:
        _, have, _, _, total = self._counts
        return float(have @ np.array(values) / total)

    @property
    def labels(self) -> List[Any]:
        """Labels that occur, in order. The lists below have one number for each."""
        return list(self._counts[0])

    @property
    def accuracy(self) -> float:
        """Share of the rows that are right."""
        _, _, _, right, total = self._counts
        return float(right.sum() / total)

    @property
    def precisionByLabel(self) -> List[float]:
        """For each label, the share of the rows predicted to have it that have it; 0 without such
        rows."""
        _, _, said, right, _ = self._counts
        return _divided(right, said)

    @property
    def recallByLabel(self) -> List[float]:
        """For each label, the share of the rows that have it that are predicted to have it."""
        _, have, _, right, _ = self._counts
        return _divided(right, have)

    @property
    def truePositiveRateByLabel(self) -> List[float]:
        """The same as recallByLabel."""
        return self.recallByLabel

    @property
    def falsePositiveRateByLabel(self) -> List[float]:
        """For each label, the share of the rows with another label that are predicted to have this
        one."""
        _, have, said, right, total = self._counts
        return _divided(said - right, total - have)

    def fMeasureByLabel(self, beta: float = 1.0) -> List[float]:
        """(1 + beta^2) precision recall / (beta^2 precision + recall)."""
        precision, recall = np.array(self.precisionByLabel), np.array(self.recallByLabel)
        square = beta * beta
        return _divided((1 + square) * precision * recall, square * precision + recall)

    @property
    def weightedPrecision(self) -> float:
        """precisionByLabel, weighted by the rows that have the label. So are the metrics below."""
        return self._weighted(self.precisionByLabel)

    @property
    def weightedRecall(self) -> float:
        return self._weighted(self.recallByLabel)

    @property
    def weightedTruePositiveRate(self) -> float:
        return self.weightedRecall

    @property
    def weightedFalsePositiveRate(self) -> float:
        return self._weighted(self.falsePositiveRateByLabel)

    def weightedFMeasure(self, beta: float = 1.0) -> float:
        return self._weighted(self.fMeasureByLabel(beta))


class MultilayerPerceptronClassificationTrainingSummary(MultilayerPerceptronClassificationSummary):
    """Summary of the frame that the model was fitted to, and history of the fit."""

    def __init__(self, predictions: DataFrame, predictionCol: str, labelCol: str,
                 losses: List[float]) -> None:
        super().__init__(predictions, predictionCol, labelCol)
        self._losses = losses

    @property
    def objectiveHistory(self) -> List[float]:
        """Loss at the start and after each iteration."""
        if not self._losses:
            raise FailedPreconditionError("the losses of the iterations were not read: their file "
                                          "was too long, or not in the bundle")
        return list(self._losses)

    @property
    def totalIterations(self) -> int:
        """Number of iterations."""
        return len(self.objectiveHistory) - 1


def _divided(above: Any, below: Any) -> List[float]:
    """Divides; 0 if the denominator is 0."""
    return [float(x) for x in np.divide(above, below, out=np.zeros(len(below)), where=below != 0)]
