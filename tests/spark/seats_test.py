"""Tests how launch_on_spark keeps its places, with real daemons and without Spark. Threads replace
Spark's tasks, and the tests can lose them at will."""
import os
import signal
import threading
import time
import unittest
from unittest import mock

import sparks
from sparks import daemons

import espalier
from espalier.spark import launch, launch_on_spark, own_coordinator

LIMIT_S = 240
BOUND_S = 30  # well below the wait for workers that leave


class Conf(dict):
    def get(self, key, default=None):
        return dict.get(self, key, default)


class Context:
    """The used part of a SparkContext. `slots` tasks run at a time."""

    def __init__(self, slots):
        self.free = threading.Semaphore(slots)
        self.group = threading.local()
        self.asked = set()  # groups whose cancellation was requested
        self.cancelled = set()  # requested groups that waited; Spark cancels only known jobs
        self.waiting = set()
        self.lose = set()  # seats whose next task fails at once

    def getConf(self):
        return Conf({"spark.driver.host": "127.0.0.1", "spark.task.cpus": "1"})

    def sparkUser(self):
        return "ann"

    def setJobGroup(self, group, description, interrupt):
        self.group.name = group

    def cancelJobGroup(self, group):
        self.asked.add(group)
        self.cancelled |= self.waiting & {group}

    def parallelize(self, seats, _):
        return Job(self, seats)


class Job:
    def __init__(self, context, seats):
        self.context, self.seats, self.work = context, seats, None

    def map(self, work):
        self.work = work
        return self

    def collect(self):
        group = self.context.group.name
        self.context.waiting.add(group)
        while not self.context.free.acquire(timeout=0.05):
            if group in self.context.cancelled:
                raise RuntimeError("cancelled")
        self.context.waiting.discard(group)
        try:
            if self.seats[0] in self.context.lose:
                self.context.lose.discard(self.seats[0])
                raise RuntimeError("x\norg.apache.spark.SparkException: executor 7 is lost\n at y")
            return [self.work(seat) for seat in self.seats]
        finally:
            self.context.free.release()


class Session:
    def __init__(self, slots):
        self.sparkContext = Context(slots)


