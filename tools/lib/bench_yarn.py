"""Measures the time that a job loses when a worker's container in YARN is killed, and the time
until YARN has started another. It uses real Hadoop daemons, the tarball in containers, and MNIST
from HDFS. See bench.py.

The coordinator's log, with milliseconds, shows two times: the order to the other workers to
continue without the lost worker, and the attachment of its replacement. A client that watches the
job receives a step about once a second. Each kill has a separate job on all workers, because a new
worker gets a share of a running job at most once a minute.
"""
import json
import os
import random
import signal
import subprocess
import tarfile
import tempfile
import threading
import time

import bench_recovery
import hadoop_yarn
from bench_recovery import quantile, triple
from hadoop import Hdfs

NAME, WORKERS, KILLS = "bench", 3, 5
SIZES = ["--memory", "768MiB", "--coordinator-memory", "512MiB"]
PACKAGE_LIMIT_S, STEP_LIMIT_S = 600, 60


class Service(bench_recovery.CoordinatorLog):
    """Cluster in YARN containers."""

    limit_s = 120  # sufficient for YARN on a busy machine

    def __init__(self, hdfs, tree, folder):
        self.hdfs, self.folder = hdfs, folder
        self.program = os.path.join(tree, "bin", "espalier")
        try:
            self.run("yarn", "up", NAME, "--workers", WORKERS, *SIZES)
            super().__init__(self.log_of("espalier-coordinator"))
            self.wait(r"attached, ", times=WORKERS)
        except BaseException:
            self.stop()
            raise

    def environment(self):
        return dict(os.environ, HOME=self.folder, **self.hdfs.env())

    def run(self, *words):
        subprocess.run([self.program] + [str(word) for word in words], check=True, cwd=self.folder,
                       env=self.environment(), stdout=subprocess.DEVNULL)

    def log_of(self, program):
        """Returns the path of the standard error of the container that runs a program."""
        container, = set(hadoop_yarn.processes(self.hdfs, program).values())
        for daemon in self.hdfs.daemons("nodemanager"):
            for path in self.hdfs.data(daemon["name"]).glob("log/*/%s/stderr*" % container):
                return str(path)
        raise RuntimeError("no NodeManager has the log of %s" % container)

    def kill_worker(self, job, name, chance):
        """Kills a worker while the job trains. Returns the seconds from the kill until (the order
        to continue, a new step, the attachment of a replacement). `name` is the job's id."""
        at = ["--coordinator", "yarn:" + NAME]
        self.run("submit", job, "--detach", *at)
        self.wait(name + r" trains")
        with Steps([self.program, "watch", name, "--json"] + at, self.environment()) as steps:
            steps.next(0)
            time.sleep(chance.uniform(1, 2))  # within a step
            victim = chance.choice(sorted(hadoop_yarn.processes(self.hdfs, "espalier-worker")))
            killed = time.time()
            os.kill(victim, signal.SIGKILL)
            self.wait(r" was lost")
            ordered = self.wait(name + r" trains")
            stepped = steps.next(ordered)
        attached = self.wait(r"attached, ")
        self.run("cancel", name, *at)
        return ordered - killed, stepped - killed, attached - killed

    def stop(self):
        self.run("yarn", "down", NAME)


class Steps:
    """Steps that a client that watches a job receives."""

    def __init__(self, command, environment):
        self.told = []  # (time, step)
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            event = json.loads(line)
            if event.get("event") == "progress":
                self.told.append((time.time(), event["step"]))

    def next(self, since):
        """Returns the time of the first report after `since` of a step that was not reported
        before."""
        before = max((step for when, step in self.told if when <= since), default=0)
        deadline = time.monotonic() + STEP_LIMIT_S
        while time.monotonic() < deadline:
            for when, step in self.told:
                if when > since and step > before:
                    return when
            time.sleep(0.005)
        raise RuntimeError("no step was reported within %d s" % STEP_LIMIT_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def unpacked(root, folder):
    """Unpacks the tarball next to it. Returns the path of the tree."""
    subprocess.run([os.path.join(root, "tools", "package"), "--allow-outdated", "--only",
                    "tarball", "--output", folder], check=True, stdout=subprocess.DEVNULL,
                   timeout=PACKAGE_LIMIT_S)
    name, = os.listdir(folder)
    path = os.path.join(folder, name)
    with tarfile.open(path) as tar:
        tar.extractall(folder)
    return path[:-len(".tar.gz")]


def write_job(hdfs, root, folder, spec):
    hdfs.files.put_folder("/mnist", os.path.join(root, "build", "mnist", "train"))
    data = {key: value for key, value in spec["data"].items() if key != "test"}
    path = os.path.join(folder, "job.yaml")
    with open(path, "w") as f:
        json.dump(dict(spec, data=dict(data, train="hdfs:///mnist/*.csv"), output="hdfs:///model",
                       train=dict(spec["train"], epochs=100_000)), f)
    return path


def fill(table, say, root, spec):
    """Adds the measurements of the job `spec`."""
    say("(j) YARN: starts a YARN with %d nodes; kills %d containers" % (WORKERS, KILLS))
    chance = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="espalier-bench-") as folder, \
            tempfile.TemporaryDirectory(prefix="espalier-bench-") as package, \
            Hdfs.start(hosts=["localhost"], datanodes=1, yarn={"nodes": WORKERS}) as hdfs:
        job = write_job(hdfs, root, folder, spec)
        service = Service(hdfs, unpacked(root, package), folder)
        try:
            kills = [service.kill_worker(job, "job-%d" % (n + 1), chance) for n in range(KILLS)]
        finally:
            service.stop()
    ordered, stepped, attached = zip(*kills)
    what = "%d x worker's container killed in YARN -> " % KILLS
    table.add(what + "a new step", triple(stepped), "3 s, max", max(stepped) / 3, 1,
              at_least=False)
    table.add("  the other workers are ordered to continue", triple(ordered))
    table.add("  -> the replacement is attached", triple(attached), "3 s, p50",
              quantile(attached, 0.5) / 3, 1.25, at_least=False)
