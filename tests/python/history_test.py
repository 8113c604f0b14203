"""Evaluations as a table: the reports of a coordinator, and the columns of history.csv."""
import unittest

import pytest

import espalier
from espalier._convert import evaluation_of
from espalier._proto import types_pb2
from espalier._facts import METRIC_NAMES
from espalier.history import history_columns

pytestmark = pytest.mark.covers("bundle", "scoring")


def evaluation(epoch, loss, val_loss=None):
    def metrics(value):
        return espalier.Metrics(rows=10, weight=10, loss=value, accuracy=0.5)
    return espalier.Evaluation(job="job-1", epoch=epoch, step=10 * epoch, learning_rate=0.1,
                               train=metrics(loss),
                               validation=None if val_loss is None else metrics(val_loss))


class HistoryTest(unittest.TestCase):
    def test_history_has_the_columns_of_history_csv_and_no_empty_ones(self):
        columns = history_columns([evaluation(1, 2.0, 3.0), evaluation(2, 1.0)])
        self.assertEqual(list(columns), ["epoch", "step", "learning_rate", "loss", "accuracy",
                                         "val_loss", "val_accuracy"])
        self.assertEqual(columns["val_loss"], [3.0, None])
        self.assertEqual(METRIC_NAMES[0], "loss")

    def test_what_follows_from_classes_is_told_without_the_classes(self):
        row = types_pb2.HistoryRow(epoch=1, step=5)
        row.train.classification = True
        self.assertIsNone(evaluation_of(1, row).validation)
        for value in (0.25, 0.0):  # 0: no row was classified right
            row.validation.CopyFrom(types_pb2.Metrics(
                rows=10, weight=10, classification=True, precision=value, recall=value, f1=value))
            told = evaluation_of(1, row)
            self.assertEqual((told.validation.f1, told.validation.classes), (value, ()))
            self.assertEqual((told.train.precision, told.train.recall, told.train.f1), (None,) * 3)
            columns = history_columns([told])
            self.assertEqual(columns["val_precision"], [value])
            self.assertNotIn("precision", columns)

    def test_a_regression_has_no_such_metrics(self):
        row = types_pb2.HistoryRow(epoch=1, step=5)
        row.validation.rmse = 2
        told = evaluation_of(1, row).validation
        self.assertEqual((told.rmse, told.accuracy, told.f1), (2, None, None))


if __name__ == "__main__":
    unittest.main()
