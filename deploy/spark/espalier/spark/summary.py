"""How good a classifier is, in the words of Spark's summaries; each number is computed as Spark's
MulticlassMetrics does."""

from __future__ import annotations

from functools import cached_property
from typing import Any, List, Tuple

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import FailedPreconditionError, InvalidArgumentError
from .rows import column, type_of


class MultilayerPerceptronClassificationSummary:
    """Of rows whose labels are known: pyspark.ml.classification's class of this name. The rows are
    scored when a number is asked for first, once for all of them.

    Attributes:
        predictions: the rows with what `transform` adds.
        predictionCol, labelCol, weightCol: names of its columns; weightCol is "", as in Spark's:
            each row counts as one.
    """

    weightCol = ""

    def __init__(self, predictions: DataFrame, predictionCol: str, labelCol: str) -> None:
        type_of(predictions, labelCol, "labelCol")  # raises when there is none
        self.predictions = predictions
        self.predictionCol, self.labelCol = predictionCol, labelCol

    @cached_property
    def _counts(self) -> Tuple[List[Any], Any, Any, Any, float]:
        """The labels that occur, in order; of each the rows that have it, those that are said to
        have it, and those of which both is true; and all rows."""
        kind = self.predictions.schema[self.predictionCol].dataType
        pairs = self.predictions.select(
            column(self.labelCol).cast(kind).alias("label"),
            column(self.predictionCol).alias("said")).groupBy("label", "said").agg(
            F.count(F.lit(1)).alias("rows")).collect()
        if not pairs:
            raise InvalidArgumentError("the frame has no rows to judge by")
        if any(pair.label is None for pair in pairs):
            raise InvalidArgumentError("labelCol: column '%s' has rows without a label, or with "
                                       "one that is no %s" % (self.labelCol, kind.simpleString()))
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
        """The labels that occur, in order; the lists below have a number for each."""
        return list(self._counts[0])

    @property
    def accuracy(self) -> float:
        """The share of the rows that are right."""
        _, _, _, right, total = self._counts
        return float(right.sum() / total)

    @property
    def precisionByLabel(self) -> List[float]:
        """Of the rows that are said to have the label the share that has it; 0 of none."""
        _, _, said, right, _ = self._counts
        return _divided(right, said)

    @property
    def recallByLabel(self) -> List[float]:
        """Of the rows that have the label the share that is said to."""
        _, have, _, right, _ = self._counts
        return _divided(right, have)

    @property
    def truePositiveRateByLabel(self) -> List[float]:
        """The same as recallByLabel."""
        return self.recallByLabel

    @property
    def falsePositiveRateByLabel(self) -> List[float]:
        """Of the rows that have another label the share that is said to have this one."""
        _, have, said, right, total = self._counts
        return _divided(said - right, total - have)

    def fMeasureByLabel(self, beta: float = 1.0) -> List[float]:
        """(1 + beta^2) precision recall / (beta^2 precision + recall)."""
        precision, recall = np.array(self.precisionByLabel), np.array(self.recallByLabel)
        square = beta * beta
        return _divided((1 + square) * precision * recall, square * precision + recall)

    @property
    def weightedPrecision(self) -> float:
        """precisionByLabel, weighted by the rows that have the label; so are those below."""
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
    """The same of the frame that the model was fitted to, and how it came to it."""

    def __init__(self, predictions: DataFrame, predictionCol: str, labelCol: str,
                 losses: List[float]) -> None:
        super().__init__(predictions, predictionCol, labelCol)
        self._losses = losses

    @property
    def objectiveHistory(self) -> List[float]:
        """The loss at the start and after each iteration."""
        if not self._losses:
            raise FailedPreconditionError("the losses of the iterations were not read: their file "
                                          "was too long, or not in the bundle")
        return list(self._losses)

    @property
    def totalIterations(self) -> int:
        """How many there were."""
        return len(self.objectiveHistory) - 1


def _divided(above: Any, below: Any) -> List[float]:
    """0 where nothing is to be divided by."""
    return [float(x) for x in np.divide(above, below, out=np.zeros(len(below)), where=below != 0)]
