"""Tests the Spark estimators and models without a JVM and without a cluster."""
import os
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import espalier
from espalier.spark import EspalierClassifier, EspalierModel
from espalier.spark import estimator as estimators
from espalier.spark import model as models

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
import bundles  # noqa: E402


def bytes_of(folder):
    """Returns the contents of a bundle's two files."""
    found = []
    for name in ("model.json", "weights.safetensors"):
        with open(os.path.join(folder, name), "rb") as f:
            found.append(f.read())
    return found


class FitTest(unittest.TestCase):
    def fit(self, **job):
        """Returns the type of error that _run raises and how often it cancels the job. Checks that
        `begun` is called for the job."""
        cluster, begun = mock.MagicMock(), mock.Mock()
        job = mock.MagicMock(**job)
        cluster.__enter__.return_value.submit.return_value = job
        with mock.patch.object(estimators, "connect", return_value=cluster):
            try:
                EspalierClassifier(verbose=False, startTimeout=1.0)._run({}, begun)
            except BaseException as error:
                return type(error), job.cancel.call_count
            finally:
                begun.assert_called_once_with()
        return None, job.cancel.call_count

    def test_a_job_is_cancelled_however_its_fit_ends_early(self):
        for error in (KeyboardInterrupt(), espalier.UnavailableError("gone"), MemoryError(),
                      espalier.AbortedError("restarted"), SystemExit(1)):
            self.assertEqual(self.fit(**{"result.side_effect": error}), (type(error), 1))
            self.assertEqual(self.fit(**{"watch.side_effect": error}), (type(error), 1))
        late = espalier.DeadlineExceededError("late")
        self.assertEqual(self.fit(**{"watch.side_effect": late}), (type(late), 1))
        gone = {"result.side_effect": KeyboardInterrupt(),
                "cancel.side_effect": espalier.UnavailableError("gone")}
        self.assertEqual(self.fit(**gone), (KeyboardInterrupt, 1))

    def test_a_job_that_has_ended_is_not_cancelled(self):
        cause = espalier.BadInputError("bad row")
        for error in (espalier.JobFailedError("job-1", cause),
                      espalier.JobCancelledError("job-1", cause)):
            self.assertEqual(self.fit(**{"result.side_effect": error}), (type(error), 0))
        self.assertEqual(self.fit(), (None, 0))

    def test_a_job_that_is_refused_has_not_begun(self):
        cluster, begun = mock.MagicMock(), mock.Mock()
        cluster.__enter__.return_value.submit.side_effect = espalier.NotFoundError("no input")
        with mock.patch.object(estimators, "connect", return_value=cluster), \
                self.assertRaises(espalier.NotFoundError):
            EspalierClassifier()._run({}, begun)
        begun.assert_not_called()


class ColumnsTest(unittest.TestCase):
    def test_a_column_called_as_a_range_is_refused(self):
        columns = EspalierClassifier(labelCol="1..3")
        spec = columns.job_spec("classification", "/rows", ["08", "1..x", "auto"], "/out")
        self.assertEqual(spec["data"]["features"]["columns"], ["08", "1..x", "auto"])
        for name in ("1..3", "08..09", "-1..2"):
            with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                        "inputCols: found '%s', .*range" % name):
                columns.job_spec("classification", "/rows", ["a", name], "/out")


class WorkerTest(unittest.TestCase):
    def test_a_model_of_several_targets_has_no_prediction_column(self):
        tensors = {"layers.0.weight": np.ones((2, 1)), "layers.0.bias": np.zeros(2)}
        targets = [{"name": name, "shift": 0, "factor": 1} for name in "ab"]
        with tempfile.TemporaryDirectory() as folder:
            bundles.write(folder, bundles.document(1, {"task": "regression", "hidden": []},
                                                   targets=targets), tensors)
            files = bytes_of(folder)
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "a model of 2 targets"):
            EspalierModel._of(*files)

    def test_models_with_equal_weights_are_told_apart_in_a_worker(self):
        tensors = {"layers.0.weight": np.array([[1.0], [0.0]]), "layers.0.bias": np.zeros(2)}
        made = []
        with tempfile.TemporaryDirectory() as folder:
            for classes in (["a", "b"], ["c", "d"]):
                bundles.write(folder, bundles.document(1, {"hidden": []}, classes=classes), tensors)
                made.append(EspalierModel._of(*bytes_of(folder)))
        self.assertEqual(made[0].model().weights_sha256, made[1].model().weights_sha256)
        with mock.patch.object(models, "_loaded", []):
            first, second = (models._model_of(m._digest(), mock.Mock(value=m._bundle))
                             for m in made)
            again = models._model_of(made[1]._digest(), mock.Mock(value=None))
        self.assertEqual((first.classes, second.classes), (("a", "b"), ("c", "d")))
        self.assertIs(again, second)

    def test_another_model_than_the_one_asked_for_is_refused_in_a_worker(self):
        tensors = {"layers.0.weight": np.array([[1.0], [0.0]]), "layers.0.bias": np.zeros(2)}
        with tempfile.TemporaryDirectory() as folder:
            bundles.write(folder, bundles.document(1, {"hidden": []}, classes=["a", "b"]), tensors)
            files = bytes_of(folder)
        with mock.patch.object(models, "_loaded", []), \
                self.assertRaisesRegex(espalier.InternalError, "in place of 0123456789abcdef"):
            models._model_of("0123456789abcdef" * 4, mock.Mock(value=files))


class LabelsTest(unittest.TestCase):
    def test_labels_are_numbers_where_all_are_spelt_as_such_and_differ(self):
        for classes, labels, positions in (
                (("0", "1"), [0, 1], ([0, 1], 2)), (("2", "0"), [2, 0], ([2, 0], 3)),
                (("-1", "1"), [-1, 1], ([0, 1], 2)), (("0.5", "1e-05"), [0.5, 1e-5], ([0, 1], 2)),
                (("0", "1000000"), [0, 1e6], ([0, 1], 2)), ((), [], ([], 0))):
            self.assertEqual(models._labels(classes), labels)
            self.assertEqual(models._positions(classes), positions)
        for classes in (("1", "01"), ("nan", "inf"), ("1_0", "2"), (" 1", "2"), ("+1", "2"),
                        ("1e999", "2"), ("9007199254740992", "9007199254740993"), ("\u0661", "2"),
                        ("1", "1.0"), (b"1", b"2"), ("", "1")):
            self.assertEqual(models._labels(classes), [str(c) for c in classes])
            self.assertEqual(models._positions(classes), ([0, 1], 2))


if __name__ == "__main__":
    unittest.main()
