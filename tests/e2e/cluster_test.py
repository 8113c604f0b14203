"""A running cluster: concurrent jobs, waiting, cancelled, watched; daemons that die."""
import os
import signal
import socket
import subprocess
import threading
import time
import unittest

import pytest

from espalier import (DIE_WITH_PARENT, Cluster, EspalierTest, await_step, json_lines, program,
                      wait_for)

import hosts  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("cluster", "coordinator")

DEATH_LIMIT_S = 8


class ClusterTest(EspalierTest):
    def long_job(self, name, **workers):
        csv = self.classes_csv("long.csv", 2000)
        return self.job(name, dict(self.long_spec(csv), workers=workers or {"max": 1}))

    def short_job(self, name, **workers):
        csv = self.classes_csv("short.csv", 200)
        return self.job(name, dict(self.classes_spec(csv), workers=workers or {"max": 1}))

    def test_a_job_that_needs_the_killed_worker_fails_by_name_and_the_next_job_is_served(self):
        cluster = Cluster(self, workers=3, coordinator_flags=["--below-min-timeout-ms", "1s"])
        watcher = cluster.start("submit", self.long_job("doomed", min=3), "--json")
        await_step(watcher)
        started = time.monotonic()
        cluster.workers["node-2"].kill()
        out, err = watcher.communicate(timeout=30)
        self.assertLess(time.monotonic() - started, DEATH_LIMIT_S)
        self.assertEqual(watcher.returncode, 1)
        failed = json_lines(out)[-1]
        self.assertEqual(failed["status"], "FAILED")
        self.assertIn("node-2", failed["error"]["message"])
        self.assertIn("node-2", err)
        done = cluster.result("submit", self.short_job("next", min=2))
        self.assertEqual(done["status"], "SUCCEEDED")

    def test_two_jobs_run_side_by_side_and_a_third_waits_and_says_why(self):
        cluster = Cluster(self, workers=2)
        first = cluster.submit(self.long_job("one"))
        second = cluster.submit(self.long_job("two"))
        cluster.wait_for_training(first)
        cluster.wait_for_training(second)
        third = cluster.submit(self.short_job("three"))
        wait_for("the reason to wait", lambda: cluster.waits(third))
        self.assertIn("waiting because", cluster.espalier("list")[0])
        self.assertNotEqual(first, second)
        cluster.espalier("cancel", first)
        cluster.espalier("watch", first, code=1)
        self.assertEqual(cluster.result("watch", third)["status"], "SUCCEEDED")
        self.assertEqual(cluster.status(second)["state"], "TRAINING")

    def test_a_job_waits_for_its_least_number_of_workers(self):
        cluster = Cluster(self, workers=1)
        job = cluster.submit(self.short_job("patient", min=2))
        wait_for("the reason to wait", lambda: cluster.waits(job))
        self.assertIn("waiting because", cluster.espalier("list")[0])
        cluster.start_worker("late")
        self.assertEqual(cluster.result("watch", job)["status"], "SUCCEEDED")

    def test_cancelling_ends_a_running_and_a_waiting_job(self):
        cluster = Cluster(self, workers=1)
        running = cluster.submit(self.long_job("running"))
        waiting = cluster.submit(self.long_job("waiting"))
        cluster.wait_for_training(running)
        watcher = cluster.start("watch", running, "--json")
        cluster.espalier("cancel", waiting)
        cluster.espalier("cancel", running)
        out, _ = watcher.communicate(timeout=20)
        self.assertEqual(watcher.returncode, 1)
        self.assertEqual(json_lines(out)[-1]["status"], "CANCELLED")
        self.assertEqual(cluster.result("watch", waiting, code=1)["status"], "CANCELLED")
        done = cluster.result("submit", self.short_job("after"))
        self.assertEqual(done["status"], "SUCCEEDED")

    def test_detaching_leaves_the_job_running_and_says_how_to_come_back(self):
        cluster = Cluster(self, workers=1)
        out, err = cluster.espalier("submit", self.long_job("far"), "--detach")
        self.assertIn("watch", out + err)
        watcher = cluster.start("watch", "job-1", "--json")
        watcher.stdout.readline()
        watcher.send_signal(signal.SIGINT)
        out, err = watcher.communicate(timeout=10)
        self.assertEqual(watcher.returncode, 0, err)
        self.assertIn("watch", out + err)
        detached = json_lines(out)[-1]
        self.assertEqual((detached["event"], detached["job"]), ("detached", "job-1"))
        self.assertEqual(detached["follow_with"],
                         "espalier watch job-1 --coordinator %s --json" % cluster.address)
        cluster.wait_for_training("job-1")
        cluster.espalier("watch", "job-99", code=2)

    def test_watching_a_job_that_has_ended_exits_with_its_code(self):
        cluster = Cluster(self, workers=1)
        job = cluster.submit(self.short_job("done"))
        self.assertEqual(cluster.result("watch", job)["status"], "SUCCEEDED")
        self.assertEqual(cluster.result("watch", job)["status"], "SUCCEEDED")
        spec = self.classes_spec(self.write("bad.csv", "label,a\n1,2\n2,x\n"))
        bad = cluster.submit(self.job("bad", spec))
        self.assertEqual(cluster.result("watch", bad, code=1)["error"]["row"], 3)

    def test_lists_of_jobs_and_workers(self):
        cluster = Cluster(self, workers=2)
        job = cluster.submit(self.short_job("listed"))
        cluster.espalier("watch", job)
        self.assertIn("listed", cluster.espalier("list")[0])
        out, _ = cluster.espalier("status", job)
        self.assertLess(out.index("succeeded"), out.index("\nnewest evaluations\n"), out)
        out, _ = cluster.espalier("workers")
        self.assertIn("node-1", out)
        self.assertIn("node-2", out)
        for command in (["list"], ["workers"], ["status", job]):
            out, _ = cluster.espalier(*command, "--json")
            self.assertTrue(json_lines(out), command)
        wait_for("free workers", lambda: cluster.espalier("workers")[0].count(" free ") == 2)
        self.assertRegex(cluster.espalier("drain", "node-2")[0],
                         r"^worker node-2 \(worker-\d+\) is free and leaves now\n$")

    def test_workers_find_a_coordinator_that_came_back_elsewhere(self):
        cluster = Cluster(self, workers=2)
        before = cluster.address
        cluster.coordinator.kill()
        cluster.coordinator.wait()
        cluster.start_coordinator()
        cluster.wait_for_workers(2)
        self.assertNotEqual(cluster.address, before)
        done = cluster.result("submit", self.short_job("again", min=2))
        self.assertEqual(done["status"], "SUCCEEDED")

    def test_sigterm_ends_the_daemons_cleanly(self):
        cluster = Cluster(self, workers=2)
        job = cluster.submit(self.long_job("stopped", min=1, max=1))
        cluster.wait_for_training(job)
        for process in list(cluster.workers.values()) + [cluster.coordinator]:
            process.terminate()
            self.assertEqual(process.wait(timeout=10), 0)

    def test_a_worker_that_hands_its_share_over_asks_its_service_manager_for_time(self):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        name = "espalier-%d" % os.getpid()
        manager.bind("\0" + name)
        heard = []

        def listen():
            while heard[-1:] != [b"over"]:
                heard.append(manager.recv(4096))
        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        self.environment["NOTIFY_SOCKET"] = "@" + name
        cluster = Cluster(self, workers=2, coordinator_flags=["--liveness-limit-ms", "60s"],
                          worker_flags=["--leave-timeout-ms", "7s", "--peer-timeout-ms", "60s"])
        job = cluster.submit(self.long_job("both", min=1, max=2))
        cluster.wait_for_training(job)
        # The worker that should take over its share does not receive it.
        cluster.workers["node-1"].send_signal(signal.SIGSTOP)
        self.assertNotIn(b"EXTEND", b"\n".join(heard))
        before = time.monotonic()
        cluster.workers["node-2"].terminate()
        self.assertEqual(cluster.workers["node-2"].wait(timeout=30), 0)
        self.assertGreater(time.monotonic() - before, 6)
        manager_too = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager_too.sendto(b"over", "\0" + name)
        manager_too.close()
        listener.join(30)
        self.assertGreaterEqual(heard.count(b"EXTEND_TIMEOUT_USEC=15000000"), 2)
        self.assertIn("leaving all the same", cluster.log("node-2"))

    def test_a_client_waits_for_a_coordinator_as_long_as_it_is_told(self):
        cluster = Cluster(self, workers=1, state=self.path("state"))
        cluster.espalier("list", "--timeout", "5s")
        cluster.kill_coordinator()
        _, err = cluster.espalier("list", code=3)
        self.assertIn("coordinator at %s cannot be reached" % cluster.address, err)
        for command in (["list"], ["watch", "job-1"], ["submit", self.short_job("away")]):
            began = time.monotonic()
            _, err = cluster.espalier(*command, "--timeout", "1500ms", code=3)
            self.assertLess(time.monotonic() - began, 10)
            self.assertRegex(err, r"no coordinator was reached in 1\.[5-9] s|in [2-9]\.\d s")
            self.assertIn("coordinator at %s cannot be reached" % cluster.address, err)
        waiting = [cluster.start(*command, "--timeout", "60s")
                   for command in (["workers"], ["submit", self.short_job("late")])]
        time.sleep(1)  # they ask in vain
        cluster.restart_coordinator()
        for process in waiting:
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, err)
        _, err = cluster.espalier("list", "--timeout", "soon", code=2)
        self.assertIn("--timeout: found 'soon', expected a time from 100 ms to 24 h", err)

    def test_a_daemon_does_not_listen_beyond_loopback_unless_told(self):
        for daemon, more in (("espalier-coordinator", []),
                             ("espalier-worker", ["--coordinator", "127.0.0.1:1"])):
            done = subprocess.run([program(daemon), "--listen", "0.0.0.0:0"] + more,
                                  capture_output=True, text=True, timeout=20,
                                  env=self.environment)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("insecure", done.stderr)
        config = self.write("open.yaml", "listen: 0.0.0.0:0\ninsecure: true\n"
                                         "address_file: %s\n" % self.path("open"))
        process = subprocess.Popen([program("espalier-coordinator"), "--config", config],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for("the address", lambda: os.path.exists(self.path("open")))
        process.terminate()
        self.assertEqual(process.wait(timeout=10), 0)

    def test_a_second_coordinator_does_not_take_the_same_port(self):
        cluster = Cluster(self, workers=1)
        done = subprocess.run([program("espalier-coordinator"), "--listen", cluster.address],
                              capture_output=True, text=True, timeout=20, env=self.environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(cluster.address, done.stderr)

    def test_a_name_with_several_addresses_is_listened_to_on_all_that_are_this_hosts(self):
        names = self.write("hosts", "127.0.0.2 many\n203.0.113.9 many\n127.0.0.3 many\n")
        address = self.path("address")
        script = 'mount --bind "$0" /etc/hosts && exec "$@"'
        process = subprocess.Popen(
            DIE_WITH_PARENT + ["unshare"] + hosts.own_user() +
            ["--mount", "--propagation", "private", "sh", "-c", script, names,
             program("espalier-coordinator"), "--listen", "many:0", "--insecure",
             "--address-file", address],
            env=self.environment, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for("the address", lambda: os.path.exists(address) and os.path.getsize(address))
        with open(address) as f:
            port = f.read().strip().rsplit(":", 1)[1]
        for host in ("127.0.0.2", "127.0.0.3"):
            out, _ = self.espalier("list", "--coordinator", "%s:%s" % (host, port))
            self.assertIn("no jobs", out)


if __name__ == "__main__":
    unittest.main()
