"""How long a training stands still when a worker or the coordinator is killed: real daemons, MNIST.

What is read is the coordinator's own log, to the millisecond: `detection` is from the kill to the
loss it notes; `change` from there to the order to go on, when the rows that lack are loaded and all
have met; the step in flight, which is redone, comes on top.
"""
import datetime
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

LINE = re.compile(r"^(\S+) +\w+ +espalier-coordinator (.*)$")
LIMIT_S = 30


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def triple(values):
    """p50 / p95 / max in ms."""
    return "%.0f / %.0f / %.0f ms" % tuple(
        1000 * v for v in (quantile(values, 0.5), quantile(values, 0.95), max(values)))


class Cluster:
    def __init__(self, programs, workers):
        self.programs = programs
        self.folder = tempfile.mkdtemp(prefix="espalier-bench-")
        self.log_path = os.path.join(self.folder, "coordinator.log")
        self.workers, self.started, self.read_to = {}, 0, 0
        self.start_coordinator("127.0.0.1:0")
        for _ in range(workers):
            self.start_worker()
        self.wait(r"attached, ", times=workers)

    def run(self, name, log, *arguments):
        with open(os.path.join(self.folder, log), "a") as out:
            return subprocess.Popen([os.path.join(self.programs, name)] + list(arguments),
                                    stdout=out, stderr=out, stdin=subprocess.DEVNULL)

    def start_coordinator(self, listen):
        address_file = os.path.join(self.folder, "address")
        if os.path.exists(address_file):
            os.remove(address_file)
        self.coordinator = self.run(
            "espalier-coordinator", "coordinator.log", "--listen", listen, "--address-file",
            address_file, "--rebalance-interval-ms", "0", "--state-directory",
            os.path.join(self.folder, "state"))
        self.address = ""
        while not self.address:
            time.sleep(0.002)
            if os.path.exists(address_file):
                with open(address_file) as f:
                    self.address = f.read().strip()

    def start_worker(self):
        self.started += 1
        name = "w%d" % self.started
        self.workers[name] = self.run(
            "espalier-worker", name + ".log", "--coordinator", "file:" + self.folder + "/address",
            "--listen", "127.0.0.1:0", "--name", name, "--threads", "1", "--spool-directory",
            os.path.join(self.folder, "spool-" + name))

    def wait(self, pattern, times=1):
        """The time of the `times`-th line from here on that matches."""
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            with open(self.log_path) as f:
                f.seek(self.read_to)
                text = f.read()
            at = 0
            for line in text.splitlines(keepends=True):
                at += len(line)
                found = LINE.match(line) if line.endswith("\n") else None
                if not found or not re.search(pattern, found.group(2)):
                    continue
                times -= 1
                if times == 0:
                    self.read_to += at
                    return datetime.datetime.fromisoformat(found.group(1)).timestamp()
            self.read_to += len(text) - len(text.rsplit("\n", 1)[-1])
            time.sleep(0.005)
        raise RuntimeError("'%s' did not come into %s" % (pattern, self.log_path))

    def stop(self):
        for process in list(self.workers.values()) + [self.coordinator]:
            if process.poll() is None:
                process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def kill_workers(cluster, kills, chance):
    """(detection, change) in seconds of each kill."""
    parts = []
    for _ in range(kills):
        victim = chance.choice(sorted(cluster.workers))
        process = cluster.workers.pop(victim)
        killed = time.time()
        process.send_signal(signal.SIGKILL)
        process.wait()
        lost = cluster.wait(re.escape(victim) + r" \(.*was lost")
        goes_on = cluster.wait(r"job-1 trains")
        parts.append((lost - killed, goes_on - lost))
        cluster.start_worker()
        cluster.wait(r"job-1 generation \d+: 3 workers")
        time.sleep(chance.uniform(0.1, 0.4))  # into the midst of a step
    return parts


def kill_coordinator(cluster, kills):
    """Seconds from the restart until all workers are attached again."""
    back = []
    for _ in range(kills):
        cluster.coordinator.send_signal(signal.SIGKILL)
        cluster.coordinator.wait()
        restarted = time.time()
        cluster.start_coordinator(cluster.address)
        back.append(cluster.wait(r"attached again", times=3) - restarted)
        time.sleep(0.3)
    return back


def measure(programs, espalier, job, kills):
    """Kills workers, then the coordinator, `kills` times each, while `job` trains on 3 workers."""
    cluster = Cluster(programs, 3)
    try:
        subprocess.run([espalier, "submit", job, "--detach", "--coordinator", cluster.address],
                       check=True, stdout=subprocess.DEVNULL)
        cluster.wait(r"job-1 trains")
        time.sleep(1)
        parts = kill_workers(cluster, kills, random.Random(1))
        return parts, kill_coordinator(cluster, kills)
    finally:
        cluster.stop()
