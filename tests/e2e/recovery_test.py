"""Workers die, hang and return. The job continues, to the same bits."""

import itertools
import os
import random
import signal
import threading
import time
import unittest

import pytest

from accounts import TELLTALE, share
from espalier import Cluster, EspalierTest, json_lines, wait_for

pytestmark = pytest.mark.covers("cluster", "collective", "member", "worker")


class RecoveryTest(EspalierTest):
    epochs = 250

    def spec(self, **workers):
        """Returns a job of some seconds."""
        if not os.path.exists(self.path("rows.csv")):
            self.classes_csv("rows.csv", 4000)
        spec = self.classes_spec(self.path("rows.csv"), epochs=self.epochs)
        return dict(spec, model={"task": "classification", "hidden": [64, 64], "dropout": 0.2},
                    workers=workers)

    def quiet_weights(self):
        quiet = self.result("train", self.job("quiet", self.spec()), "--workers", 1)
        return quiet["weights_sha256"]

    def start_job(self, cluster, name, **workers):
        job = cluster.submit(self.job(name, self.spec(**workers)))
        cluster.wait_for_training(job)
        return job

    def assert_right(self, cluster, job, weights):
        done = cluster.result("watch", job)
        self.assertEqual(done["status"], "SUCCEEDED")
        self.assertEqual(done["weights_sha256"], weights)

    def wait_for_generation(self, cluster, job, generation):
        def trains():
            log = cluster.log("coordinator")
            at = log.find("%s generation %d:" % (job, generation))
            return at >= 0 and log.find(job + " trains", at) >= 0
        wait_for("generation %d training" % generation, trains)

    def test_a_worker_that_is_killed_costs_nothing_but_time(self):
        weights = self.quiet_weights()
        cluster = Cluster(self, workers=3)
        for victim in ("node-1", "node-2", "node-3"):
            job = self.start_job(cluster, "without-" + victim)
            cluster.workers[victim].kill()
            cluster.workers[victim].wait()
            self.assert_right(cluster, job, weights)
            status = cluster.status(job)
            self.assertEqual(status["losses"], 1)
            self.assertTrue(status["last_loss"].startswith(victim), status["last_loss"])
            cluster.start_worker(victim)
            cluster.wait_for_workers(3)

    @pytest.mark.long
    def test_a_worker_killed_in_a_later_fit_costs_nothing_but_time(self):
        self.epochs = 80
        spec = self.spec()
        del spec["data"]["validation"]
        spec["train"].update(ensemble={"fits": 4, "shrink": True}, calibrate=True,
                             early_stopping={"metric": "val_loss", "patience": 100})
        weights = self.result("train", self.job("quiet", spec), "--workers", 1)["weights_sha256"]
        cluster = Cluster(self, workers=2)
        job = cluster.submit(self.job("later", spec))
        wait_for("the second fit", lambda: self.epoch(cluster, job) > self.epochs, 60)
        cluster.workers["node-1"].kill()
        cluster.workers["node-1"].wait()
        cluster.start_worker("node-3")
        self.assert_right(cluster, job, weights)
        self.assertIn("was lost", cluster.log("coordinator"))

    def epoch(self, cluster, job):
        progress = cluster.status(job).get("progress") or {}
        return progress.get("epoch", 0)

    @pytest.mark.long
    def test_two_at_once_then_the_last_but_one_and_replacements(self):
        weights = self.quiet_weights()
        cluster = Cluster(self, workers=4)
        job = self.start_job(cluster, "many", max=4)
        cluster.workers["node-2"].kill()
        cluster.workers["node-3"].kill()
        wait_for("two lost", lambda: len(cluster.lost()) == 2)
        cluster.start_worker("node-5")
        cluster.workers["node-4"].kill()
        self.assert_right(cluster, job, weights)

    def test_when_all_are_killed_new_workers_begin_again(self):
        weights = self.quiet_weights()
        cluster = Cluster(self, workers=2)
        job = self.start_job(cluster, "all")
        for name in ("node-1", "node-2"):
            cluster.workers[name].kill()
        # The job also recovers between the two losses.
        wait_for("the wait", lambda: "needs 1 worker" in (
            cluster.status(job)["waiting_because"] or ""))
        self.assertEqual(cluster.status(job)["state"], "RECOVERING")
        cluster.start_worker("node-3")
        self.assert_right(cluster, job, weights)

    @pytest.mark.long
    def test_killed_at_each_point_of_a_step(self):
        self.epochs = 40
        weights = self.quiet_weights()
        for number, (point, place) in enumerate(itertools.product(
                ("leaf", "commit", "boundary"), range(3))):
            with self.subTest(point=point, place=place):  # the first replacement is the root
                cluster = Cluster(self, workers=0)
                for name in range(3):
                    if name == place:
                        self.environment["ESPALIER_TELLTALE_DIE"] = point + " 100"
                    cluster.start_worker("node-%d" % name, binary=TELLTALE)
                    self.environment.pop("ESPALIER_TELLTALE_DIE", None)
                    cluster.wait_for_workers(name + 1)
                job = cluster.submit(self.job("mortal-%d" % number, self.spec(min=3)))
                self.assertEqual(cluster.workers["node-%d" % place].wait(30), -signal.SIGKILL)
                cluster.start_worker("another")
                self.assert_right(cluster, job, weights)
                self.assertEqual(cluster.lost(), ["node-%d" % place])
                cluster.stop()

    @pytest.mark.long
    def test_killed_at_random_moments(self):
        self.epochs = 1000
        weights = self.quiet_weights()
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        cluster = Cluster(self, workers=3)
        job = cluster.submit(self.job("seed-%d" % seed, self.spec()))
        kills = 0
        while kills < 12 and cluster.status(job)["state"] != "SUCCEEDED":
            # The moment is random: from the profiling pass to the recovery from the previous loss.
            time.sleep(chance.choice((0.01, 0.1, 1)) * chance.random())
            victim = cluster.workers.pop(chance.choice(sorted(cluster.workers)))
            victim.kill()
            victim.wait()
            kills += 1
            cluster.start_worker("node-%d" % (3 + kills))
        self.assertGreater(kills, 4)
        self.assert_right(cluster, job, weights)

    def start_crashing_worker(self, cluster, name):
        self.environment["ESPALIER_TELLTALE_DIE"] = "leaf 100"
        self.environment["ESPALIER_TELLTALE_SIGNAL"] = str(int(signal.SIGSEGV))
        cluster.start_worker(name, binary=TELLTALE)
        del self.environment["ESPALIER_TELLTALE_DIE"]
        del self.environment["ESPALIER_TELLTALE_SIGNAL"]

    def test_a_job_outlives_one_crash_and_fails_at_the_second(self):
        weights = self.quiet_weights()
        cluster = Cluster(self, workers=1)
        self.start_crashing_worker(cluster, "frail-1")
        cluster.wait_for_workers(2)
        job = cluster.submit(self.job("once", self.spec(min=2)))
        self.assertEqual(cluster.workers["frail-1"].wait(60), -signal.SIGSEGV)
        wait_for("the news", lambda: "crashed: SIGSEGV" in cluster.log("coordinator"))
        self.start_crashing_worker(cluster, "frail-2")
        self.assertEqual(cluster.workers["frail-2"].wait(60), -signal.SIGSEGV)
        failed = cluster.result("watch", job, code=1)
        self.assertEqual(failed["status"], "FAILED")
        error = failed["error"]["message"]
        for words in ("crashed two workers", "frail-1", "frail-2", "by SIGSEGV"):
            self.assertIn(words, error)
        # The remaining worker serves the next job, which a crash does not end.
        self.start_crashing_worker(cluster, "frail-3")
        cluster.wait_for_workers(2)
        job = cluster.submit(self.job("twice", self.spec()))
        self.assert_right(cluster, job, weights)
        self.assertEqual(cluster.workers["frail-3"].wait(60), -signal.SIGSEGV)

    def test_a_hanging_worker_is_given_up_and_comes_back_as_a_new_one(self):
        weights = self.quiet_weights()
        cluster = Cluster(self, workers=2, coordinator_flags=["--liveness-limit-ms", "2s"])
        job = self.start_job(cluster, "zombie")
        victim = cluster.workers["node-1"]
        victim.send_signal(signal.SIGSTOP)
        self.wait_for_generation(cluster, job, 2)
        victim.send_signal(signal.SIGCONT)
        wait_for("the zombie's release", lambda: cluster.log("node-1").count("attached as") == 2)
        self.assert_right(cluster, job, weights)
        # The worker serves the next job.
        cluster.wait_for_workers(2)
        other = self.job("next", dict(self.spec(min=2), train={"epochs": 2, "seed": 7}))
        self.assertEqual(cluster.result("submit", other)["status"], "SUCCEEDED")

    def test_a_worker_killed_in_the_profile_is_replaced_by_the_others(self):
        weights = self.quiet_weights()
        spec = self.spec()
        spec["data"]["shard_bytes"] = "4KiB"
        cluster = Cluster(self, workers=3)
        watcher = cluster.start("submit", self.job("profile", spec), "--json")
        wait_for("the profiling pass", lambda: "generation 1:" in cluster.log("coordinator"))
        cluster.workers["node-2"].kill()
        out, err = watcher.communicate(timeout=60)
        self.assertEqual(watcher.returncode, 0, err)
        self.assertEqual(json_lines(out)[-1]["weights_sha256"], weights)

    def wait_for_line(self, cluster, text):
        wait_for("'%s' in the coordinator's log" % text, lambda: text in cluster.log("coordinator"))

    @pytest.mark.long
    def test_workers_join_and_leave_while_the_job_trains(self):
        self.epochs = 1500  # near its end, a job does not change any more
        weights = self.quiet_weights()
        cluster = Cluster(self, workers=1, coordinator_flags=["--rebalance-interval-ms", "100"])
        job = self.start_job(cluster, "changing")
        cluster.start_worker("node-2")
        self.wait_for_line(cluster, job + " generation 2: 2 workers")
        out, _ = cluster.espalier("drain", "node-1")
        self.assertRegex(out, r"^worker node-1 \(worker-\d+\) will leave after other workers have ")
        self.wait_for_line(cluster, job + " generation 3: 1 worker")
        self.assertEqual(cluster.workers["node-1"].wait(timeout=10), 0)
        cluster.start_worker("node-3")
        self.wait_for_line(cluster, job + " generation 4: 2 workers")
        cluster.workers["node-2"].send_signal(signal.SIGTERM)
        self.assertEqual(cluster.workers["node-2"].wait(timeout=10), 0)
        self.assert_right(cluster, job, weights)
        self.assertNotIn("was lost", cluster.log("coordinator"))

    def slow_down(self, process):
        """Keeps it stopped most of the time, until the returned function is called."""
        stop = threading.Event()

        def bursts():
            while not stop.is_set():
                process.send_signal(signal.SIGSTOP)
                stop.wait(0.03)
                process.send_signal(signal.SIGCONT)
                stop.wait(0.01)
        thread = threading.Thread(target=bursts)
        thread.start()

        def end():
            stop.set()
            thread.join()
        self.addCleanup(end)
        return end

    @pytest.mark.long
    def test_a_slowed_worker_loses_leaves_and_gets_them_back(self):
        self.epochs = 900
        weights = self.quiet_weights()
        accounts = self.path("accounts")
        os.mkdir(accounts)
        self.environment["ESPALIER_TELLTALE_DIRECTORY"] = accounts
        cluster = Cluster(self, workers=0)
        for name in ("node-1", "node-2"):
            cluster.start_worker(name, binary=TELLTALE)
        cluster.wait_for_workers(2)
        job = self.start_job(cluster, "slow", min=2)
        slow = cluster.workers["node-2"]
        wait_for("an even share", lambda: share(accounts, slow.pid) == 8)
        speed_up = self.slow_down(slow)
        few = wait_for("a smaller share", lambda: share(accounts, slow.pid) in range(1, 7) and
                       share(accounts, slow.pid), 60)
        speed_up()
        wait_for("a larger share", lambda: share(accounts, slow.pid) > few, 60)
        self.assert_right(cluster, job, weights)
        self.assertIn("leaves are redistributed", cluster.log("coordinator"))
        self.assertNotIn("was lost", cluster.log("coordinator"))


if __name__ == "__main__":
    unittest.main()
