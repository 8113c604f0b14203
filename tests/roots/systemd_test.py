"""Tests both services under a real systemd, in a Debian 12 that boots in a container."""
import json
import os
import shutil
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "e2e"), os.path.join(ROOT, "tools", "lib")]

import debian_root
import machine
from espalier import EspalierTest, json_lines, wait_for
from installed import package, only, ring_job

OUTPUT = "/var/lib/espalier/models/job"
LIMIT_S = 60


class SystemdTest(EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        manager = debian_root.unpacked(machine.SUITE, machine.INCLUDE)
        cls.root = manager.__enter__()
        cls.addClassCleanup(manager.__exit__, None, None, None)
        shutil.copy(only(package(cls), ".deb"), os.path.join(cls.root, "espalier.deb"))
        cls.machine = machine.Machine(cls.root)
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.run("dpkg", "--install", "/espalier.deb")

    def setUp(self):
        super().setUp()
        self.began = time.time()
        self.machine.run("systemctl", "start", "espalier-coordinator", "espalier-worker")
        self.wait_for_workers(1)

    def tearDown(self):
        self.machine.run("systemctl", "stop", "espalier-worker", "espalier-coordinator")
        self.machine.run("systemctl", "reset-failed")
        super().tearDown()

    def show(self, unit, name):
        return self.machine.run("systemctl", "show", "--value", "-p", name, unit).strip()

    def pid(self, unit):
        return int(self.show(unit, "MainPID"))

    def workers(self):
        out = self.machine.try_run("espalier", "workers").stdout
        return [line.split()[0] for line in out.splitlines() if line.startswith("worker-")]

    def wait_for_workers(self, count):
        wait_for("%d workers attached" % count, lambda: len(self.workers()) == count, LIMIT_S)

    def journal(self, unit):
        """Returns the lines of the unit in this test, including those of systemd."""
        return self.machine.run("journalctl", "--no-pager", "--output=cat", "-u", unit,
                                "--since=@%f" % self.began)

    def wait_for_restart(self, unit, before):
        """Waits until the unit is active with another process id."""
        wait_for("the restart of " + unit, lambda: self.pid(unit) not in (0, before) and
                 self.show(unit, "ActiveState") == "active", LIMIT_S)

    def configure(self, name, old, new):
        """Replaces `old` in a file of /etc/espalier until the end of the test."""
        path = os.path.join(self.root, "etc/espalier", name)
        with open(path) as f:
            text = f.read()
        self.assertIn(old, text)
        self.addCleanup(self.put, path, text)
        self.put(path, text.replace(old, new))

    def put(self, path, text):
        with open(path, "w") as f:
            f.write(text)

    def submit(self, **train):
        """Submits a job. Returns (running `espalier submit`, job)."""
        job = ring_job(self, self.root, output=OUTPUT, **train)
        process = subprocess.Popen(
            self.machine.command("espalier", "submit", job.path, "--json"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def end():
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.addCleanup(end)
        return process, job

    def start_job(self):
        """Submits a job of a few seconds and waits until it trains. Returns the same as submit."""
        process, job = self.submit(epochs=1500)
        for line in iter(process.stdout.readline, ""):
            if '"event":"progress"' in line and '"step":0,' not in line:
                return process, job
        self.fail("the job did not train: " + process.stderr.read())

    def assert_right(self, process, job):
        out, err = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, 0, out[-500:] + err)
        result = json_lines(out)[-1]
        self.assertEqual(result["weights_sha256"], job.weights)
        self.assertTrue(os.path.exists(self.root + OUTPUT + "/weights.safetensors"))

    def test_a_job_trains_the_weights_of_the_plain_build(self):
        self.assert_right(*self.submit())

    def test_status_tells_what_the_services_do(self):
        wait_for("a status line", lambda: self.show("espalier-coordinator", "StatusText")
                 .startswith("workers: 1, jobs running: 0, waiting: 0; listening on "), LIMIT_S)
        wait_for("a status line", lambda: self.show("espalier-worker", "StatusText") ==
                 "free; attached to 127.0.0.1:7700", LIMIT_S)

    def test_a_killed_worker_is_started_again_and_the_job_ends_right(self):
        process, job = self.start_job()
        pid = self.pid("espalier-worker")
        self.machine.run("sh", "-c", "kill -9 %d" % pid)
        self.wait_for_restart("espalier-worker", pid)
        self.assert_right(process, job)

    def test_a_killed_coordinator_is_started_again_and_the_job_ends_right(self):
        process, job = self.start_job()
        pid = self.pid("espalier-coordinator")
        self.machine.run("sh", "-c", "kill -9 %d" % pid)
        self.wait_for_restart("espalier-coordinator", pid)
        self.wait_for_workers(1)
        process.kill()
        newest = json.loads(self.machine.run("espalier", "list", "--json"))["jobs"][-1]
        out = self.machine.run("espalier", "watch", newest["job"], "--json")
        self.assertEqual(json_lines(out)[-1]["weights_sha256"], job.weights)
        self.assertNotIn(" was lost: ", self.journal("espalier-coordinator"))

    def test_a_daemon_that_hangs_is_ended_by_the_watchdog_and_started_again(self):
        for unit in ("espalier-worker", "espalier-coordinator"):
            pid = self.pid(unit)
            self.machine.run("sh", "-c", "kill -STOP %d" % pid)
            self.wait_for_restart(unit, pid)
            self.assertIn("Failed with result 'watchdog'", self.journal(unit))
        self.wait_for_workers(1)

    def start_second_worker(self):
        """Starts a worker in addition to the worker of the service."""
        self.machine.run("systemd-run", "--quiet", "--unit=second", "--uid=espalier",
                         "--property=CacheDirectory=second", "espalier-worker", "--threads", "1",
                         "--spill-directory", "/var/cache/second")
        self.addCleanup(self.machine.run, "systemctl", "stop", "second")
        self.wait_for_workers(2)

    def test_stopping_a_worker_hands_its_share_to_the_others_first(self):
        self.start_second_worker()
        process, job = self.start_job()
        self.machine.run("systemctl", "stop", "espalier-worker")
        self.assertEqual(self.show("espalier-worker", "Result"), "success")
        self.assertEqual(self.show("espalier-worker", "ExecMainStatus"), "0")
        self.assertIn("SIGTERM: leaving job-", self.journal("espalier-worker"))
        self.assertNotIn(" was lost: ", self.journal("espalier-coordinator"))
        self.assert_right(process, job)

    def limit_stopping(self, seconds):
        """Sets TimeoutStopSec of the worker's service until the end of the test."""
        folder = os.path.join(self.root, "etc/systemd/system/espalier-worker.service.d")
        os.makedirs(folder)
        self.addCleanup(self.machine.run, "systemctl", "daemon-reload")
        self.addCleanup(shutil.rmtree, folder)
        self.put(os.path.join(folder, "stop.conf"), "[Service]\nTimeoutStopSec=%ds\n" % seconds)
        self.machine.run("systemctl", "daemon-reload")
        self.assertEqual(self.show("espalier-worker", "TimeoutStopUSec"), "%ds" % seconds)

    def test_a_worker_that_takes_longer_to_leave_than_its_unit_allows_is_not_killed(self):
        self.limit_stopping(2)
        self.configure("worker.yaml", "leave_timeout_ms: 30 s", "leave_timeout_ms: 8 s")
        self.configure("worker.yaml", "peer_timeout_ms: 5 s", "peer_timeout_ms: 60s")
        self.configure("coordinator.yaml", "liveness_limit_ms: 5 s", "liveness_limit_ms: 60000")
        self.machine.run("systemctl", "restart", "espalier-coordinator", "espalier-worker")
        self.wait_for_workers(1)
        self.start_second_worker()
        process, job = self.start_job()
        # The worker that would take over the share is stopped.
        self.machine.run("systemctl", "kill", "--signal=STOP", "second")
        began = time.monotonic()
        self.machine.run("systemctl", "stop", "espalier-worker")
        self.assertGreater(time.monotonic() - began, 7)
        self.assertEqual(self.show("espalier-worker", "Result"), "success")
        self.assertEqual(self.show("espalier-worker", "ExecMainStatus"), "0")
        said = self.journal("espalier-worker")
        self.assertIn("leaving all the same", said)
        self.assertNotIn("timed out", said)
        self.machine.run("systemctl", "kill", "--signal=CONT", "second")
        self.assert_right(process, job)

    def test_a_drained_worker_is_not_started_again(self):
        self.machine.run("espalier", "drain", self.workers()[0])
        wait_for("the end of the worker", lambda: self.show("espalier-worker", "ActiveState") ==
                 "inactive", LIMIT_S)

    def reload(self, old, new, words):
        """Changes the configuration, reloads the worker and waits for `words` in the journal."""
        self.configure("worker.yaml", old, new)
        self.machine.run("systemctl", "reload", "espalier-worker")
        wait_for("'%s' in the journal" % words, lambda: words in self.journal("espalier-worker"),
                 LIMIT_S)

    def test_reloading_says_what_counts_now_and_what_later(self):
        self.reload("log_level: info", "log_level: debug", "no other option has changed")
        self.reload("log_level: debug", "log_level: loud", "the options stay as they are")
        self.configure("worker.yaml", "log_level: loud", "log_level: info")
        self.reload('\nname: ""', "\nname: other", "take effect at the next start")
        self.assertEqual(self.show("espalier-worker", "NRestarts"), "0")
        self.assertEqual(self.show("espalier-worker", "ActiveState"), "active")

    def test_a_key_that_only_root_may_read_reaches_the_service(self):
        key = os.path.join(self.root, "etc/espalier/worker/tls.key")
        os.makedirs(os.path.dirname(key))
        self.addCleanup(shutil.rmtree, os.path.dirname(key))
        self.put(key, "a key\n")
        os.chmod(key, 0o600)
        self.machine.run("systemctl", "restart", "espalier-worker")
        folder = "/run/credentials/espalier-worker.service/"
        self.assertEqual(self.machine.run("cat", folder + "tls.key"), "a key\n")
        self.assertEqual(self.machine.run("cat", folder + "tls.crt"), "\n")

    def test_the_worker_cannot_read_the_secrets_of_the_coordinator(self):
        folder = os.path.join(self.root, "etc/espalier/coordinator")
        os.makedirs(folder, exist_ok=True)
        self.addCleanup(shutil.rmtree, folder)
        for name in ("tls.key", "tls.crt", "tokens"):
            self.put(os.path.join(folder, name), "a secret\n")
        self.machine.run("systemctl", "restart", "espalier-coordinator", "espalier-worker")
        self.wait_for_workers(1)

        def reads(unit, path):
            return self.machine.try_run(
                "nsenter", "--target", self.pid(unit), "--mount", "--", "setpriv",
                "--reuid=espalier", "--regid=espalier", "--clear-groups", "head", "-c", "1",
                path).returncode == 0
        for path in ("/run/credentials/espalier-coordinator.service/tls.key",
                     "/var/lib/espalier/coordinator/journal.db",
                     "/etc/espalier/coordinator/tokens"):
            self.assertTrue(reads("espalier-coordinator", path), path)
            self.assertFalse(reads("espalier-worker", path), path)
        self.assertTrue(reads("espalier-worker",
                              "/run/credentials/espalier-worker.service/tls.key"))

    def test_the_limits_of_the_units_are_in_effect(self):
        for unit in ("espalier-coordinator", "espalier-worker"):
            high, most = (int(self.show(unit, name)) for name in ("MemoryHigh", "MemoryMax"))
            self.assertLess(high, most)
            self.assertLess(most, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
            threads = self.machine.run("ls", "/proc/%d/task" % self.pid(unit)).split()
            self.assertLess(10 * len(threads), int(self.show(unit, "TasksMax")))

    def test_lines_in_the_journal_have_priorities(self):
        out = self.machine.run("journalctl", "--no-pager", "-u", "espalier-worker", "-p", "6..6",
                               "--output=cat")
        self.assertIn("attached as worker-", out)
        self.assertNotIn("<6>", out)

    def test_a_wrong_configuration_is_named_and_tried_again_until_it_is_mended(self):
        self.machine.run("systemctl", "stop", "espalier-coordinator")
        self.configure("coordinator.yaml", "queue_max:", "queue_maxx:")
        self.machine.run("systemctl", "start", "--no-block", "espalier-coordinator")
        wait_for("the message", lambda: "queue_maxx" in self.journal("espalier-coordinator"),
                 LIMIT_S)
        self.configure("coordinator.yaml", "queue_maxx:", "queue_max:")
        wait_for("the start", lambda: self.show("espalier-coordinator", "ActiveState") ==
                 "active", LIMIT_S)


if __name__ == "__main__":
    unittest.main()
