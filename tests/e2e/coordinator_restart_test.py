"""The coordinator dies at any moment, restarts, and does not lose anything that it acknowledged."""
import glob
import json
import os
import resource
import signal
import subprocess
import time
import unittest

import pytest

from espalier import TESTING, Cluster, EspalierTest, await_step, is_alive, json_lines, wait_for

from hadoop import Hdfs  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("cluster", "coordinator", "member")

EPOCHS = 400


class CoordinatorRestartTest(EspalierTest):
    def setUp(self):
        super().setUp()
        # Some ten seconds of training.
        self.csv = self.classes_csv("rows.csv", 1500)
        self.spec = self.classes_spec(self.csv, epochs=EPOCHS, batch=32)
        self.spec["model"]["hidden"] = [64, 64]

    def quiet_run(self):
        """Returns the result of the same job without faults."""
        return self.result("train", self.job("quiet", self.spec), "--workers", 1)

    def evaluations(self, cluster, job):
        """Returns the steps of the job's history, as a late watcher gets it."""
        out, _ = cluster.espalier("watch", job, "--json")
        return [e["step"] for e in json_lines(out) if e.get("event") == "evaluation"]

    def assert_like_quiet(self, cluster, job, result):
        quiet = self.quiet_run()
        self.assertEqual(result["status"], "SUCCEEDED", result)
        self.assertEqual(result["weights_sha256"], quiet["weights_sha256"])
        self.assertEqual(result["metrics"], quiet["metrics"])
        steps = self.evaluations(cluster, job)
        self.assertEqual(len(steps), EPOCHS, "%s\n%s" % (steps, cluster.log("coordinator")))
        self.assertEqual(steps, sorted(set(steps)))

    def step_of(self, cluster, job):
        status = cluster.status(job)
        return status["progress"]["step"] if status["state"] == "TRAINING" else 0

    def test_killed_in_mid_training_and_back_on_its_port(self):
        cluster = Cluster(self, workers=2, state=self.path("state"))
        watcher = cluster.start("submit", self.job("whole", dict(self.spec, workers={"min": 2})),
                                "--json")
        await_step(watcher)
        before = cluster.status("job-1")
        cluster.kill_coordinator()
        cluster.restart_coordinator()
        wait_for("training seen again", lambda: self.step_of(cluster, "job-1") >
                 before["progress"]["step"])
        # Each worker re-attaches at its own time, and the one that reports the steps may be first.
        for name in cluster.workers:
            wait_for(name + " attached again",
                     lambda name=name: cluster.log(name).count("attached as") == 2)
        after = cluster.status("job-1")
        self.assertEqual(after["generation"], before["generation"])
        self.assertEqual(after["workers"], before["workers"])
        for key in ("submitted_ms", "started_ms", "training_ms"):
            self.assertEqual(after[key], before[key], key)
        for name, process in cluster.workers.items():
            self.assertTrue(is_alive(process.pid), name)
            self.assertEqual(cluster.log(name).count("attached as"), 2)
        out, err = watcher.communicate(timeout=100)
        self.assertEqual(watcher.returncode, 0, err)
        self.assert_like_quiet(cluster, "job-1", json_lines(out)[-1])

    @pytest.mark.long
    def test_killed_again_and_again(self):
        cluster = Cluster(self, workers=2, state=self.path("state"))
        watcher = cluster.start("submit", self.job("often", dict(self.spec, workers={"min": 2})),
                                "--json")
        await_step(watcher)
        for _ in range(4):
            step = wait_for("a step", lambda: self.step_of(cluster, "job-1"))
            cluster.kill_coordinator()
            cluster.restart_coordinator()
            wait_for("another step", lambda: self.step_of(cluster, "job-1") > step or
                     cluster.status("job-1")["state"] == "SUCCEEDED")
            if cluster.status("job-1")["state"] == "SUCCEEDED":
                break  # on a busy machine restarts take as long as the job
        out, err = watcher.communicate(timeout=100)
        self.assertEqual(watcher.returncode, 0, err)
        self.assert_like_quiet(cluster, "job-1", json_lines(out)[-1])

    def test_a_sigterm_does_not_end_the_jobs_of_a_coordinator_with_a_state_directory(self):
        cluster = Cluster(self, workers=1, state=self.path("state"))
        watcher = cluster.start("submit", self.job("upgraded", self.spec), "--json")
        await_step(watcher)
        cluster.coordinator.terminate()
        self.assertEqual(cluster.coordinator.wait(timeout=10), 0)
        cluster.restart_coordinator()
        out, err = watcher.communicate(timeout=100)
        self.assertEqual(watcher.returncode, 0, err)
        self.assert_like_quiet(cluster, "job-1", json_lines(out)[-1])

    def test_what_was_acknowledged_just_before_the_kill_is_there_afterwards(self):
        cluster = Cluster(self, workers=0, state=self.path("state"))
        self.spec["train"]["epochs"] = 2
        names = ["one", "two", "three"]
        jobs = []
        for name in names:
            jobs.append(cluster.submit(self.job(name, self.spec)))
            cluster.kill_coordinator()
            cluster.restart_coordinator()
        cluster.espalier("cancel", jobs[1])
        cluster.kill_coordinator()
        cluster.restart_coordinator()
        self.assertEqual(jobs, ["job-1", "job-2", "job-3"])
        self.assertEqual(cluster.status("job-2")["state"], "CANCELLED")
        cluster.start_worker("late")
        for job in ("job-1", "job-3"):
            self.assertEqual(cluster.result("watch", job)["status"], "SUCCEEDED")
        cluster.kill_coordinator()
        cluster.restart_coordinator()
        out, _ = cluster.espalier("list")
        for name in names:
            self.assertIn(name, out)
        self.assertEqual(cluster.result("watch", "job-1")["status"], "SUCCEEDED")
        self.assertEqual(len(self.evaluations(cluster, "job-3")), 2)

    @pytest.mark.long
    def test_a_worker_that_does_not_come_back_is_missed_after_the_liveness_limit(self):
        cluster = Cluster(self, workers=2, state=self.path("state"))
        watcher = cluster.start("submit", self.job("missed", dict(self.spec, workers={"max": 2})),
                                "--json")
        await_step(watcher)
        cluster.kill_coordinator()
        cluster.workers["node-2"].kill()
        cluster.restart_coordinator()
        out, err = watcher.communicate(timeout=100)
        self.assertEqual(watcher.returncode, 0, err)
        self.assertIn("node-2", cluster.log("coordinator"))
        self.assert_like_quiet(cluster, "job-1", json_lines(out)[-1])

    @pytest.mark.long
    def test_killed_around_each_kind_of_journal_entry(self):
        self.spec["train"]["epochs"] = 3
        quiet = self.quiet_run()
        for number, when in enumerate((
                "after JobAccepted", "before GenerationStarted", "after GenerationStarted",
                "before ProfileRecorded", "after ProfileRecorded", "before TrainingStarted",
                "after TrainingStarted", "before HistoryRecorded", "after HistoryRecorded",
                "before JobEnded", "after JobEnded")):
            with self.subTest(when):
                self.environment["ESPALIER_MORTAL"] = when
                cluster = Cluster(self, workers=2, state=self.path("state-%d" % number))
                cluster.kill_coordinator()
                cluster.start_coordinator(cluster.address,
                                          os.path.join(TESTING, "mortal-coordinator"))
                cluster.wait_for_workers(2)
                job = self.job("mortal-%d" % number, dict(self.spec, workers={"min": 2}))
                submitter = cluster.start("submit", job, "--detach")
                self.assertEqual(cluster.coordinator.wait(timeout=30), -signal.SIGKILL)
                cluster.restart_coordinator()
                out, err = submitter.communicate(timeout=30)
                self.assertEqual((submitter.returncode, out), (0, "job-1\n"), err)
                self.assertEqual(cluster.espalier("list")[0].count("mortal"), 1)
                result = cluster.result("watch", "job-1")
                self.assertEqual(result["status"], "SUCCEEDED")
                self.assertEqual(result["weights_sha256"], quiet["weights_sha256"])
                self.assertEqual(len(self.evaluations(cluster, "job-1")), 3)
                cluster.stop()

    def test_killed_before_a_submission_is_kept_it_is_asked_again(self):
        self.environment["ESPALIER_MORTAL"] = "before JobAccepted"
        cluster = Cluster(self, workers=0, state=self.path("state"))
        cluster.kill_coordinator()
        cluster.start_coordinator(cluster.address, os.path.join(TESTING, "mortal-coordinator"))
        job = self.job("once", self.spec)
        submitter = cluster.start("submit", job, "--detach")
        self.assertEqual(cluster.coordinator.wait(timeout=30), -signal.SIGKILL)
        cluster.restart_coordinator()
        out, err = submitter.communicate(timeout=30)
        self.assertEqual((submitter.returncode, out), (0, "job-1\n"), err)
        self.assertIn("before it answered; asking again", err)
        self.assertEqual(cluster.espalier("list")[0].count("once"), 1)

    def start_to_die(self, cluster, how):
        """Starts a coordinator that dies while it replays job-2. Returns its exit status."""
        self.environment["ESPALIER_MORTAL"] = "replay %s 2" % how
        dying = cluster.start_daemon("coordinator", [
            os.path.join(TESTING, "mortal-coordinator"), "--listen", "127.0.0.1:0"] +
            cluster.flags + cluster.coordinator_flags)
        return dying.wait(timeout=60)

    def three_jobs(self, state, flags=()):
        """Returns a cluster with a dead coordinator. job-2 trains, the others do or wait."""
        cluster = Cluster(self, workers=1, state=state, flags=flags)
        one = {"min": 1, "max": 1}
        self.spec["workers"] = one
        cluster.submit(self.job("first", self.spec))
        cluster.wait_for_training("job-1")
        cluster.start_worker("node-2")
        cluster.submit(self.job("bad", dict(self.long_spec(self.csv), workers=one)))
        cluster.wait_for_training("job-2")
        cluster.submit(self.job("late", dict(self.classes_spec(self.csv), workers={"min": 2})))
        cluster.kill_coordinator()
        return cluster

    def assert_set_aside(self, cluster):
        status = cluster.status("job-2")
        self.assertEqual(status["state"], "FAILED", status)
        self.assertIn("crashed two starts of the coordinator", json.dumps(status))
        result = cluster.result("watch", "job-2", code=1)
        self.assertEqual(result["status"], "FAILED", result)

    def test_a_job_whose_replay_crashes_twice_is_set_aside(self):
        cluster = self.three_jobs(self.path("state"))
        self.assertEqual(self.start_to_die(cluster, "SIGSEGV"), -signal.SIGSEGV)
        self.assertEqual(self.start_to_die(cluster, "SIGABRT"), -signal.SIGABRT)
        # Would die again if it read the job.
        cluster.start_coordinator(cluster.address, os.path.join(TESTING, "mortal-coordinator"))
        del self.environment["ESPALIER_MORTAL"]
        kept, = glob.glob(self.path("state/set-aside-job-2-*"))
        self.assertIn("job-2 is set aside", cluster.log("coordinator"))
        self.assertIn(kept, cluster.log("coordinator"))
        self.assert_set_aside(cluster)
        self.assertEqual(os.stat(kept).st_mode & 0o777, 0o600)
        with open(kept, "rb") as f:
            entries = f.read()
        self.assert_like_quiet(cluster, "job-1", cluster.result("watch", "job-1"))
        self.assertEqual(cluster.result("watch", "job-3")["status"], "SUCCEEDED")
        cluster.kill_coordinator()
        cluster.restart_coordinator()
        self.assert_set_aside(cluster)
        self.assertEqual(cluster.log("coordinator").count("is set aside"), 1)
        self.assertEqual(cluster.status("job-1")["state"], "SUCCEEDED")
        with open(kept, "rb") as f:
            self.assertEqual(f.read(), entries)
        self.assertFalse(os.path.exists(self.path("state/replay-crashes")))

    def test_kills_during_a_replay_do_not_set_a_job_aside(self):
        cluster = self.three_jobs("file://" + self.path("state"))
        for _ in range(10):
            self.assertEqual(self.start_to_die(cluster, "SIGKILL"), -signal.SIGKILL)
        del self.environment["ESPALIER_MORTAL"]
        cluster.restart_coordinator()
        self.assertEqual(glob.glob(self.path("state/set-aside-*")), [])
        wait_for("job-2 to train again", lambda: self.step_of(cluster, "job-2"))
        cluster.espalier("cancel", "job-2")

    @pytest.mark.long
    def test_of_two_coordinators_the_older_ends_and_the_workers_follow_the_newer(self):
        shared = "file://" + self.path("shared")
        cluster = Cluster(self, workers=2, state=shared)
        submitted = cluster.submit(self.job("handed", dict(self.spec, workers={"min": 2})))
        cluster.wait_for_training(submitted)
        older = cluster.coordinator
        self.addCleanup(older.wait)
        self.addCleanup(older.kill)
        older.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        cluster.start_coordinator()
        result = cluster.result("watch", submitted)
        # After a long pause, a coordinator checks in its journal whether it was replaced.
        wait_for("a pause of 3 s", lambda: time.monotonic() - stopped > 3)
        older.send_signal(signal.SIGCONT)
        self.assertEqual(older.wait(timeout=30), 1)
        self.assertIn("a newer coordinator (incarnation", cluster.log("coordinator"))
        self.assert_like_quiet(cluster, submitted, result)

    @pytest.mark.long
    def test_a_state_directory_on_hdfs(self):
        with Hdfs.start(block_size=1 << 20) as hdfs:
            cluster = Cluster(self, workers=2, state=hdfs.uri + "/espalier/state",
                              flags=["--hadoop-conf-dir", hdfs.conf_dir])
            watcher = cluster.start("submit", self.job("far", dict(self.spec, workers={"min": 2})),
                                    "--json")
            await_step(watcher)
            cluster.kill_coordinator()
            cluster.restart_coordinator()
            out, err = watcher.communicate(timeout=100)
            self.assertEqual(watcher.returncode, 0, err)
            self.assert_like_quiet(cluster, "job-1", json_lines(out)[-1])
            cluster.kill_coordinator()
            cluster.restart_coordinator()
            self.assertEqual(cluster.status("job-1")["state"], "SUCCEEDED")
            self.assertEqual(len(self.evaluations(cluster, "job-1")), EPOCHS)

    @pytest.mark.long
    def test_a_job_is_set_aside_with_a_state_directory_on_hdfs(self):
        with Hdfs.start(block_size=1 << 20) as hdfs:
            cluster = self.three_jobs(hdfs.uri + "/espalier/state",
                                      flags=["--hadoop-conf-dir", hdfs.conf_dir])
            self.assertEqual(self.start_to_die(cluster, "SIGKILL"), -signal.SIGKILL)
            for how in ("SIGSEGV", "SIGABRT"):
                self.assertEqual(self.start_to_die(cluster, how), -getattr(signal, how))
            cluster.start_coordinator(cluster.address, os.path.join(TESTING, "mortal-coordinator"))
            del self.environment["ESPALIER_MORTAL"]
            self.assert_set_aside(cluster)
            self.assertIn("/espalier/state/set-aside-job-2-", cluster.log("coordinator"))
            self.assertEqual(cluster.result("watch", "job-3")["status"], "SUCCEEDED")

    def test_a_second_coordinator_on_a_local_state_directory_is_refused(self):
        cluster = Cluster(self, workers=0, state=self.path("state"))
        second = cluster.start_daemon("second", cluster.coordinator.args)
        self.assertEqual(second.wait(timeout=20), 1)
        self.assertIn("in use by another coordinator", cluster.log("second"))

    @pytest.mark.long
    def test_a_second_start_that_fails_takes_no_shared_journal_over(self):
        cluster = Cluster(self, workers=1, state="file://" + self.path("shared"))
        arguments = list(cluster.coordinator.args)
        arguments[arguments.index("--listen") + 1] = cluster.address
        second = cluster.start_daemon("second", arguments)
        self.assertEqual(second.wait(timeout=20), 2)
        self.assertIn("is taken", cluster.log("second"))
        submitted = cluster.submit(self.job("after", self.spec))
        self.assert_like_quiet(cluster, submitted, cluster.result("watch", submitted))

    @pytest.mark.long
    def test_a_full_disk_refuses_new_jobs_and_harms_no_running_one(self):
        self.spec["train"]["batch"] = 16  # of twice as many steps
        cluster = Cluster(self, workers=1, state=self.path("state"))
        watcher = cluster.start("submit", self.job("running", self.spec), "--json")
        await_step(watcher)
        _, hard = resource.prlimit(cluster.coordinator.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(cluster.coordinator.pid, resource.RLIMIT_FSIZE, (1, hard))
        refused = self.job("refused", self.spec)

        def refusal():  # until the journal has failed, the attempt to write the output is refused
            _, err = cluster.espalier("submit", refused, "--detach", code=1)
            return "no new job is accepted" in err
        wait_for("the refusal of new jobs", refusal)
        step = self.step_of(cluster, "job-1")
        wait_for("a step", lambda: self.step_of(cluster, "job-1") > step)
        _, err = cluster.espalier("submit", self.job("again", self.spec), "--detach", code=1)
        self.assertIn("no new job is accepted", err)
        resource.prlimit(cluster.coordinator.pid, resource.RLIMIT_FSIZE, (hard, hard))
        out, err = watcher.communicate(timeout=100)
        self.assertEqual(watcher.returncode, 0, err)
        self.assert_like_quiet(cluster, "job-1", json_lines(out)[-1])
        self.assertNotIn("refused", cluster.espalier("list")[0])
        cluster.kill_coordinator()
        cluster.restart_coordinator()
        self.assertEqual(cluster.result("watch", "job-1")["status"], "SUCCEEDED")

    def test_a_damaged_journal_is_named_with_what_to_do(self):
        cluster = Cluster(self, workers=0, state=self.path("state"))
        cluster.submit(self.job("kept", self.spec))
        cluster.coordinator.terminate()
        cluster.coordinator.wait(timeout=10)
        path = self.path("state", "journal.db")
        with open(path, "r+b") as f:
            f.seek(0)
            f.write(b"garbage" * 100)
        done = subprocess.run(cluster.coordinator.args, capture_output=True, text=True, timeout=20,
                              env=self.environment)
        self.assertEqual(done.returncode, 1)
        self.assertIn(path, done.stderr)
        self.assertIn("move the directory elsewhere", done.stderr)


if __name__ == "__main__":
    unittest.main()
