"""Tests the output of a running fit and the files that it leaves after each kind of end."""
import glob
import io
import os
import signal
import sys
import threading
import time
import unittest
import warnings
from unittest import mock

from py4j.protocol import Py4JError
from pyspark.sql import functions as F

import sparks
from sparks import daemons

import espalier
from espalier.spark import EspalierClassifier
from espalier.spark import estimator as estimators
from espalier.spark import files

ENDLESS = 10 ** 7


class Terminal(io.StringIO):
    def isatty(self):
        return True


class PlaceTest(unittest.TestCase):
    """Tests the directory of a fit without Spark."""

    def leave(self, error=None, *left):
        """Leaves the directory with `error`. Returns how often the directory is removed, the
        seconds of sleep, and the number of removals of other paths."""
        removed, slept = [], []

        def remove(_, where):
            removed.append(where)
        with mock.patch.object(files, "remove", remove), \
                mock.patch.object(estimators.time, "sleep", slept.append):
            try:
                with estimators._place_in(None, "hdfs://nn/", "me", left) as where:
                    self.assertRegex(where, "^hdfs://nn/espalier-me-[0-9a-f]{12}$")
                    if error:
                        raise error
            except type(error) as raised:
                self.assertIs(raised, error)
        self.assertEqual(removed, [p for p in removed if p in (where,) + left])
        return removed.count(where), sum(slept), len(removed) - removed.count(where)

    def test_what_is_written_late_goes_too(self):
        for error in (KeyboardInterrupt(), espalier.UnavailableError("gone"), MemoryError(),
                      espalier.JobFailedError("job-1", espalier.BadInputError("row"))):
            self.assertEqual(self.leave(error), (4, 3.0, 0))
            self.assertEqual(self.leave(error, "/out.checkpoints"), (4, 3.0, 4))

    def test_nobody_waits_when_nobody_writes(self):
        for error in (None, espalier.InvalidArgumentError("layers")):
            self.assertEqual(self.leave(error, "/out.checkpoints"), (1, 0, 0))

    def test_checkpoints_stay_for_a_job_that_speaks_of_them(self):
        for spec, keeps in (({}, False), ({"train": {"epochs": 1}}, False), ({"train": 1}, False),
                            ({"train": {"checkpoint": None}}, True), ({"resume": "/m"}, True)):
            self.assertEqual(estimators._keeps_checkpoints(spec), keeps, spec)

    def test_a_removal_that_is_refused_is_an_error(self):
        for gone, there in ((True, True), (False, False), (False, True)):
            fs = mock.Mock(**{"delete.return_value": gone, "exists.return_value": there})
            with mock.patch.object(files, "_path", return_value=("/work", fs)):
                if gone or not there:
                    files.remove(None, "/work")
                else:
                    self.assertRaisesRegex(OSError, "refuses", files.remove, None, "/work")
            fs.delete.assert_called_once_with("/work", True)

    def test_a_removal_that_fails_is_a_warning_and_not_the_fits_end(self):
        away = mock.patch.object(files, "remove", side_effect=OSError("safe mode"))
        with away, self.assertWarnsRegex(UserWarning, "/espalier-me-.* removed: safe mode"):
            with estimators._place_in(None, "/work", "me"):
                model = "trained"
        self.assertEqual(model, "trained")
        with away, self.assertWarns(UserWarning), \
                self.assertRaisesRegex(espalier.InvalidArgumentError, "the real one"):
            with estimators._place_in(None, "/work", "me"):
                raise espalier.InvalidArgumentError("the real one")

    def test_a_job_that_may_go_on_is_told(self):
        job = mock.MagicMock(id="job-7")
        job.cancel.side_effect = espalier.UnavailableError("not reached")
        with self.assertWarnsRegex(UserWarning, "job-7 could not be cancelled.*: not reached"):
            estimators._end(job)
        for error in (None, espalier.FailedPreconditionError("over"),
                      espalier.NotFoundError("none")):
            job.cancel.side_effect = error
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                estimators._end(job)


