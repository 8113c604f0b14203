"""Measures the pause of a training when a worker or the coordinator is killed, when a host is cut
off, and when workers join and leave. It uses real daemons and MNIST.

The source is the coordinator's log with milliseconds. `detection` is the time from the fault to the
loss in the log. `change` is the time from the loss to the order to continue, after the missing rows
are loaded and all workers have met. The current step is added, because it is repeated. The times of
the steps show whether steps continue while the coordinator is unreachable, or workers join and
leave. Workers of the test build record these times (tests/worker/telltale_main.cc).
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

import hosts

LINE = re.compile(r"^(\S+) +\w+ +espalier-coordinator (.*)$")
LIMIT_S = 30
PART_LIMIT_S = 240  # seconds after which no repetition begins
REPETITIONS = 30


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def triple(values):
    """Returns p50 / p95 / max in ms as text."""
    return "%.0f / %.0f / %.0f ms" % tuple(
        1000 * v for v in (quantile(values, 0.5), quantile(values, 0.95), max(values)))


def repetitions():
    """Yields up to REPETITIONS turns, within PART_LIMIT_S."""
    end = time.monotonic() + PART_LIMIT_S
    for turn in range(REPETITIONS):
        if time.monotonic() < end:
            yield turn


class CoordinatorLog:
    """File with the log lines of a coordinator."""

    limit_s = LIMIT_S

    def __init__(self, path):
        self.log_path, self.read_to = path, 0

    def wait(self, pattern, times=1):
        """Returns the time of the `times`-th matching line from here on."""
        deadline = time.monotonic() + self.limit_s
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
        raise RuntimeError("'%s' did not appear in %s" % (pattern, self.log_path))


class Cluster(CoordinatorLog):
    """Coordinator, workers w1, w2, ... that run `binary`, and job-1, which trains on them."""

    def __init__(self, espalier, job, workers, binary=None):
        self.programs = os.path.dirname(espalier)
        self.worker = binary or os.path.join(self.programs, "espalier-worker")
        self.folder = tempfile.mkdtemp(prefix="espalier-bench-")
        super().__init__(os.path.join(self.folder, "coordinator.log"))
        self.workers, self.started = {}, 0
        self.coordinator = None
        try:
            self.start_coordinator(self.address_of("coordinator"))
            for _ in range(workers):
                self.start_worker()
            self.wait(r"attached, ", times=workers)
            subprocess.run(self.prefix("coordinator") + [espalier, "submit", job, "--detach",
                                                         "--coordinator", self.address],
                           check=True, stdout=subprocess.DEVNULL)
            self.wait(r"job-1 trains")
            time.sleep(1)
        except BaseException:
            self.stop()
            raise

    def prefix(self, _name):
        """Returns the prefix of the command of that daemon."""
        return []

    def address_of(self, _name):
        return "127.0.0.1:0"

    def run(self, name, *arguments):
        with open(os.path.join(self.folder, name + ".log"), "a") as out:
            return subprocess.Popen(self.prefix(name) + list(arguments), stdout=out, stderr=out,
                                    stdin=subprocess.DEVNULL,
                                    env=dict(os.environ, ESPALIER_TELLTALE_DIRECTORY=self.folder))

    def start_coordinator(self, listen):
        address_file = os.path.join(self.folder, "address")
        if os.path.exists(address_file):
            os.remove(address_file)
        self.coordinator = self.run(
            "coordinator", os.path.join(self.programs, "espalier-coordinator"), "--insecure",
            "--listen", listen, "--address-file", address_file, "--rebalance-interval-ms", "0",
            "--state-directory", os.path.join(self.folder, "state"))
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
            name, self.worker, "--coordinator", "file:" + self.folder + "/address", "--insecure",
            "--listen", self.address_of(name), "--name", name, "--threads", "1",
            "--spill-directory", os.path.join(self.folder, "spill-" + name))
        return name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for process in list(self.workers.values()) + [self.coordinator]:
            if process is not None and process.poll() is None:
                process.kill()
            if process is not None:
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class HostCluster(Cluster):
    """Cluster with each daemon on a separate host."""

    def __init__(self, espalier, job, workers):
        self.hosts = hosts.Hosts(["coordinator"] + ["w%d" % n for n in range(1, workers + 1)])
        super().__init__(espalier, job, workers)

    def prefix(self, name):
        return self.hosts.prefix(name)

    def address_of(self, name):
        return self.hosts.address(name) + ":0"

    def stop(self):
        super().stop()
        self.hosts.stop()


def kill_workers(cluster, chance):
    """Returns (detection, change) in seconds for each kill."""
    parts = []
    for _ in repetitions():
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
        time.sleep(chance.uniform(0.1, 0.4))  # within a step
    return parts


def kill_coordinator(cluster):
    """Returns the seconds from each restart until all workers are attached again, and the widest
    gaps between steps, in seconds, from each kill until then."""
    back, spans = [], []
    for _ in repetitions():
        killed = time.monotonic()
        cluster.coordinator.send_signal(signal.SIGKILL)
        cluster.coordinator.wait()
        restarted = time.time()
        cluster.start_coordinator(cluster.address)
        back.append(cluster.wait(r"attached again", times=3) - restarted)
        time.sleep(0.3)
        spans.append((killed, time.monotonic()))
    times = commit_times(cluster.folder)
    return back, [widest_gap(times, *span) for span in spans]


def cut_hosts(cluster, chance):
    """Returns (detection, change) in seconds for each host that is unplugged and later plugged in
    again."""
    parts = []
    for _ in repetitions():
        victim = chance.choice(sorted(cluster.workers))
        cut = time.time()
        cluster.hosts.unplug(victim)
        lost = cluster.wait(re.escape(victim) + r" \(.*was lost")
        goes_on = cluster.wait(r"job-1 trains")
        parts.append((lost - cut, goes_on - lost))
        cluster.hosts.plug_in(victim)
        cluster.wait(r"job-1 generation \d+: 3 workers")
        time.sleep(chance.uniform(0.1, 0.4))
    return parts


def commit_times(folder):
    """Returns the time when a worker first applied each step, in seconds of time.monotonic()."""
    first = {}
    for name in os.listdir(folder):
        if not name.isdigit():
            continue
        with open(os.path.join(folder, name)) as f:
            for line in f:
                if line.startswith("commit ") and line.endswith("\n"):
                    _, _, step, us = line.split()
                    first[int(step)] = min(first.get(int(step), float("inf")), int(us) / 1e6)
    return sorted(first.values())


def widest_gap(times, begin, end):
    """Returns the longest time between two consecutive steps of which one is in [begin, end]."""
    return max(b - a for a, b in zip(times, times[1:]) if b >= begin and a <= end)


def join_and_drain(cluster, espalier):
    """Returns the widest gaps between steps, in seconds, around (each join, each drain)."""
    spans = {"join": [], "drain": []}

    def during(what, change, pattern):
        begin = time.monotonic()
        change()
        cluster.wait(pattern)
        time.sleep(0.5)
        spans[what].append((begin, time.monotonic()))

    def drain():
        oldest = min(cluster.workers, key=lambda name: int(name[1:]))
        leaver = cluster.workers.pop(oldest)
        subprocess.run([espalier, "drain", oldest, "--coordinator", cluster.address], check=True,
                       stdout=subprocess.DEVNULL)
        leaver.wait(timeout=LIMIT_S)
    for _ in repetitions():
        during("join", cluster.start_worker, r"job-1 generation \d+: 3 workers")
        during("drain", drain, r"job-1 generation \d+: 2 workers")
    times = commit_times(cluster.folder)
    return tuple([widest_gap(times, *span) for span in spans[what]] for what in ("join", "drain"))


def fill(table, say, espalier, telltale, job):
    """Adds the measurements made while `job` trains. `telltale` is the worker that records the
    times of steps."""
    say("(g) recovery: up to %d kills of a worker, then of the coordinator" % REPETITIONS)
    with Cluster(espalier, job, 3, binary=telltale) as cluster:
        add_parts(table, "worker SIGKILL", kill_workers(cluster, random.Random(1)), 3)
        back, gaps = kill_coordinator(cluster)
        table.add("%d x coordinator SIGKILL, restart -> all attached" % len(back), triple(back),
                  "5 s, max", max(back) / 5, 1, at_least=False)
        add_gaps(table, "coordinator SIGKILL", gaps)
    reason = hosts.why_not()
    if reason:
        say("hosts cannot be cut off: " + reason)
    else:
        say("cutting off hosts")
        with HostCluster(espalier, job, 3) as cluster:
            add_parts(table, "host unplugged", cut_hosts(cluster, random.Random(1)), 8)
    say("workers join and leave")
    with Cluster(espalier, job, 2, binary=telltale) as cluster:
        for what, gaps in zip(("join", "drain"), join_and_drain(cluster, espalier)):
            add_gaps(table, what, gaps)


def add_gaps(table, change, gaps):
    table.add("widest gap between steps, %d x %s" % (len(gaps), change), triple(gaps),
              "250 ms, max", max(gaps) / 0.25, 1, at_least=False)


def add_parts(table, fault, parts, limit_s):
    whole = [detection + change for detection, change in parts]
    table.add("%d x %s -> continue (p50/p95/max)" % (len(parts), fault), triple(whole),
              "%d s, p95" % limit_s, quantile(whole, 0.95) / limit_s, 1, at_least=False)
    table.add("  detection", triple([d for d, _ in parts]))
    table.add("  generation, rows, meeting", triple([c for _, c in parts]))
