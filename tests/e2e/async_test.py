"""Asynchronous training: as good as synchronous training, through deaths, joins and drains."""
import csv
import json
import os
import re
import signal
import statistics
import unittest

import pytest

from espalier import ROOT, Cluster, EspalierTest, await_step, children_of, is_alive, wait_for

import tables  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("member", "training", "worker")


class AsyncTest(EspalierTest):
    def spec(self, epochs=400, **train):
        if not hasattr(self, "table"):
            self.table = self.classes_csv("rows.csv", 4000)
        spec = self.classes_spec(self.table, epochs=epochs, mode="async", **train)
        return dict(spec, model={"task": "classification", "hidden": [64, 64]})

    def start_job(self, cluster, name, **train):
        job = cluster.submit(self.job(name, self.spec(**train)))
        cluster.wait_for_training(job)
        return job

    def assert_trained(self, cluster, job, name, epochs=400):
        done = cluster.result("watch", job)
        self.assertEqual(done["status"], "SUCCEEDED")
        self.assertEqual(done["epochs"], epochs)
        self.assertGreater(done["metrics"]["validation"]["accuracy"], 0.8)
        with open(self.path(name + ".bundle", "history.csv")) as f:
            told = [float(row["epoch"]) for row in csv.DictReader(f)]
        self.assertEqual(told, [float(e) for e in range(1, epochs + 1)])
        return done

    def members(self, cluster, job):
        """Names of the workers. The first one of up to three holds the parameters."""
        return cluster.status(job)["workers"]

    def wait_for_generation(self, cluster, job, generation):
        def trains():
            status = cluster.status(job)
            return status["generation"] >= generation and status["state"] == "TRAINING"
        wait_for("generation %d training" % generation, trains, 40)

    def rounds_fetched(self, cluster, name):
        return [int(r) for r in re.findall(r"bytes of round (\d+), from", cluster.log(name))]

    def test_any_number_of_workers_reach_the_accuracy_of_synchronous_training(self):
        spec = self.spec(epochs=30)
        spec["data"]["test"] = self.classes_csv("test.csv", 1000, seed=9)
        spec["train"].pop("mode")
        sync = self.result("train", self.job("sync", spec), "--workers", 1)
        self.assertNotIn("async", sync)
        spec["train"]["mode"] = "async"
        for workers in (1, 2, 3):
            name = "async-%d" % workers
            result = self.result("train", self.job(name, spec), "--workers", workers)
            self.assertEqual(result["steps"], sync["steps"])
            self.assertGreater(result["metrics"]["test"]["accuracy"],
                               sync["metrics"]["test"]["accuracy"] - 0.04)
            self.assertLessEqual(result["async"]["largest_lag"], max(4, 2 * workers))
            with open(self.path(name + ".bundle", "model.json")) as f:
                model = json.load(f)
            self.assertEqual(model["spec"]["train"]["mode"], "async")
            self.assertEqual(model["training"]["async"], result["async"])
            with open(self.path(name + ".bundle", "README.md")) as f:
                self.assertIn("mode: async", f.read())

    def digits_spec(self):
        """The job of config/digits.yaml: a real table, with 1,438 rows and 359 for testing."""
        source = tables.fetch(os.path.join(ROOT, "build", "cache"))
        tables.write(self.path("digits"), *tables.table(source, "digits"))
        return {"data": {"train": self.path("digits", "train.csv"),
                         "test": self.path("digits", "test.csv"), "label": "digit",
                         "features": {"scale": {"divide": 16}}},
                "model": {"task": "classification", "hidden": [128, 64], "dropout": 0.1},
                "train": {"optimizer": {"adam": {"learning_rate": 2e-3}}, "batch": 64, "leaves": 4,
                          "schedule": {"cosine": {"warmup": "1 epoch"}}, "epochs": 40}}

    @pytest.mark.long
    def test_handwritten_digits_are_told_as_well_as_by_synchronous_training(self):
        # Over 20 seeds, accuracies were 97.5 % (standard deviation 0.3) and, asynchronous with
        # three workers, 97.1 % (0.4). Synchronous ones are always the same, so the mean of five is
        # 0.2 points uncertain. 1 point is four times that beyond the usual difference.
        spec, accuracies = self.digits_spec(), {"sync": [], "async": []}
        for seed in range(1, 6):
            for mode, workers in (("sync", 1), ("async", 3)):
                spec["train"].update(seed=seed, mode=mode)
                result = self.trained_here("%s-%d" % (mode, seed), spec, workers)
                self.assertEqual(result["epochs"], 40)
                accuracies[mode].append(result["metrics"]["test"]["accuracy"])
        self.assertGreater(statistics.mean(accuracies["async"]),
                           statistics.mean(accuracies["sync"]) - 0.01, accuracies)

    def test_the_bound_on_staleness_holds_and_tells_what_it_refused(self):
        spec = self.spec(epochs=10, staleness=0)
        result = self.result("train", self.job("fresh", spec), "--workers", 3)
        self.assertEqual(result["async"]["largest_lag"], 0)
        self.assertGreater(result["async"]["refused"], 0)

    def test_the_user_is_told_that_the_bits_do_not_come_again(self):
        out, err = self.espalier("train", self.job("shown", self.spec(epochs=2)), "--workers", 2)
        self.assertIn("another run of the job", err)
        self.assertIn("asynchronous: another run gives other weights", out)

    def test_a_pusher_that_is_killed_costs_nothing(self):
        cluster = Cluster(self, workers=3)
        job = self.start_job(cluster, "pusher", checkpoint="none")
        holder, _, victim = self.members(cluster, job)
        cluster.workers[victim].kill()
        self.wait_for_generation(cluster, job, 2)
        self.assert_trained(cluster, job, "pusher")
        # The holder had the state, and the other worker took it over from there.
        self.assertEqual(self.rounds_fetched(cluster, holder), [])
        others = [name for name in cluster.workers if name not in (holder, victim)]
        self.assertGreater(self.rounds_fetched(cluster, others[0])[0], 1)

    def test_when_the_holder_is_killed_the_newest_checkpoint_is_gone_on_from(self):
        cluster = Cluster(self, workers=3)
        job = self.start_job(cluster, "holder", checkpoint={"every_steps": 100, "keep": 2})
        holder = self.members(cluster, job)[0]
        wait_for("some steps", lambda: cluster.status(job)["progress"]["step"] > 1000)
        cluster.workers[holder].kill()
        self.wait_for_generation(cluster, job, 2)
        self.assert_trained(cluster, job, "holder")
        logs = "".join(cluster.log(n) for n in cluster.workers if n != holder)
        self.assertRegex(logs, r"the job continues from .*holder\.bundle\.checkpoints")

    def test_when_the_holder_is_killed_without_a_checkpoint_training_begins_again(self):
        cluster = Cluster(self, workers=2)
        job = self.start_job(cluster, "anew", checkpoint="none")
        cluster.workers[self.members(cluster, job)[0]].kill()
        self.wait_for_generation(cluster, job, 2)
        self.assert_trained(cluster, job, "anew")

    def test_the_coordinator_is_killed_and_training_goes_on(self):
        cluster = Cluster(self, workers=3, state=self.path("state"))
        job = self.start_job(cluster, "restarted", checkpoint="none")
        before = cluster.status(job)
        cluster.kill_coordinator()
        cluster.restart_coordinator()
        wait_for("a step seen again", lambda: cluster.status(job)["progress"]["step"] >
                 before["progress"]["step"])
        after = cluster.status(job)
        for key in ("generation", "workers", "training_ms"):
            self.assertEqual(after[key], before[key], key)
        self.assert_trained(cluster, job, "restarted")

    @pytest.mark.long
    def test_the_holder_is_killed_while_there_is_no_coordinator(self):
        cluster = Cluster(self, workers=3, state=self.path("state"))
        job = self.start_job(cluster, "orphaned", checkpoint={"every_steps": 100, "keep": 2})
        wait_for("some steps", lambda: cluster.status(job)["progress"]["step"] > 1000)
        holder = self.members(cluster, job)[0]
        cluster.kill_coordinator()
        cluster.workers[holder].kill()
        cluster.restart_coordinator()
        self.assert_trained(cluster, job, "orphaned")
        logs = "".join(cluster.log(n) for n in cluster.workers if n != holder)
        self.assertRegex(logs, r"the job continues from .*orphaned\.bundle\.checkpoints")

    def test_control_c_ends_it_and_keeps_the_model(self):
        process = self.start("train", self.job("stopped", self.spec(epochs=10_000_000)),
                             "--workers", 3, "--json")
        await_step(process)
        daemons = children_of(process.pid)
        self.assertGreater(len(daemons), 3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        for pid in daemons:
            self.assertFalse(is_alive(pid))
        self.assertEqual([n for n in os.listdir(self.directory) if "bundle" in n],
                         ["stopped.bundle"])

    def test_a_hanging_pusher_is_given_up(self):
        cluster = Cluster(self, workers=3, coordinator_flags=["--liveness-limit-ms", "2s"])
        job = self.start_job(cluster, "hanging")
        victim = cluster.workers[self.members(cluster, job)[2]]
        victim.send_signal(signal.SIGSTOP)
        self.assert_trained(cluster, job, "hanging")
        self.assertEqual(len(cluster.lost()), 1)
        victim.send_signal(signal.SIGCONT)

    @pytest.mark.long
    def test_workers_join_and_leave_and_the_state_goes_with_the_job(self):
        cluster = Cluster(self, workers=1, coordinator_flags=["--rebalance-interval-ms", "100"])
        job = self.start_job(cluster, "changing", epochs=1500, checkpoint="none")
        cluster.start_worker("node-2")
        self.wait_for_generation(cluster, job, 2)
        cluster.espalier("drain", "node-1")  # it has held the parameters
        self.assertEqual(cluster.workers["node-1"].wait(timeout=20), 0)
        cluster.start_worker("node-3")
        self.wait_for_generation(cluster, job, 4)
        self.assert_trained(cluster, job, "changing", 1500)
        self.assertNotIn("was lost", cluster.log("coordinator"))
        self.assertNotIn("lost its link", cluster.log("coordinator"))

    def test_a_run_that_was_killed_whole_is_resumed(self):
        job = self.job("cut", self.spec(checkpoint={"every_steps": 100}))
        run = self.start("train", job, "--workers", 2, "--json")
        for line in run.stdout:
            event = json.loads(line)
            if event.get("event") == "progress" and event["step"] > 1500:
                break
        run.kill()  # its daemons die with it
        run.wait()
        resumed = self.result("train", job, "--resume", self.path("cut.bundle"), "--workers", 3)
        self.assertEqual(resumed["epochs"], 400)

    def test_what_it_cannot_be_is_refused_at_submit(self):
        for change, words in (({"optimizer": "lbfgs"}, "train.mode: found async"),
                              ({"accumulate_steps": 2}, "train.accumulate_steps: found 2")):
            _, err = self.espalier("train", self.job("refused", self.spec(**change)), code=2)
            self.assertIn(words, err)


if __name__ == "__main__":
    unittest.main()