class SeatsTest(daemons.EspalierTest):
    def setUp(self):
        super().setUp()
        os.environ["ESPALIER_HOME"] = os.path.join(daemons.ROOT, "build")
        self.addCleanup(os.environ.pop, "ESPALIER_HOME")
        for patch in (mock.patch.object(launch.hadoop, "site", lambda _: b""),  # needs a JVM
                      mock.patch.object(launch, "InheritableThread", threading.Thread)):
            patch.start()
            self.addCleanup(patch.stop)
        self.rows = self.classes_csv("rows.csv", 2000)
        self.name = "s%d" % os.getpid()

    def launch(self, slots, workers, **options):
        options.setdefault("start_timeout", LIMIT_S)
        return launch_on_spark(Session(slots), workers, name=self.name, **options)

    def workers(self):
        return sparks.processes(self.name + ":")

    def spec(self, name, epochs):
        return dict(self.classes_spec(self.rows, epochs=epochs), name=name,
                    output=self.path(name))

    def assert_gone(self):
        self.assertEqual(self.workers(), [])
        self.assertEqual(sparks.processes("espalier-spark-"), [])
        self.assertFalse([v for v in os.environ if v.startswith("ESPALIER_") and
                          not v.startswith("ESPALIER_TEST_") and
                          v != "ESPALIER_HOME"])

    def test_lost_workers_and_tasks_are_replaced_while_the_others_train(self):
        local = espalier.train(self.spec("local", 150), workers=1, threads=1, progress=False)
        with self.launch(3, 2) as cluster:
            self.assertEqual(os.environ["ESPALIER_COORDINATOR"], cluster.address)
            with espalier.connect() as client:  # address and certificates come from the environment
                names = sorted(w.name for w in client.workers())
                self.assertEqual(names, [self.name + ":1", self.name + ":2"])
                job = cluster.submit(self.spec("far", 150))
                steps = (e for e in job.watch() if isinstance(e, espalier.Evaluation))
                next(steps)
                os.kill(self.workers()[0], signal.SIGKILL)
                daemons.wait_for("another worker", lambda: self.name + ":3" in [
                    w.name for w in client.workers()], LIMIT_S)
                self.assertEqual(len(client.workers()), 2)
            result = job.result(timeout=LIMIT_S, progress=False)
            self.assertEqual(result.weights_sha256, local.weights_sha256)
            self.assertRegex(cluster.losses()[0], "killed by signal 9")
        self.assert_gone()
        cluster.stop()

    def test_workers_of_others_that_are_called_as_its_own_do_not_count(self):
        there = daemons.Cluster(self, 0)
        with espalier.connect(there.address) as client:
            for count in (1, 2):
                cluster = self.launch(1, 1, coordinator=there.address)
                self.addCleanup(cluster.stop)
                self.assertEqual([w.name for w in client.workers()], [self.name + ":1"] * count)

    def test_without_a_place_for_each_nobody_starts_and_nothing_is_left(self):
        there = daemons.Cluster(self, 0)
        with self.assertRaisesRegex(
                espalier.DeadlineExceededError,
                r"^2 of 3 workers had a place within 20 s \(127.0.0.1\)\nUse more executors"):
            self.launch(2, 3, coordinator=there.address, start_timeout=20)
        self.assert_gone()
        with espalier.connect(there.address) as client:
            self.assertEqual(client.workers(), [])

    def test_tasks_that_wait_for_a_slot_hold_up_neither_the_error_nor_the_end(self):
        there = daemons.Cluster(self, 0)
        began = time.monotonic()
        with self.assertRaisesRegex(espalier.DeadlineExceededError, "^0 of 2 workers had a place "
                                    r"within 1 s \(none\)\n"):
            self.launch(0, 2, coordinator=there.address, start_timeout=1)
        self.assertLess(time.monotonic() - began, BOUND_S)
        session = Session(2)
        cluster = launch_on_spark(session, 2, name=self.name, coordinator=there.address,
                                  start_timeout=LIMIT_S)
        self.addCleanup(cluster.stop)
        # Another job takes the slot that a lost worker leaves.
        taken = threading.Thread(target=session.sparkContext.free.acquire)
        taken.start()
        os.kill(self.workers()[0], signal.SIGKILL)
        daemons.wait_for("a waiting task", lambda: session.sparkContext.waiting, LIMIT_S)
        waiting = set(session.sparkContext.waiting)
        began = time.monotonic()
        cluster.stop()
        self.assertLess(time.monotonic() - began, BOUND_S)
        # A leaving worker hands over its share. The end of its task would interrupt that.
        self.assertEqual(session.sparkContext.asked, waiting)
        self.assertFalse([t for t in cluster._threads if t.is_alive()])
        self.assert_gone()
        session.sparkContext.free.release()
        taken.join(LIMIT_S)

    def test_a_coordinator_has_the_memory_that_it_is_given(self):
        for memory, share in (("1GiB", "256MiB"), ("513MiB", "128MiB"),
                              ("999999GiB", "1048576MiB")):
            self.assertEqual(own_coordinator.memory_limits(memory), [
                "--receive-bytes-max", share, "--worker-queue-bytes-max", share,
                "--profile-bytes-max", share])
        for wrong in ("511MiB", "1", "1 GiB", "-1GiB", "1TiB", "\u0661GiB", "", "1GiB\n"):
            with self.assertRaisesRegex(espalier.InvalidArgumentError, "at least 512MiB"):
                self.launch(1, 1, coordinator_memory=wrong)
        with self.launch(1, 1, coordinator_memory="600MiB"):
            pid, = sparks.processes("espalier-spark-")
            with open("/proc/%d/cmdline" % pid) as f:
                self.assertIn("\0--profile-bytes-max\000150MiB\0", f.read())
        self.assert_gone()

    def test_a_worker_that_cannot_start_is_told_with_its_own_words(self):
        with self.assertRaisesRegex(espalier.FailedPreconditionError,
                                    "could not start <- .*exit code 2: .*memory.bytes.max"):
            self.launch(2, 1, memory="much")
        self.assert_gone()
        os.environ["ESPALIER_HOME"], path = self.path("none"), os.environ["PATH"]
        os.environ["PATH"] = "/nowhere"
        try:
            with self.assertRaisesRegex(espalier.NotFoundError, "`espalier` is not found"):
                self.launch(1, 1)
            there = daemons.Cluster(self, 0)
            with self.assertRaisesRegex(espalier.FailedPreconditionError,
                                        "could not start <- .*`espalier` is not found"):
                self.launch(1, 1, coordinator=there.address)
        finally:
            os.environ["PATH"] = path
        self.assert_gone()

    def test_arguments_are_looked_at_first(self):
        for error, words, options in (
                (espalier.InvalidArgumentError, "above 0", dict(workers=0)),
                (espalier.InvalidArgumentError, "above 0", dict(workers=1, start_timeout=0)),
                (espalier.InvalidArgumentError, "are for a", dict(workers=1, insecure=True)),
                (espalier.NotFoundError, "tls: cannot read", dict(
                    workers=1, coordinator="127.0.0.1:1", tls=("none", "none", "none"))),
                (espalier.UnavailableError, "127.0.0.1:1 cannot be reached", dict(
                    workers=1, coordinator="127.0.0.1:1"))):
            with self.assertRaisesRegex(error, words):
                self.launch(1, **options)
        self.assert_gone()

    def test_workers_for_a_secured_cluster_come_and_go(self):
        authority = daemons.Authority(self)
        there = daemons.SecureCluster(self, 0, authority=authority)
        folder = authority.issue("worker", self.name)
        tls = [os.path.join(folder, name) for name in ("ca.crt", "tls.crt", "tls.key")]
        operator = {k: v for k, v in self.environment.items() if k.startswith("ESPALIER_TLS_")}
        with mock.patch.dict(os.environ, operator), espalier.connect(there.address) as client:
            with self.launch(1, 1, coordinator=there.address, tls=tls):
                self.assertEqual([w.name for w in client.workers()], [self.name + ":1"])
            daemons.wait_for("the leave of the worker", lambda: not client.workers(), 60)
        self.assert_gone()

    def test_a_task_spark_gives_up_is_asked_for_again(self):
        with self.launch(2, 1) as cluster:
            context = cluster._context
            context.lose.add(0)
            os.kill(self.workers()[0], signal.SIGKILL)
            with cluster.connect() as client:
                daemons.wait_for("the second worker", lambda: [
                    w.name for w in client.workers()] == [self.name + ":2"], LIMIT_S)
            self.assertIn("Spark gave a task up: org.apache.spark.SparkException: executor 7 is "
                          "lost", cluster.losses()[1])

    def test_a_stopped_cluster_ends_its_jobs(self):
        cluster = self.launch(2, 2)
        client = cluster.connect()
        job = client.submit(self.spec("far", 10 ** 7))
        for event in job.watch():
            if isinstance(event, espalier.Evaluation):
                break
        cluster.stop()
        self.assert_gone()
        self.assertFalse(os.path.exists(self.path("far")))


if __name__ == "__main__":
    unittest.main()
