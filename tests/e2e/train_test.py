"""`espalier train`: its result, and the end of its daemons."""
import errno
import fcntl
import json
import os
import shutil
import signal
import socket
import stat
import struct
import sys
import termios
import time
import unittest

import pytest

from espalier import (EspalierTest, await_step, children_of, command_line_of, is_alive, json_lines,
                      wait_for)

RESULT_KEYS = {"status", "job", "steps", "epochs", "rows_per_epoch", "metrics", "weights_sha256",
               "bundle", "timing", "skipped_rows", "stopped_because"}
TIMING_KEYS = {"start_s", "profiling_s", "train_s", "total_s", "step_ms_p50", "step_ms_p99"}
DEATH_LIMIT_S = 8
# Runs a command that inherits its standard output.
PARENT = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"


def cpu_ticks(pid):
    """Returns the processor time of a process in ticks of 10 ms."""
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


class TrainTest(EspalierTest):
    def start_long(self, workers=2, *flags):
        """Starts a training and waits until it is in its steps. Returns (process, daemons by name).
        """
        job = self.job("long", self.long_spec(self.classes_csv("long.csv", 2000)))
        process = self.start("train", job, "--workers", workers, "--json", *flags)
        await_step(process)
        daemons = {}
        for pid in children_of(process.pid):
            name = os.path.basename(command_line_of(pid)[0])
            daemons.setdefault(name, []).append(pid)
        return process, daemons

    def assert_all_gone(self, pids):
        wait_for("the daemons' end", lambda: not any(is_alive(pid) for pid in pids), 5)
        self.assertEqual(os.listdir(self.temporary), [])

    def test_the_last_line_is_the_result(self):
        csv, test = self.classes_csv("a.csv", 500), self.classes_csv("t.csv", 100, seed=5)
        spec = self.classes_spec(csv)
        spec["data"]["test"] = test
        out, err = self.espalier("train", self.job("r", spec), "--workers", 2, "--json")
        lines = json_lines(out)
        result = lines[-1]
        self.assertGreater(len(lines), 1, "progress comes first")
        self.assertEqual(set(result), RESULT_KEYS)
        self.assertEqual(set(result["timing"]), TIMING_KEYS)
        self.assertEqual(set(result["metrics"]), {"train", "validation", "test"})
        for name, metrics in result["metrics"].items():
            # The running values of an epoch count right answers, not classes.
            more = [] if name == "train" else ["precision", "recall", "f1",
                                                     "per_class", "confusion_matrix"]
            for key in ["rows", "loss", "accuracy"] + more:
                self.assertIn(key, metrics)
        self.assertEqual(result["status"], "SUCCEEDED")
        self.assertEqual(result["epochs"], 3)
        steps_an_epoch = -(-result["rows_per_epoch"] // 100)
        self.assertEqual(result["steps"], 3 * steps_an_epoch)
        self.assertRegex(result["weights_sha256"], r"^[0-9a-f]{64}$")
        timing = result["timing"]
        parts = timing["start_s"] + timing["profiling_s"] + timing["train_s"]
        self.assertAlmostEqual(parts, timing["total_s"], delta=0.5)
        self.assertEqual(os.listdir(self.temporary), [], "all that was temporary is removed")
        self.assertEqual(err, "")

    def test_plain_output_ends_with_the_result_for_people(self):
        spec = self.classes_spec(self.classes_csv("a.csv", 300))
        out, _ = self.espalier("train", self.job("plain", spec), "--workers", 1)
        self.assertNotIn("\r", out)
        self.assertNotIn("\x1b", out)
        for words in ("confusion", "accuracy", "plain.bundle", "next"):
            self.assertIn(words, out)

    def test_the_daemons_are_direct_children_and_keep_their_names(self):
        _, daemons = self.start_long(3)
        self.assertEqual(len(daemons.get("espalier-worker", [])), 3, daemons)
        self.assertEqual(len(daemons.get("espalier-coordinator", [])), 1, daemons)

    def test_no_other_account_of_the_machine_reaches_them(self):
        _, daemons = self.start_long(2)
        listening = set()
        for table in ("tcp", "tcp6"):
            with open("/proc/net/" + table) as f:
                listening |= {fields[9] for fields in map(str.split, f) if fields[3] == "0A"}
        sockets = []
        for pid in sum(daemons.values(), []):
            for fd in os.listdir("/proc/%d/fd" % pid):
                target = os.readlink("/proc/%d/fd/%s" % (pid, fd))
                self.assertNotIn(target[len("socket:["):-1], listening, "listens on a port")
            command = command_line_of(pid)
            sockets.append(command[command.index("--listen") + 1])
        self.assertEqual(len(sockets), 3)
        for address in sockets:
            path = address[len("unix:"):]
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700)
        coordinator = [a for a in sockets if a.endswith("coordinator.socket")][0]
        self.assertEqual(len(self.result("list", "--coordinator", coordinator)["jobs"]), 1)
        path = coordinator[len("unix:"):]
        self.assertEqual(self.connect_as(os.geteuid(), path), 0)
        if os.geteuid() != 0:
            return
        self.assertEqual(self.connect_as(65534, path), errno.EACCES)
        for folder in (self.directory, self.temporary, os.path.dirname(path)):
            os.chmod(folder, 0o755)
        open_to_all = os.path.join(os.path.dirname(path), "open.socket")
        with socket.socket(socket.AF_UNIX) as control:
            control.bind(open_to_all)
            os.chmod(open_to_all, 0o666)
            control.listen()
            self.assertEqual(self.connect_as(65534, open_to_all), 0, "the way is open")
        self.assertEqual(self.connect_as(65534, path), errno.EACCES, "the file's own mode")

    def connect_as(self, user, path):
        """Returns what a program of that user gets there: 0, or an errno."""
        pid = os.fork()
        if pid == 0:
            code = 255
            try:
                if user != os.geteuid():
                    os.setgroups([])
                    os.setgid(user)
                    os.setuid(user)
                with socket.socket(socket.AF_UNIX) as one:
                    code = one.connect_ex(path)
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_where_sockets_cannot_lie_in_the_temporary_directory_they_lie_in_tmp(self):
        for name in ("long" * 30, "a,b #1"):
            with self.subTest(name):
                self.see_sockets_in_tmp(name)

    def see_sockets_in_tmp(self, name):
        self.temporary = self.path(name)
        os.mkdir(self.temporary)
        self.environment["TMPDIR"] = self.temporary
        process, daemons = self.start_long(1)
        command = command_line_of(daemons["espalier-coordinator"][0])
        path = command[command.index("--listen") + 1][len("unix:"):]
        self.assertTrue(path.startswith("/tmp/espalier-train-"), path)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assert_all_gone(sum(daemons.values(), []))
        self.assertFalse(os.path.exists(os.path.dirname(path)))
        shutil.rmtree(self.path("long.bundle"), ignore_errors=True)

    @pytest.mark.long
    def test_a_killed_worker_is_not_restarted_and_the_job_goes_on_without_it(self):
        spec = self.classes_spec(self.classes_csv("some.csv", 2000), epochs=2500)
        quiet = self.result("train", self.job("quiet", spec), "--workers", 2)
        process = self.start("train", self.job("disturbed", spec), "--workers", 2, "--json")
        await_step(process)
        workers = [pid for pid in children_of(process.pid)
                   if os.path.basename(command_line_of(pid)[0]) == "espalier-worker"]
        os.kill(workers[0], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(json_lines(out)[-1]["weights_sha256"], quiet["weights_sha256"])
        self.assertRegex(err, r"local-[12]")

    def test_when_all_workers_are_killed_the_job_fails_in_time_by_name(self):
        process, daemons = self.start_long(2)
        started = time.monotonic()
        for victim in daemons["espalier-worker"]:
            os.kill(victim, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - started, DEATH_LIMIT_S + 4)
        self.assertEqual(process.returncode, 1, err)
        failed = json_lines(out)[-1]
        self.assertEqual(failed["status"], "FAILED")
        self.assertRegex(failed["error"]["message"] + err, r"local-[12]|worker-\d")
        self.assert_all_gone(sum(daemons.values(), []))
        self.assertFalse(os.path.exists(self.path("long.bundle")))

    def test_control_c_before_an_evaluation_leaves_nothing(self):
        spec = self.classes_spec(self.classes_csv("rows.csv", 2000), batch=1, epochs=10_000)
        spec["train"]["optimizer"] = {"sgd": {"learning_rate": 1e-9}}
        spec["data"]["train"] = [spec["data"]["train"]]
        spec["model"]["hidden"] = [2048, 2048]  # an epoch takes minutes
        process = self.start("train", self.job("long", spec), "--workers", 2, "--json")
        wait_for("daemons", lambda: len(children_of(process.pid)) == 3)
        daemons = children_of(process.pid)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assert_all_gone(daemons)
        self.assertEqual([n for n in os.listdir(self.directory) if "bundle" in n], [])

    def test_control_c_after_an_evaluation_keeps_the_model(self):
        spec = self.classes_spec(self.classes_csv("rows.csv", 500), epochs=10_000_000)
        spec["data"]["validation"] = {"fraction": 0.2}
        spec["train"]["early_stopping"] = {"patience": 10_000_000}
        process = self.start("train", self.job("kept", spec), "--workers", 2, "--json")
        next(line for line in process.stdout if json.loads(line).get("event") == "evaluation")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        result = json_lines(out)[-1]
        self.assertEqual(result["status"], "SUCCEEDED")
        self.assertEqual(result["stopped_because"], "request")
        self.assertGreater(result["best_epoch"], 0)
        self.assertTrue(os.path.exists(self.path("kept.bundle", "weights.safetensors")))

    def test_nohup_lets_it_live_through_a_hang_up(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # passed on by nohup(1)
        try:
            spec = self.classes_spec(self.classes_csv("some.csv", 2000), epochs=4000)
            process = self.start("train", self.job("hung", spec), "--workers", 1, "--json")
        finally:
            signal.signal(signal.SIGHUP, before)
        await_step(process)
        process.send_signal(signal.SIGHUP)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(json_lines(out)[-1]["status"], "SUCCEEDED")

    def test_control_c_twice_stops_at_once(self):
        process, daemons = self.start_long(2)
        os.kill(daemons["espalier-worker"][0], signal.SIGSTOP)  # otherwise the job ends at once
        process.send_signal(signal.SIGINT)
        self.assertIn("Press Ctrl-C again", process.stderr.readline())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130)
        self.assertNotIn("was killed by signal", err)
        self.assert_all_gone(sum(daemons.values(), []))
        self.assertEqual([n for n in os.listdir(self.directory) if "bundle" in n], [])

    def test_control_c_ends_one_whose_output_nobody_reads(self):
        process, daemons = self.start_long(2)

        def unread():
            return struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)))[0]

        def is_full():
            before = unread()
            time.sleep(0.5)
            return unread() == before >= fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ) // 2
        wait_for("a full pipe", is_full, 60)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=10), 130)
        self.assert_all_gone(sum(daemons.values(), []))

    def test_a_killed_command_takes_its_daemons_with_it(self):
        process, daemons = self.start_long(2)
        process.kill()
        process.communicate(timeout=10)
        wait_for("the daemons' end",
                 lambda: not any(is_alive(p) for p in sum(daemons.values(), [])), 5)

    def orphan(self, *flags):
        """Starts a training command and kills its parent. Returns (parent, process ids of the
        command and its daemons)."""
        self.command_prefix = [sys.executable, "-c", PARENT]
        parent, found = self.start_long(2, *flags)
        command, = sum(found.values(), [])
        daemons = children_of(command)
        self.assertEqual(len(daemons), 3)

        def end():
            if is_alive(command):
                os.kill(command, signal.SIGKILL)
        self.addCleanup(end)
        parent.kill()
        parent.wait(timeout=10)
        return parent, [command] + daemons

    def test_it_goes_on_without_the_process_that_started_it(self):
        parent, pids = self.orphan()
        await_step(parent)
        # The parent has ended. Processes that end with it would not work any more.
        worked = sum(cpu_ticks(pid) for pid in pids)
        wait_for("more work", lambda: sum(cpu_ticks(pid) for pid in pids) > worked + 50)
        self.assertTrue(all(is_alive(pid) for pid in pids))
        os.kill(pids[0], signal.SIGINT)
        self.assert_all_gone(pids)

    def test_when_told_it_ends_with_the_process_that_started_it(self):
        _, pids = self.orphan("--exit-with-parent")
        self.assert_all_gone(pids)
        self.assertEqual([n for n in os.listdir(self.directory) if "bundle" in n], [])

    def test_the_number_of_workers_comes_from_the_job(self):
        spec = self.long_spec(self.classes_csv("w.csv", 500))
        process = self.start("train", self.job("w", dict(spec, workers={"max": 3})), "--json")
        wait_for("three workers", lambda: sum(
            "espalier-worker" in command_line_of(p)[0] for p in children_of(process.pid)
            if command_line_of(p)) == 3)


if __name__ == "__main__":
    unittest.main()
