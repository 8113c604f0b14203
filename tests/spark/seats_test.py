"""How launch_on_spark holds its places, with the real daemons and no Spark: its context is played
by threads, whose tasks can be lost at will."""
import os
import signal
import socket
import threading
import time
import unittest
from unittest import mock

import sparks
from sparks import daemons

import espalier
from espalier.spark import keeper, launch, launch_on_spark, roll

LIMIT_S = 240


class Conf(dict):
    def get(self, key, default=None):
        return dict.get(self, key, default)


class Context:
    """As much of a SparkContext as is used: `slots` tasks run at a time."""

    def __init__(self, slots):
        self.free = threading.Semaphore(slots)
        self.cancelled = threading.Event()
        self.lose = set()  # seats whose next task Spark gives up at once

    def getConf(self):
        return Conf({"spark.driver.host": "127.0.0.1", "spark.task.cpus": "1"})

    def sparkUser(self):
        return "ann"

    def setJobGroup(self, group, description, interrupt):
        pass

    def cancelJobGroup(self, group):
        self.cancelled.set()

    def parallelize(self, seats, _):
        return Job(self, seats)


class Job:
    def __init__(self, context, seats):
        self.context, self.seats, self.work = context, seats, None

    def map(self, work):
        self.work = work
        return self

    def collect(self):
        while not self.context.free.acquire(timeout=0.05):
            if self.context.cancelled.is_set():
                raise RuntimeError("cancelled")
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
        for patch in (mock.patch.object(launch.hadoop, "site", lambda _: b""),  # asks a JVM
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
                          v != "ESPALIER_HOME"])

    def test_lost_workers_and_tasks_are_replaced_while_the_others_train(self):
        local = espalier.train(self.spec("local", 150), workers=1, threads=1, progress=False)
        with self.launch(3, 2) as cluster:
            self.assertEqual(os.environ["ESPALIER_COORDINATOR"], cluster.address)
            with espalier.connect() as client:  # by the environment, encrypted
                names = sorted(w.name for w in client.workers())
                self.assertEqual(names, [self.name + ":1", self.name + ":2"])
                job = cluster.submit(self.spec("far", 150))
                steps = (e for e in job.watch() if isinstance(e, espalier.Evaluation))
                next(steps)
                os.kill(self.workers()[0], signal.SIGKILL)
                daemons.wait_for("another one", lambda: self.name + ":3" in [
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
                r"^2 of 3 workers had a place within 20 s \(127.0.0.1\)\nMore executors"):
            self.launch(2, 3, coordinator=there.address, start_timeout=20)
        self.assert_gone()
        with espalier.connect(there.address) as client:
            self.assertEqual(client.workers(), [])

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
                (espalier.InvalidArgumentError, "belong to", dict(workers=1, insecure=True)),
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
            daemons.wait_for("its leave", lambda: not client.workers(), 60)
        self.assert_gone()

    def test_a_task_spark_gives_up_is_asked_for_again(self):
        with self.launch(2, 1) as cluster:
            context = cluster._context
            context.lose.add(0)
            os.kill(self.workers()[0], signal.SIGKILL)
            with cluster.connect() as client:
                daemons.wait_for("the second one", lambda: [w.name for w in client.workers()] == [
                    self.name + ":2"], LIMIT_S)
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


class RollTest(unittest.TestCase):
    def setUp(self):
        self.roll = roll.Roll("127.0.0.1", 2)
        self.addCleanup(self.roll.end)

    def call(self, hello):
        line = socket.create_connection(("127.0.0.1", self.roll.port), timeout=30)
        self.addCleanup(line.close)
        line.sendall(hello)
        return line

    def test_only_who_shows_the_token_has_a_place(self):
        token = self.roll.token.encode()
        for hello in (b"", b"\n", b"{}\n", b"[1]\n", b'{"token": "guess", "seat": 0}\n',
                      b'{"token": "%s", "seat": 2}\n' % token, b"\xff\n", b"x" * 20000,
                      b'{"token": "\\u00e9\\ud800", "seat": 0}\n', b"[" * 15000 + b"\n",
                      b'{"token": "%s", "seat": -1}\n' % token, b'{"token": "%s"}\n' % token):
            line = self.call(hello)
            try:
                self.assertEqual(line.recv(10) if hello else b"", b"", hello)  # hung up
            except ConnectionResetError:
                pass  # the same, with more unread
        self.assertEqual(self.roll.hosts(), {})
        self.assertFalse(self.roll.wait(time.monotonic() + 0.1))
        daemons.wait_for("their threads' ends", lambda: self.roll._open == 0)

    def test_all_begin_together_and_late_ones_at_once(self):
        hello = b'{"token": "%s", "seat": %%d}\n' % self.roll.token.encode()
        lines = [self.call(hello % seat) for seat in (0, 1)]
        self.assertTrue(self.roll.wait(time.monotonic() + 30))
        self.roll.begin()
        self.assertEqual([roll.read_line(line) for line in lines], [{"number": 1}, {"number": 2}])
        lines[0].close()
        daemons.wait_for("its end", lambda: self.roll.hosts() == {1: "127.0.0.1"})
        again = self.call(hello % 0)
        self.assertEqual(roll.read_line(again), {"number": 3})
        self.roll.note("lost")
        self.assertFalse(self.roll.wait(time.monotonic() + 30))
        self.roll.end()
        self.assertIsNone(roll.read_line(again))

    def test_a_task_whose_driver_is_away_says_so(self):
        port = self.roll.port
        self.roll.end()
        order = keeper.Order(("127.0.0.1", port), "", "", "", (), {}, "", False)
        os.environ["ESPALIER_HOME"] = os.path.join(daemons.ROOT, "build")
        self.addCleanup(os.environ.pop, "ESPALIER_HOME")
        self.assertRegex(keeper.keep(order, 0), "the driver at 127.0.0.1:%d cannot be reached" %
                         port)


if __name__ == "__main__":
    unittest.main()
