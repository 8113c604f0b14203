"""Tests launch_on_spark on a Spark with several executors: separate processes, one task each."""
import os
import shutil
import signal
import tarfile
import tempfile
import threading
import unittest

import pyspark
import sparks
from sparks import daemons

import espalier
from espalier.spark import EspalierClassifier, launch_on_spark

EXECUTOR = "CoarseGrainedExecutorBackend"


def parent(pid):
    with open("/proc/%d/stat" % pid) as f:
        return int(f.read().rsplit(")", 1)[1].split()[1])


class LaunchTest(daemons.EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Workers pause before each step, so that a job outlasts the replacement of a killed worker
        # even on a fast machine.
        os.environ["ESPALIER_HOME"] = home = tempfile.mkdtemp(prefix="espalier-home-")
        cls.addClassCleanup(shutil.rmtree, home)
        cls.addClassCleanup(os.environ.pop, "ESPALIER_HOME")
        build = os.path.join(daemons.ROOT, "build")
        os.mkdir(os.path.join(home, "bin"))
        for name, program in (("espalier", "bin/espalier"),
                              ("espalier-coordinator", "bin/espalier-coordinator"),
                              ("espalier-worker", "testing/telltale-worker")):
            os.symlink(os.path.join(build, program), os.path.join(home, "bin", name))
        # Executors that start later fetch the package, too.
        cls.packages = tempfile.mkdtemp(prefix="espalier-package-")
        cls.addClassCleanup(shutil.rmtree, cls.packages)
        # Spark puts the executors of a local cluster in its installation directory.
        cls.addClassCleanup(shutil.rmtree, os.path.join(os.path.dirname(pyspark.__file__), "work"),
                            ignore_errors=True)
        cls.spark = sparks.session(cls, "local-cluster[3,1,512]",
                                   **{"spark.executor.memory": "512m",
                                      # The JVM may be older than this class.
                                      "spark.executorEnv.ESPALIER_HOME": home,
                                      "spark.executorEnv.ESPALIER_TELLTALE_PAUSE": "4"})

    def setUp(self):
        super().setUp()
        self.rows = self.classes_csv("rows.csv", 2000)
        self.name = "w%d" % os.getpid()

    def launch(self, workers, **options):
        options.setdefault("start_timeout", sparks.LIMIT_S)
        return launch_on_spark(self.spark, workers, name=self.name, **options)

    def workers(self):
        return sparks.processes("%s:" % self.name)

    def assert_gone(self):
        daemons.wait_for("the end of the workers", lambda: not self.workers(), 60)
        self.assertEqual(sparks.processes("espalier-spark-"), [])
        self.assertFalse([v for v in os.environ if v.startswith("ESPALIER_") and
                          not v.startswith("ESPALIER_TEST_") and
                          v != "ESPALIER_HOME"])
        daemons.wait_for("free slots", lambda: not
                         self.spark.sparkContext.statusTracker().getActiveJobsIds(), 60)

    def spec(self, name, epochs):
        return dict(self.classes_spec(self.rows, epochs=epochs), name=name,
                    output=self.path(name))

    def test_a_fit_on_workers_in_executors_and_nothing_is_left(self):
        package = os.path.join(self.packages, "espalier-9.tar.gz")
        with tarfile.open(package, "w:gz", compresslevel=1) as tar:
            for folder in ("bin", "lib"):
                tar.add(os.path.join(daemons.ROOT, "build", folder), "espalier-9/" + folder)
        home = os.environ.pop("ESPALIER_HOME")
        self.addCleanup(os.environ.__setitem__, "ESPALIER_HOME", home)
        with self.launch(2, package=package) as cluster:
            self.assertEqual(len(self.workers()), 2)
            self.assertEqual(len({parent(parent(parent(p))) for p in self.workers()}), 2)
            frame = self.spark.read.csv(self.rows, header=True, inferSchema=True)
            model = EspalierClassifier(
                inputCols=frame.columns[1:], workDirectory=self.path("work"), hiddenLayers=[16],
                maxIter=2, batchSize=256, verbose=False).fit(frame)
            self.assertGreater(model.result.train.accuracy, 0.3)
            with cluster.connect() as client:
                job, = client.jobs()
                self.assertEqual(job.state, "SUCCEEDED")
        self.assert_gone()
        cluster.stop()
        os.environ["ESPALIER_HOME"] = home
        self.assertEqual(os.listdir(self.path("work")), [])

    def test_a_lost_worker_and_a_lost_executor_cost_the_others_nothing(self):
        epochs = 700  # of 16 steps each
        local = espalier.train(self.spec("local", epochs), workers=1, threads=1, progress=False)
        with self.launch(2) as cluster:
            job = cluster.submit(self.spec("far", epochs))
            steps = (e for e in job.watch() if isinstance(e, espalier.Evaluation))
            next(steps)
            first, second = sorted(self.workers())
            os.kill(first, signal.SIGKILL)
            daemons.wait_for("the start of another worker",
                             lambda: set(self.workers()) - {first, second}, 120)
            next(steps)
            self.assertIn("killed by signal 9", cluster.losses()[0])
            executor = parent(parent(parent(second)))
            with open("/proc/%d/cmdline" % executor) as f:
                self.assertIn(EXECUTOR, f.read())
            os.kill(executor, signal.SIGKILL)
            result = job.result(timeout=sparks.LIMIT_S, progress=False)
            self.assertGreater(job.info().generation, 2)
            self.assertEqual(result.weights_sha256, local.weights_sha256)
            daemons.wait_for("the start of a worker in another executor",
                             lambda: len(self.workers()) == 2, 120)
        self.assert_gone()

    def test_all_or_none_and_what_lacks_is_named(self):
        with self.assertRaisesRegex(
                espalier.DeadlineExceededError, r"^3 of 5 workers had a place within 60 s "
                r"\(127\.0\.0\.1\); Spark can run 3 tasks at a time now"):
            self.launch(5, start_timeout=60)
        self.assert_gone()
        with self.assertRaisesRegex(espalier.FailedPreconditionError,
                                    "could not start <- .*memory.bytes.max"):
            self.launch(1, memory="much")
        self.assert_gone()
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "are for a `coordinator`"):
            self.launch(1, insecure=True)
        with self.assertRaisesRegex(espalier.UnavailableError, "127.0.0.1:1 cannot be reached"):
            self.launch(1, coordinator="127.0.0.1:1")
        self.assert_gone()

    def test_workers_for_a_cluster_that_is_there_leave_it_as_it_was(self):
        there = daemons.Cluster(self, 1)
        with espalier.connect(there.address) as client:
            with self.launch(1, coordinator=there.address):
                job = client.submit(dict(self.spec("far", 10 ** 7), workers={"min": 2}))
                for event in job.watch():
                    if isinstance(event, espalier.Evaluation):
                        break
            daemons.wait_for("the leave of the worker",
                             lambda: [w.name for w in client.workers()] == ["node-1"])
            self.assertFalse(job.info().state.final)
            job.cancel()
        self.assert_gone()

    def test_a_stopped_cluster_ends_its_jobs(self):
        cluster = self.launch(2)
        job = cluster.submit(self.spec("far", 10 ** 7))
        watched = []
        thread = threading.Thread(target=lambda: watched.extend(self.outcome(job)))
        thread.start()
        daemons.wait_for("the training of the job", lambda: job.info().state == "TRAINING", 60)
        cluster.stop()
        thread.join(60)
        self.assertIn(type(watched[0]), (espalier.JobCancelledError, espalier.CancelledError,
                                         espalier.UnavailableError))
        self.assert_gone()

    def outcome(self, job):
        try:
            return [job.result(progress=False)]
        except espalier.EspalierError as error:
            return [error]


if __name__ == "__main__":
    unittest.main()
