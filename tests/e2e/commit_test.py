"""Commits of models by workers that are stopped in the middle, on local disks."""
import os
import signal
import unittest

import pytest

import stopping
from espalier import Cluster, EspalierTest, wait_for

pytestmark = [pytest.mark.covers("bundle", "cluster", "coordinator", "worker"), pytest.mark.attack]


class CommitTest(EspalierTest):
    def setUp(self):
        super().setUp()
        self.csv = self.classes_csv("t.csv", 600)
        self.library = stopping.build(self.directory)

    def job_of(self, name, seed):
        spec = dict(self.classes_spec(self.csv, epochs=2, seed=seed),
                    output={"path": self.path("m"), "overwrite": True})
        return self.job(name, spec)

    def start_stopping(self, cluster, name, *stop):
        """Starts a worker that stops itself."""
        stop = stopping.Stop(self.directory, self.library, *stop)
        before = self.environment
        self.environment = dict(before, **stop.environment)
        cluster.start_worker(name)
        self.environment = before
        cluster.wait_for_workers(len(cluster.workers))
        return stop

    def weights(self):
        with open(self.path("m", "model.json")) as f:
            return next(line for line in f if "weights_sha256" in line)

    def beside(self):
        return sorted(n for n in os.listdir(self.directory) if n.startswith("m."))

    def paused_worker(self, call, text, number=1):
        """Worker A is paused at a step of its commit. B ends the job, and a second job replaces the
        model. A goes on."""
        cluster = Cluster(self, 0)
        stop = self.start_stopping(cluster, "a", call, text, number)
        first = cluster.submit(self.job_of("first", 1))
        stop.wait()
        cluster.start_worker("b")
        wait_for("the first job", lambda: cluster.status(first)["state"] == "SUCCEEDED", 60)
        old = self.weights()
        cluster.result("submit", self.job_of("second", 2))
        new = self.weights()
        self.assertNotEqual(old, new)
        cluster.workers["a"].send_signal(signal.SIGCONT)
        wait_for("the return of A", lambda: cluster.log("a").count("attached as worker-") == 2, 60)
        self.assertEqual(self.weights(), new)
        self.assertEqual(self.beside(), [])

    def test_paused_before_it_writes(self):
        self.paused_worker("mkdir", "m.draft-")

    def test_paused_before_it_reserves(self):
        self.paused_worker("mkdir", "m.writing-")

    def test_paused_before_the_bundle_is_complete(self):
        self.paused_worker("renameat2", "m.draft-")

    def test_paused_before_the_last_rename(self):
        self.paused_worker("renameat2", "m.writing-")

    def test_killed_before_the_last_rename_the_old_model_stays(self):
        cluster = Cluster(self, 1)
        cluster.result("submit", self.job_of("first", 1))
        old = self.weights()
        cluster.workers.pop("node-1").kill()
        stop = self.start_stopping(cluster, "a", "renameat2", "m.writing-")
        cluster.submit(self.job_of("second", 2))
        stop.wait()
        cluster.workers["a"].kill()
        self.assertEqual(self.weights(), old)

    def test_cancelled_during_the_commit(self):
        """A cancel before the model is in place leaves no output."""
        cluster = Cluster(self, 0)
        stop = self.start_stopping(cluster, "a", "renameat2", "m.writing-")
        job = cluster.submit(self.job_of("first", 1))
        stop.wait()
        cluster.espalier("cancel", job)
        self.assertEqual(cluster.status(job)["state"], "CANCELLED")
        cluster.workers["a"].send_signal(signal.SIGCONT)
        wait_for("a clean directory", lambda: not self.beside())
        self.assertFalse(os.path.exists(self.path("m")))

    def test_cancelled_after_the_commit(self):
        """A cancel after the model is in place is refused, and the job succeeds."""
        cluster = Cluster(self, 0)
        # The slot is removed after the model is in place.
        stop = self.start_stopping(cluster, "a", "rmdir", "m.writing-")
        job = cluster.submit(self.job_of("first", 1))
        stop.wait()
        _, err = cluster.espalier("cancel", job, code=None)
        self.assertIn("can no longer be cancelled: its model is in " + self.path("m"), err)
        cluster.workers["a"].send_signal(signal.SIGCONT)
        wait_for("the end", lambda: cluster.status(job)["state"] == "SUCCEEDED")
        self.assertEqual(self.beside(), [])


if __name__ == "__main__":
    unittest.main()
