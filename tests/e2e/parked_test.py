"""Stalled jobs: their state is written as a checkpoint before any worker gives up."""
import os
import signal
import unittest

import pytest

from espalier import Cluster, EspalierTest, json_lines, wait_for

pytestmark = pytest.mark.covers("cluster", "member", "worker")


class ParkedTest(EspalierTest):
    def setUp(self):
        super().setUp()
        self.csv = self.classes_csv("t.csv", 3000)

    def spec(self, output, **changes):
        spec = dict(self.classes_spec(self.csv, epochs=400), output=self.path(output), **changes)
        spec["model"] = {"task": "classification", "hidden": [64, 48], "dropout": 0.3}
        return spec

    def train_to_the_middle(self, cluster, job):
        name = cluster.submit(job)
        wait_for("step 100 of " + name, lambda: cluster.status(name)["progress"]["step"] > 100)
        return name

    def checkpoints(self, output):
        directory = self.path(output + ".checkpoints")
        return sorted(os.listdir(directory)) if os.path.isdir(directory) else []

    def assert_resumed(self, job):
        """A later run from the checkpoint ends with the bits of the undisturbed one."""
        result = self.result("train", job, "--workers", 3, "--resume", self.path("m"))
        quiet = self.result("train", self.job("quiet", self.spec("quiet")), "--workers", 2)
        self.assertEqual(result["weights_sha256"], quiet["weights_sha256"])
        self.assertEqual(self.checkpoints("m"), [], "what has served is removed")

    @pytest.mark.long
    def test_without_coordinator_and_a_member_the_others_keep_the_state_and_end_by_name(self):
        cluster = Cluster(self, 3, worker_flags=["--coordinator-timeout-ms", "1500"])
        job = self.job("parked", self.spec("m"))
        self.train_to_the_middle(cluster, job)
        cluster.kill_coordinator()
        lost = cluster.workers.pop("node-2")
        lost.kill()
        lost.wait()
        for name, process in cluster.workers.items():
            self.assertEqual(process.wait(60), 1, cluster.log(name))
            said = cluster.log(name).strip().splitlines()[-1]
            self.assertIn("no coordinator answered for ", said)
            self.assertIn("is kept; --resume %s continues" % self.path("m.checkpoints"), said)
        self.assertEqual(len(self.checkpoints("m")), 1, "one writes, the other finds it written")
        self.assertFalse(os.path.exists(self.path("m")))
        self.assert_resumed(job)

    def test_the_training_goes_on_without_a_coordinator_and_is_reported_to_the_next_one(self):
        cluster = Cluster(self, 2, state=self.path("state"))
        job = self.train_to_the_middle(cluster, self.job("alone", self.spec("m")))
        cluster.kill_coordinator()
        wait_for("the bundle", lambda: os.path.exists(self.path("m")), 60)
        cluster.restart_coordinator()
        wait_for("the report", lambda: cluster.status(job)["state"] == "SUCCEEDED")
        quiet = self.result("train", self.job("quiet", self.spec("quiet")), "--workers", 1)
        result = cluster.result("watch", job)
        self.assertEqual(result["weights_sha256"], quiet["weights_sha256"])

    @pytest.mark.long
    def test_a_bundle_whose_writers_all_died_before_they_told_is_taken_for_what_it_is(self):
        cluster = Cluster(self, 2, state=self.path("state"))
        job = self.train_to_the_middle(cluster, self.job("untold", self.spec("m")))
        cluster.kill_coordinator()
        wait_for("the bundle", lambda: os.path.exists(self.path("m")), 60)
        with open(self.path("m", "model.json"), "rb") as f:
            model = f.read()
        for process in cluster.workers.values():
            process.kill()
            process.wait()
        cluster.restart_coordinator()
        for name in ("node-3", "node-4"):
            cluster.start_worker(name)
        out, err = cluster.espalier("watch", job, "--json")
        lines = json_lines(out)
        quiet = self.result("train", self.job("quiet", self.spec("quiet")), "--workers", 1)
        self.assertEqual(lines[-1]["status"], "SUCCEEDED", err)
        self.assertEqual(lines[-1]["weights_sha256"], quiet["weights_sha256"])
        steps = [e["step"] for e in lines if e.get("event") == "evaluation"]
        self.assertEqual((len(steps), steps), (400, sorted(set(steps))))
        with open(self.path("m", "model.json"), "rb") as f:
            self.assertEqual(f.read(), model, "the bundle in place is not touched")

    @pytest.mark.long
    def test_below_its_minimum_a_job_keeps_its_state_and_says_how_to_go_on(self):
        cluster = Cluster(self, 2, coordinator_flags=["--below-min-timeout-ms", "1000"])
        job = self.job("few", self.spec("m", workers={"min": 2}))
        name = self.train_to_the_middle(cluster, job)
        cluster.workers["node-2"].send_signal(signal.SIGKILL)
        out, err = cluster.espalier("watch", name, code=1)
        self.assertIn("the job needs 2 workers, 1 is left: node-2", err)
        self.assertIn("submit again with --resume " + self.path("m.checkpoints"), err)
        self.assert_resumed(job)


if __name__ == "__main__":
    unittest.main()
