"""Tests deploy/spark/submit.py with a real spark-submit in client mode. Tests its exit codes in
this process, where a session starts faster."""
import contextlib
import importlib.util
import io
import json
import os
import signal
import unittest
from unittest import mock

import sparks
from sparks import daemons

import espalier

SCRIPT = os.path.join(sparks.DEPLOY, "submit.py")


class SubmitterTest(daemons.EspalierTest):
    """Starts a cluster of one worker and writes a table."""

    def setUp(self):
        super().setUp()
        self.cluster = daemons.Cluster(self, 1)
        self.client = espalier.connect(self.cluster.address)
        self.addCleanup(self.client.close)
        self.rows = self.classes_csv("rows.csv", 300)


class SubmitTest(SubmitterTest):
    def test_a_job_is_followed_to_its_model_which_is_that_of_the_command_line(self):
        job = self.job("far", dict(self.classes_spec("rows.csv"), output="far"))  # relative paths
        said = sparks.run(self, SCRIPT, job, "--coordinator", self.cluster.address)
        there = espalier.load(self.path("far"))
        self.assertIn("bundle     %s\nweights    %s" % (self.path("far"), there.weights_sha256),
                      said)
        self.assertRegex(said, r"validation +loss \d\.\d+  accuracy \d")
        self.assertIn("epoch 3/3", said)
        here = self.job("here", self.classes_spec(self.rows))
        self.assertEqual(self.cluster.result("submit", here)["weights_sha256"],
                         there.weights_sha256)

    def running(self):
        """Returns a running spark-submit whose job trains."""
        process = sparks.start(self, SCRIPT, self.job("long", self.long_spec(self.rows)),
                               "--coordinator", self.cluster.address)
        sparks.await_training(self, process, self.client)
        return process

    def await_cancelled(self):
        daemons.wait_for("the end of the job",
                         lambda: self.client.jobs()[-1].state == "CANCELLED", 60)

    def test_ctrl_c_cancels_the_job(self):
        process = self.running()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        sparks.finish(self, process, 130)
        self.await_cancelled()

    def test_a_killed_jvm_takes_its_job_along(self):
        process = self.running()
        process.kill()
        self.await_cancelled()
        process.communicate(timeout=60)


def script():
    spec = importlib.util.spec_from_file_location("submit", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class WordsTest(daemons.EspalierTest):
    """Tests of the script that need neither Spark nor a cluster."""

    def setUp(self):
        super().setUp()
        self.submit = script()

    def test_each_error_has_the_code_of_the_command_line(self):
        for kind, code in ((espalier.UnavailableError, 3), (espalier.DeadlineExceededError, 3),
                           (espalier.UnimplementedError, 2), (espalier.NotFoundError, 2),
                           (espalier.AbortedError, 1), (espalier.ResourceExhaustedError, 1)):
            error = kind("why")
            self.assertEqual(self.submit.code_of(error), code, kind)
            self.assertEqual(self.submit.code_of(error, own_cluster=True), 1 if code == 3 else code)
            self.assertEqual(self.submit.code_of(espalier.JobFailedError("job-1", error)), 1)
            error.answered = True
            self.assertEqual(self.submit.code_of(error), 1 if code == 3 else code)

    def test_a_signal_does_not_end_the_clean_up_of_another_end(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.addCleanup(signal.signal, number, signal.getsignal(number))
        cancelled = []

        def cancel():
            os.kill(os.getpid(), signal.SIGTERM)  # sent when the JVM ends
            os.kill(os.getpid(), signal.SIGINT)
            cancelled.append(True)
        for end in (BrokenPipeError, KeyboardInterrupt):
            self.submit.obey_signals()
            with self.assertRaises(end):
                self.submit.follow(mock.Mock(**{"result.side_effect": end, "cancel": cancel}))
        self.assertEqual(cancelled, [True, True])

    def test_a_job_file_that_was_sent_along_has_lost_its_directory(self):
        sent = self.path("sent")
        os.mkdir(sent)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.directory)
        with mock.patch.object(self.submit, "SparkFiles", mock.Mock(
                get=lambda name: os.path.join(sent, name))):
            def read(mode):
                spark = mock.Mock(**{"conf.get.return_value": mode})
                return self.submit.read_job(spark, "conf/job.yaml")
            self.write("job.yaml", "output: /here\n")  # as in a YARN container
            self.assertIn("output: /here", read("cluster"))
            with self.assertRaisesRegex(espalier.NotFoundError, "conf/job.yaml does not exist"):
                read("client")  # in client mode the working directory may have another job.yaml
            self.write("sent/job.yaml", "output: /sent\n")
            self.assertIn("output: /sent", read("client"))
            os.mkdir(self.path("conf"))
            self.write("conf/job.yaml", "output: /named\n")
            self.assertIn("output: /named", read("cluster"))


class ExitCodeTest(SubmitterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.submit = script()
        cls.spark = sparks.session(cls)

    def main(self, *arguments):
        """Runs the script in this process. Returns (exit code, output)."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = self.submit.outcome(self.spark, self.submit.parse(list(arguments)))
        return code, said.getvalue()

    def test_it_ends_as_the_job_does(self):
        address = ["--coordinator", self.cluster.address]
        bad = self.write("bad.csv", "label,f0\n1,2\n0,many\n")
        for name, spec, where, code, words in (
                ("good", self.classes_spec(self.rows), address, 0, "bundle +/.*good"),
                ("failed", self.classes_spec(bad), address, 1, "error: .*found 'many'"),
                ("wrong", dict(self.classes_spec(self.rows), trian={}), address, 2,
                 "error: .*'trian'"),
                ("alone", self.classes_spec(self.rows), ["--coordinator", "127.0.0.1:1"], 3,
                 "error: .*127.0.0.1:1 cannot be reached")):
            found, said = self.main(self.job(name, spec), *where)
            self.assertRegex(said, words)
            self.assertEqual(found, code, name)
        evaluation = self.write("judged.yaml", json.dumps(
            {"evaluate": {"model": self.path("good.bundle"), "data": self.rows}}))
        found, said = self.main(evaluation, *address)
        self.assertEqual(found, 0, said)
        self.assertRegex(said, r"(?m)^test +loss .*\nrows       300 scored, 0 rejected$")
        found, said = self.main("none.yaml", *address)
        self.assertEqual(found, 2)
        self.assertIn("the job file none.yaml does not exist", said)

    def test_a_detached_job_outlives_it(self):
        job = self.job("long", self.long_spec(self.rows))
        found, said = self.main(job, "--coordinator", self.cluster.address, "--detach")
        self.assertEqual((found, said), (0, "job-1 at %s\n" % self.cluster.address))
        daemons.wait_for("the training of the job",
                         lambda: self.client.jobs()[0].state == "TRAINING", 60)
        self.client.cancel("job-1")

    def test_a_job_file_may_lie_where_spark_reads_it(self):
        job = self.job("far", self.classes_spec(self.rows))
        found, said = self.main("file:" + job, "--coordinator", self.cluster.address)
        self.assertEqual(found, 0, said)


if __name__ == "__main__":
    unittest.main()
