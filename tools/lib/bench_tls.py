"""Measures the cost of TLS per step. Two clusters of two workers, one with certificates and one in
plain text, train the same job in turns. See bench.py."""
import json
import os
import subprocess
import tempfile
import time

WORKERS = 2
LIMIT_S = 60


def tls_flags(directory):
    return [word for flag, name in (("--tls-ca", "ca.crt"), ("--tls-certificate", "tls.crt"),
                                    ("--tls-key", "tls.key"))
            for word in (flag, os.path.join(directory, name))]


class Cluster:
    """Cluster on loopback, with certificates if `secure` is true."""

    def __init__(self, espalier, secure):
        self.espalier, self.secure = espalier, secure
        self.processes = []
        self.held = tempfile.TemporaryDirectory(prefix="espalier-bench-")
        self.folder = self.held.name
        try:
            if secure:
                self.certs("init")
            self.start()
        except BaseException:
            self.stop()
            raise

    def certs(self, *arguments):
        subprocess.run([self.espalier, "certs"] + list(arguments) +
                       ["--directory", os.path.join(self.folder, "ca")], check=True,
                       stdout=subprocess.DEVNULL)

    def flags(self, role, name):
        if not self.secure:
            return []
        hosts = ["--host", "127.0.0.1"] if role == "coordinator" else []
        self.certs("issue", role, name, *hosts)
        return tls_flags(os.path.join(self.folder, "ca", role + "-" + name))

    def run(self, program, name, *arguments):
        path = os.path.join(os.path.dirname(self.espalier), program)
        with open(os.path.join(self.folder, name + ".log"), "w") as log:
            self.processes.append(subprocess.Popen(
                [path, "--listen", "127.0.0.1:0"] + list(arguments), stdout=log, stderr=log))

    def start(self):
        file = os.path.join(self.folder, "address")
        self.run("espalier-coordinator", "coordinator", "--address-file", file,
                 *self.flags("coordinator", "head"))
        for n in range(WORKERS):
            name = "w%d" % n
            self.run("espalier-worker", name, "--name", name, "--threads", "1", "--coordinator",
                     "file:" + file, "--spill-directory", os.path.join(self.folder, "spill" + name),
                     *self.flags("worker", name))
        self.client = ["--coordinator", "file:" + file] + self.flags("operator", "bench")
        deadline = time.monotonic() + LIMIT_S
        while self.attached() < WORKERS:
            if time.monotonic() > deadline:
                raise RuntimeError("the workers did not attach; see " + self.folder)
            time.sleep(0.1)

    def attached(self):
        done = subprocess.run([self.espalier, "workers", "--json"] + self.client, text=True,
                              capture_output=True)
        return len(json.loads(done.stdout).get("workers", [])) if done.returncode == 0 else 0

    def step_ms(self, job):
        done = subprocess.run([self.espalier, "submit", job, "--json"] + self.client, text=True,
                              stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout.strip().splitlines()[-1])["timing"]["step_ms_p50"]

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()
        self.held.cleanup()


def fill(table, say, median, espalier, job, rounds):
    say("(h) the same steps with TLS and without; %d rounds" % rounds)
    clusters = {}
    try:
        for kind in ("plain", "tls"):
            clusters[kind] = Cluster(espalier, kind == "tls")
        times = {kind: [] for kind in clusters}
        # Each round is a pair, whose order changes: the second job has a warmer machine.
        for n in range(rounds):
            for kind in list(clusters) if n % 2 == 0 else reversed(list(clusters)):
                times[kind].append(clusters[kind].step_ms(job))
    finally:
        for cluster in clusters.values():
            cluster.stop()
    ms = {kind: median(values) for kind, values in times.items()}
    table.add("step, 2 workers x 1 thread, TLS", "%.2f ms" % ms["tls"],
              "plain text %.2f ms" % ms["plain"], ms["tls"] / ms["plain"])
    # The step time is the inverse of the throughput, so the ratio is that of plain text to TLS.
    pairs = [tls / plain for tls, plain in zip(times["tls"], times["plain"])]
    table.add("  ratio of %d pairs (min/median/max)" % rounds,
              "%.3f / %.3f / %.3f" % (min(pairs), median(pairs), max(pairs)), "plain text",
              median(pairs))