class EndsTest(daemons.EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.spark = sparks.session(cls)
        cls.frame = cls.spark.range(400).selectExpr("id % 7 x", "cast(id % 2 as double) label")

    def setUp(self):
        super().setUp()
        self.work = self.path("work")

    def estimator(self, cluster, **options):
        return EspalierClassifier(**dict(dict(
            coordinator=cluster.address, workDirectory=self.work, inputCols=["x"], verbose=False,
            maxIter=3), **options))

    def assert_clean(self):
        self.assertEqual(os.listdir(self.work), [])

    def interrupt(self, estimator, frame, when, error=KeyboardInterrupt):
        """Interrupts a fit, as Ctrl-C does, once `when` is true."""
        def at_once():
            try:
                daemons.wait_for("the moment to interrupt", when, sparks.LIMIT_S)
            finally:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        thread = threading.Thread(target=at_once)
        thread.start()
        with self.assertRaises(error):
            estimator.fit(frame)
        thread.join()

    def interrupt_job(self, workers, state, then=lambda: True, **options):
        """Interrupts a fit once its job is in `state` and the fit waits for the result."""
        cluster = daemons.Cluster(self, workers)
        waits, result = threading.Event(), espalier.Job.result

        def told(job, **options):
            waits.set()
            return result(job, **options)
        with espalier.connect(cluster.address) as client, \
                mock.patch.object(espalier.Job, "result", told):
            estimator = self.estimator(cluster, maxIter=ENDLESS, **options)
            self.interrupt(estimator, self.frame, lambda: (
                waits.is_set() and client.jobs()[0].state == state and then()))
            daemons.wait_for("the end of the job", lambda: client.jobs()[0].state == "CANCELLED",
                             sparks.LIMIT_S)
        self.assert_clean()

    def test_an_interrupt_cancels_a_job_that_trains(self):
        self.interrupt_job(1, "TRAINING")

    def test_an_interrupt_cancels_a_job_that_waits(self):
        self.interrupt_job(0, "QUEUED")

    def test_an_interrupt_leaves_checkpoints_only_where_they_were_asked_for(self):
        made = self.path("model.checkpoints")

        def plant():  # writes checkpoints as a longer training would
            os.makedirs(made)
            open(os.path.join(made, "some"), "w").close()
            return True
        for job, stay in (("", False), ("{train: {checkpoint: {every: 1 h}}}", True)):
            self.interrupt_job(1, "TRAINING", plant, output=self.path("model"), job=job)
            self.assertEqual(os.path.exists(made), stay)
            self.assertFalse(os.path.exists(self.path("model")))

    def test_an_interrupt_while_rows_are_written_leaves_nothing(self):
        """The removal is repeated for tasks that still run after the interrupt."""
        cluster = daemons.Cluster(self, 1)
        begun, go = self.path("begun"), self.path("go")
        os.mkdir(begun)

        @F.udf("double")
        def slow(x):
            open(os.path.join(begun, str(x)), "w").close()
            while not os.path.exists(go):
                time.sleep(0.02)
            return float(x)
        tracker = self.spark.sparkContext._jsc.sc().statusTracker()

        def let_them_go_on(_):
            open(go, "w").close()
            daemons.wait_for("the end of the tasks", lambda: not any(
                e.numRunningTasks() for e in tracker.getExecutorInfos()), sparks.LIMIT_S)
        frame = self.spark.range(0, 40, 1, 4).select(slow("id").alias("x"), "id")
        estimator = self.estimator(cluster, labelCol="id")
        with mock.patch.object(estimators, "time", mock.Mock(sleep=let_them_go_on)):
            self.interrupt(estimator, frame, lambda: len(os.listdir(begun)) == 2 and glob.glob(
                os.path.join(self.work, "*", "rows", "_temporary")),
                (KeyboardInterrupt, Py4JError))  # PySpark may turn the interrupt into a Py4JError
        self.assert_clean()
        self.assertLess(max(map(int, os.listdir(begun))), 20, "further tasks have begun")
        with espalier.connect(cluster.address) as client:
            self.assertEqual(client.jobs(), [])
        # Spark still works, and so does the connection to its JVM.
        self.assertEqual(self.spark.range(5).count(), 5)

    def test_a_fit_shows_its_progress_in_a_terminal_unless_it_is_told_not_to(self):
        cluster = daemons.Cluster(self, 1)
        shown = {}
        for verbose in (True, False):
            with mock.patch.object(sys, "stderr", Terminal()) as terminal:
                self.estimator(cluster, verbose=verbose).fit(self.frame)
            shown[verbose] = terminal.getvalue()
        self.assertRegex(shown[True], r"job-1 training: \d+ leaves on 1 worker \(node-1\)")
        self.assertRegex(shown[True], r"epoch 3(/3)?  loss ")
        self.assertNotIn("epoch", shown[False])

    def test_beside_the_output_is_where_it_works_if_nothing_else_is_said(self):
        cluster = daemons.Cluster(self, 1)
        seen, submit = [], espalier.Client.submit

        def look(client, spec):
            seen.append((spec["data"]["train"], spec["output"]["path"], os.listdir(self.work)))
            return submit(client, spec)
        os.mkdir(self.work)
        with mock.patch.object(espalier.Client, "submit", look):
            estimator = self.estimator(cluster, workDirectory="",
                                       output=os.path.join(self.work, "model"))
            estimator.fit(self.frame)
            # Training on Parquet files writes no rows, neither in this directory nor elsewhere.
            self.frame.selectExpr("x", "x > 3 large", "label").write.parquet(self.path("rows"))
            estimator.setInputCols(["x", "large"]).fit_on_parquet(self.path("rows", "*.parquet"))
        (rows, output, _), (pattern, _, there) = seen
        self.assertEqual((os.path.dirname(os.path.dirname(rows)), output),
                         (self.work, os.path.join(self.work, "model")))
        self.assertEqual((pattern, there), (self.path("rows", "*.parquet"), ["model"]))
        self.assertEqual(os.listdir(self.work), ["model"])
        for root in ("hdfs://127.0.0.1:1/", "/"):
            for path in (root + "model", root + "model/"):
                self.assertEqual(files.for_jobs(files.parent(self.spark, path)), root)


if __name__ == "__main__":
    unittest.main()
