"""Common part of the end-to-end tests: the real programs, small tables, a cluster of daemons.

Daemons and commands run with a parent-death signal, and are ended by their own process id. They
listen on port 0. All files are in a temporary directory of the test that uses it.
"""
import glob
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The part `e2e-asan` runs tests with programs of tools/build --asan.
SANITIZED = os.environ.get("ESPALIER_TEST_ASAN") == "1"
# Multiplies limits of memory and time. The sanitizer uses memory next to each allocation, keeps
# freed memory, and checks each access.
SANITIZER_FACTOR = 3 if SANITIZED else 1
BIN = os.path.join(ROOT, "build", *(["asan"] if SANITIZED else []), "bin")
TESTING = os.path.join(ROOT, "build", "testing")
COMMAND_LIMIT_S = 120
LOG_LINES = 40  # of each log of a failed test that are printed
# Words before a command. This is not a preexec_fn: with one, Python forks by fork(), where gRPC's
# own handlers may wait for a thread that waits for Python's lock. Without it, Python uses vfork(),
# which calls no handlers.
DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL", "--"]

sys.path.insert(0, os.path.join(ROOT, "tools", "lib"))

# Arrow has its own allocator, which hides owners of memory from the sanitizer. Tests preload a
# library. Freed memory is kept, 16 MiB of it, and counts in the memory of a process.
ASAN_ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ASAN_OPTIONS": "verify_asan_link_order=0:quarantine_size_mb=16:detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def program(name):
    return os.path.join(BIN, name)


def wait_for(what, condition, limit_s=20):
    """Returns the first true value of `condition`, which is called repeatedly. Raises an error that
    contains `what`. A costly condition, for example a command, is called less often, because many
    tests run at a time."""
    end = time.monotonic() + limit_s
    while True:
        asked = time.monotonic()
        value = condition()
        if value:
            return value
        now = time.monotonic()
        if now > end:
            raise AssertionError("%s did not happen within %s s" % (what, limit_s))
        # A pause, not a wait: the loop above has the deadline. It is twice as long as the condition
        # took, so that polling uses at most a third of a core.
        time.sleep(min(0.5, max(0.05, 2 * (now - asked))))


