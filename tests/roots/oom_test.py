"""A worker that the kernel ends because memory runs out is named by the coordinator.

The worker runs in a memory control group with a small limit. The test then runs the command of
ExecStopPost with the variables that systemd sets with control groups of version 2. With version 1,
systemd in a container cannot limit the memory of a unit, and reports a kill as that of any process.
Requires root.
"""
import os
import shlex
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "e2e")]

from espalier import Cluster, EspalierTest, wait_for

UNIT = os.path.join(ROOT, "deploy", "systemd", "espalier-worker.service")
WHAT = "was ended by the kernel because memory ran out"
MIB = 1 << 20
LIMIT = 32 * MIB       # a worker without a job needs 13 MiB
HIDDEN = [1170, 1170]  # needs more than the limit, but its plan is below it and 64 MiB
LOSSES_MAX = 20        # a job of one member without progress fails earlier
LIMIT_S = 60


class MemoryGroup:
    """A memory control group of either version."""

    def __init__(self, limit):
        first = os.path.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes")
        base = "/sys/fs/cgroup" + ("/memory" if first else "")
        self.events = "memory.oom_control" if first else "memory.events"
        self.path = os.path.join(base, "espalier-oom-%d" % os.getpid())
        os.mkdir(self.path)
        self.write("memory.limit_in_bytes" if first else "memory.max", limit)

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w") as f:
            f.write(str(value))

    def kills(self):
        """Returns the number of processes that the kernel has ended in this group."""
        with open(os.path.join(self.path, self.events)) as f:
            return next(int(line.split()[1]) for line in f if line.startswith("oom_kill "))

    def remove(self):
        def is_gone():
            try:
                os.rmdir(self.path)
            except OSError:
                return False
            return True
        wait_for("the end of the processes in " + self.path, is_gone)


class LimitedCluster(Cluster):
    """A cluster with workers in a memory control group."""

    def __init__(self, test, group):
        self.group = group
        super().__init__(test, 1, worker_flags=["--memory-bytes-max", "8GiB"])

    def start_daemon(self, name, arguments):
        if name != "coordinator":
            arguments = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"',
                         self.group.path] + arguments
        return super().start_daemon(name, arguments)


class OomTest(EspalierTest):
    def setUp(self):
        super().setUp()
        self.group = MemoryGroup(LIMIT)
        self.addCleanup(self.group.remove)
        self.environment["RUNTIME_DIRECTORY"] = self.path("runtime")
        os.mkdir(self.environment["RUNTIME_DIRECTORY"])
        self.cluster = LimitedCluster(self, self.group)

    def spec(self, hidden, **train):
        spec = self.classes_spec(self.classes_csv("rows.csv", 400), **train)
        spec["model"] = {"task": "classification", "hidden": hidden}
        return spec

    def stop_post(self, result):
        """Runs ExecStopPost of the unit, as systemd does after a process that SIGKILL ended."""
        with open(UNIT) as f:
            line, = [line for line in f if line.startswith("ExecStopPost=")]
        command = shlex.split(line.split("=", 1)[1].replace("$$", "$"))
        subprocess.run(command, check=True, env={
            "RUNTIME_DIRECTORY": self.environment["RUNTIME_DIRECTORY"], "SERVICE_RESULT": result,
            "EXIT_CODE": "killed", "EXIT_STATUS": "KILL"})

    def await_kill(self):
        self.assertEqual(self.cluster.workers["node-1"].wait(timeout=LIMIT_S), -signal.SIGKILL)

    def restart(self, result):
        self.stop_post(result)
        self.cluster.start_worker("node-1")

    def named(self):
        return self.cluster.log("coordinator").count(WHAT)

    def test_a_worker_without_memory_is_named_and_fails_its_job(self):
        cluster = self.cluster
        job = cluster.submit(self.job("large", self.spec(HIDDEN, epochs=100_000)))
        self.await_kill()
        self.restart("oom-kill")
        wait_for("the reason in the log", self.named, LIMIT_S)
        self.assertIn("the kernel ended the previous process because memory ran out",
                      cluster.log("node-1"))
        self.assertRegex(cluster.status(job)["last_loss"], "^node-1.* " + WHAT)
        self.assertIn(WHAT, cluster.espalier("status", job)[0])
        losses = 1
        while True:
            self.await_kill()
            losses += 1
            self.assertEqual(self.group.kills(), losses)
            # RestartSec is longer than the time in which a worker may return.
            wait_for("the loss", lambda: cluster.status(job)["losses"] == losses, LIMIT_S)
            if cluster.status(job)["state"] == "FAILED":
                break
            self.assertLess(losses, LOSSES_MAX)
            self.restart("oom-kill")
            wait_for("the reason in the log", lambda: self.named() >= losses, LIMIT_S)
        error = cluster.espalier("status", job)[0]
        self.assertRegex(error, "lost members .* was lost: .*; before that, node-1.* " + WHAT)
        self.assertEqual(os.listdir(self.environment["RUNTIME_DIRECTORY"]), [])

    def test_a_worker_killed_by_a_process_did_not_run_out_of_memory(self):
        cluster = self.cluster
        spec = self.spec([4], epochs=10_000_000)
        job = cluster.submit(self.job("endless", spec))
        cluster.wait_for_training(job)
        cluster.workers["node-1"].kill()
        self.await_kill()
        self.restart("signal")
        cluster.wait_for_training(job)
        self.assertEqual(self.group.kills(), 0)
        self.assertEqual(self.named(), 0)
        self.assertNotIn("memory ran out", cluster.log("node-1"))


if __name__ == "__main__":
    unittest.main()