class Command(subprocess.Popen):
    """A command with output that readline can read before communicate. The communicate of Popen
    loses output that readline has buffered."""

    def __init__(self, *args, **options):
        super().__init__(*args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         **options)
        self.readers, self.said = [], {}

    def communicate(self, timeout=None):
        end = None if timeout is None else time.monotonic() + timeout
        if not self.readers:
            if self.stdin:
                self.stdin.close()
            for name in ("stdout", "stderr"):
                self.readers.append(threading.Thread(target=self.read, args=(name,), daemon=True))
                self.readers[-1].start()
        for reader in self.readers:
            reader.join(None if end is None else max(0, end - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout)
        self.wait(None if end is None else max(0.1, end - time.monotonic()))
        return self.said["stdout"], self.said["stderr"]

    def read(self, name):
        with getattr(self, name) as pipe:
            self.said[name] = pipe.read()


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def await_step(process):
    """Reads the JSON lines of a running command until one reports a completed step."""
    for line in process.stdout:
        event = json.loads(line)
        if event.get("event") == "progress" and event["step"] > 0:
            return
    raise AssertionError("the command ended: " + process.stderr.read())


def children_of(pid):
    """Returns the process ids of the direct children of `pid`."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/stat" % entry) as f:
                    fields = f.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(entry))
    return sorted(found)


def command_line_of(pid):
    try:
        with open("/proc/%d/cmdline" % pid) as f:
            return f.read().split("\0")
    except OSError:
        return []


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class EspalierTest(unittest.TestCase):
    """A test with its own directory, which is also the programs' TMPDIR."""

    maxDiff = None

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="espalier-e2e-")
        self.addCleanup(self.remove_directory)
        self.addCleanup(self.show_logs_of_failure)
        self.temporary = os.path.join(self.directory, "tmp")
        os.mkdir(self.temporary)
        self.environment = {k: v for k, v in os.environ.items()
                            if k != "OPENBLAS_CORETYPE" and not k.startswith("ESPALIER_")}
        self.environment["TMPDIR"] = self.temporary
        if SANITIZED:
            self.environment.update(ASAN_ENVIRONMENT)
        self.command_prefix = []  # before each `espalier`

    def remove_directory(self):
        """Removes the test's directory. A process that ends may still use it for a moment."""
        def is_gone():
            shutil.rmtree(self.directory, ignore_errors=True)
            return not os.path.exists(self.directory)
        wait_for("the end of uses of %s" % self.directory, is_gone)

    def show_logs_of_failure(self):
        """Prints the end of each daemon's log if the test has failed."""
        if getattr(self._outcome, "success", True):
            return
        for path in sorted(glob.glob(self.path("**", "*.log"), recursive=True)):
            with open(path, errors="replace") as f:
                print("---- the end of %s:\n%s" % (path, "".join(f.readlines()[-LOG_LINES:])))

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def start(self, *arguments, **options):
        """Starts `espalier`, and kills it at the end of the test if it still runs."""
        command = self.command_prefix + [program("espalier")] + [str(a) for a in arguments]
        process = Command(DIE_WITH_PARENT + command, cwd=self.directory, env=self.environment,
                          **options)

        def end():
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.addCleanup(end)
        return process

    def espalier(self, *arguments, code=0):
        """Runs `espalier` to its end and checks its exit code. Returns (stdout, stderr)."""
        process = self.start(*arguments)
        try:
            out, err = process.communicate(timeout=COMMAND_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail("espalier %s did not end within %d s\n%s%s" %
                      (" ".join(map(str, arguments)), COMMAND_LIMIT_S, out, err))
        if code is not None:
            self.assertEqual(process.returncode, code, "espalier %s\n%s%s" %
                             (" ".join(map(str, arguments)), out, err))
        return out, err

    def result(self, *arguments, code=0):
        """Returns the JSON object on the last line of standard output."""
        out, _ = self.espalier(*arguments, "--json", code=code)
        return json_lines(out)[-1]

    def job(self, name, spec):
        """Writes a job file (JSON is YAML) with its output, and without a preset unless the spec
        names one. Returns its path."""
        spec = dict({"name": name, "output": self.path(name + ".bundle")}, **spec)
        if isinstance(spec.get("data"), dict):  # it trains
            spec.setdefault("preset", "none")
        return self.write(name + ".yaml", json.dumps(spec, indent=1) + "\n")

    def trained_here(self, name, spec, workers=1, threads=1):
        """Returns the result of a training that succeeds."""
        result = self.result("train", self.job(name, spec), "--workers", workers,
                             "--threads", threads)
        self.assertEqual(result["status"], "SUCCEEDED", result)
        return result

    def same_bits(self, spec, others=((2, 1), (3, 2), (5, 1))):
        """Returns the result with one worker, and with each other number of workers and threads."""
        first = self.trained_here("first", spec)
        for workers, threads in others:
            other = self.trained_here("other-%dx%d" % (workers, threads), spec, workers, threads)
            self.assertEqual(other["weights_sha256"], first["weights_sha256"])
            self.assertEqual(other["metrics"], first["metrics"])
        return first

    # ---- tables ----

    def classes_csv(self, name, rows, features=12, classes=3, seed=1):
        """Writes a table with a header. The label follows from the features, with some noise."""
        chance = random.Random(seed)
        lines = [",".join(["label"] + ["f%d" % i for i in range(features)])]
        for _ in range(rows):
            values = [chance.gauss(0, 1) for _ in range(features)]
            score = values[0] + values[1] * values[2] + 0.1 * chance.gauss(0, 1)
            label = min(classes - 1, max(0, int(score + classes / 2)))
            lines.append(",".join([str(label)] + ["%.6g" % v for v in values]))
        return self.write(name, "\n".join(lines) + "\n")

    def houses_csv(self, name, rows, seed=2):
        """Writes houses: skewed features of different sizes, empty fields, a price in dollars."""
        chance = random.Random(seed)
        lines = ["rooms,age,income,distance,price"]
        for _ in range(rows):
            rooms, age = chance.randint(1, 9), chance.randint(0, 60)
            income, distance = chance.lognormvariate(1, 0.5), chance.expovariate(0.05)
            price = 30000 * income + 12000 * rooms - 900 * distance + chance.gauss(0, 4000)
            empty = chance.random() < 0.05
            lines.append("%s,%d,%.4f,%.3f,%.1f" %
                         ("" if empty else rooms, age, income, distance, price))
        return self.write(name, "\n".join(lines) + "\n")

    def classes_spec(self, csv, **train):
        return {"preset": "none",
                "data": {"train": csv, "label": "label", "validation": {"fraction": 0.2}},
                "model": {"task": "classification", "hidden": [16, 8], "dropout": 0.3},
                "train": dict({"batch": 100, "leaves": 16, "epochs": 3, "seed": 7}, **train)}

    def long_spec(self, csv):
        """Returns a job that trains until it is ended."""
        spec = self.classes_spec(csv, epochs=10_000_000)
        return dict(spec, model={"task": "classification", "hidden": [64, 64]})


class Cluster:
    """One coordinator and some workers, the real daemons.

    flags: additional arguments of each daemon. coordinator_flags, worker_flags: arguments of one
    kind only. state: the coordinator's state directory. worker_binary: replaces the shipped one.
    """

    def __init__(self, test, workers, threads=1, flags=(), coordinator_flags=(), worker_flags=(),
                 state=None, worker_binary=None):
        self.test = test
        self.worker_binary = worker_binary or program("espalier-worker")
        self.flags = list(flags)
        self.coordinator_flags, self.worker_flags = list(coordinator_flags), list(worker_flags)
        if state:
            self.coordinator_flags += ["--state-directory", state]
        self.directory = tempfile.mkdtemp(prefix="cluster-", dir=test.directory)
        self.address_file = os.path.join(self.directory, "address")
        self.workers = {}  # name -> process
        self.held = socket.socket()  # socket of hold_port
        test.addCleanup(self.stop)
        self.start_coordinator()
        for number in range(1, workers + 1):
            self.start_worker("node-%d" % number, threads)
        wait_for("%d workers attached" % workers, lambda: all(
            " attached as worker-" in self.log(name) for name in self.workers), 60)
        for name, process in self.workers.items():
            test.assertIsNone(process.poll(), name + " has ended")

    def start_daemon(self, name, arguments):
        log = open(os.path.join(self.directory, name + ".log"), "a")
        with log:
            return subprocess.Popen(DIE_WITH_PARENT + arguments, stdout=log, stderr=log,
                                    cwd=self.test.directory,
                                    stdin=subprocess.DEVNULL, env=self.test.environment)

    def listen_on(self, _name):
        """Returns the address at which the daemon of that name listens."""
        return "127.0.0.1:0"

    def start_coordinator(self, listen=None, binary=None):
        self.held.close()
        listen = listen or self.listen_on("coordinator")
        if os.path.exists(self.address_file):
            os.remove(self.address_file)
        self.coordinator = self.start_daemon("coordinator", [
            binary or program("espalier-coordinator"), "--listen", listen,
            "--address-file", self.address_file] + self.flags + self.coordinator_flags)
        wait_for("the coordinator's address", lambda: os.path.exists(self.address_file) and
                 os.path.getsize(self.address_file) > 0)
        with open(self.address_file) as f:
            self.address = f.read().strip()

    def kill_coordinator(self):
        self.coordinator.kill()
        self.coordinator.wait()
        self.hold_port()

    def hold_port(self):
        """Reserves the coordinator's port until its next start. Connections to it are refused.
        Does nothing for other hosts and for Unix sockets."""
        host, _, port = self.address.rpartition(":")
        self.held = socket.socket()
        try:
            self.held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.held.bind((host, int(port)))
            self.held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)  # excludes others
        except (OSError, ValueError):
            self.held.close()

    def restart_coordinator(self):
        """Starts it on its former port, so that workers and clients need not search for it."""
        self.start_coordinator(listen=self.address)

    def start_worker(self, name, threads=1, binary=None):
        self.workers[name] = self.start_daemon(name, [
            binary or self.worker_binary, "--coordinator", "file:" + self.address_file,
            "--listen", self.listen_on(name), "--name", name, "--threads", str(threads),
            "--spill-directory", os.path.join(self.directory, "spill-" + name)] + self.flags +
            self.worker_flags)

    def log(self, name):
        with open(os.path.join(self.directory, name + ".log")) as f:
            return f.read()

    def lost(self):
        """Returns the workers whose loss the coordinator reports. Later lines may repeat it as
        their reason."""
        return re.findall(r" warning espalier-coordinator (\S+) \(.*\) was lost: ",
                          self.log("coordinator"))

    def espalier(self, command, *arguments, code=0):
        return self.test.espalier(command, *arguments, "--coordinator", self.address, code=code)

    def result(self, command, *arguments, code=0):
        return self.test.result(command, *arguments, "--coordinator", self.address, code=code)

    def start(self, command, *arguments):
        return self.test.start(command, *arguments, "--coordinator", self.address)

    def submit(self, job):
        """Submits a job and detaches. Returns the job's id as printed ("job-1")."""
        out, _ = self.espalier("submit", job, "--detach")
        words = out.replace("'", " ").replace(":", " ").split()
        return next(w for w in words if w.startswith("job-"))

    def status(self, job):
        return self.result("status", job)

    def waits(self, job):
        """Returns whether a job waits and gives a reason."""
        status = self.status(job)
        return status["state"] == "QUEUED" and status["waiting_because"]

    def wait_for_training(self, job):
        def trains():
            status = self.status(job)
            return status["state"] == "TRAINING" and status["progress"]["step"] > 0
        wait_for(job + " training", trains)

    def wait_for_workers(self, count):
        def enough():
            out, _ = self.espalier("workers", code=None)
            return sum(1 for line in out.splitlines() if line.startswith("worker-")) == count
        wait_for("%d workers attached" % count, enough, 30)

    def stop(self):
        self.held.close()
        for process in list(self.workers.values()) + [self.coordinator]:
            if process.poll() is None:
                process.kill()
            process.wait()


class SocketCluster(Cluster):
    """A cluster with daemons that listen on Unix sockets."""

    def listen_on(self, name):
        return "unix:" + os.path.join(self.directory, name + ".socket")
