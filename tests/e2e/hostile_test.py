"""Hostile clients attack coordinator and workers while a job trains. The job ends in time with the
right bits, and the daemons stay small and answer."""

import os
import struct
import subprocess
import unittest
import zlib

import pytest

from certificates import SecureCluster
from espalier import (DIE_WITH_PARENT, SANITIZER_FACTOR, Cluster, EspalierTest, program,
                      wait_for)
from hostile import (DATA, HEADERS, KNOWN_HEADERS, PREFACE, SETTINGS, Hostile, ended, frame,
                     headers, is_closed, send, too_many_headers)

pytestmark = [pytest.mark.covers("coordinator", "rpc"), pytest.mark.attack]

HALF_OPEN, CALLS, STREAMS = 300, 400, 100
MEMORY_KIB_MAX, THREADS_MAX = SANITIZER_FACTOR * 800 * 1024, 120


def status_of(process):
    """Returns the fields of /proc/PID/status."""
    with open("/proc/%d/status" % process.pid) as f:
        return dict(line.split(":", 1) for line in f.read().splitlines() if ":" in line)


class HostileTest(EspalierTest):
    def spec(self, epochs=250):
        if not os.path.exists(self.path("rows.csv")):
            self.classes_csv("rows.csv", 4000)
        spec = self.classes_spec(self.path("rows.csv"), epochs=epochs)
        return dict(spec, model={"task": "classification", "hidden": [64, 64], "dropout": 0.2})

    def attack(self, cluster, how):
        """Runs how(Hostile) at the coordinator and at a worker, while a job trains."""
        weights = self.result("train", self.job("quiet", self.spec()), "--workers", 1)
        job = cluster.submit(self.job("attacked", dict(self.spec(), workers={"min": 1, "max": 2})))
        cluster.wait_for_training(job)
        workers = cluster.result("workers")["workers"]
        victims = [cluster.address, workers[0]["address"]]
        attackers = [Hostile(address) for address in victims]
        try:
            for attacker in attackers:
                how(attacker)
            cluster.espalier("workers")
            done = cluster.result("watch", job)
            self.assertEqual(done["status"], "SUCCEEDED", done)
            self.assertEqual(done["weights_sha256"], weights["weights_sha256"])
            for process in [cluster.coordinator] + list(cluster.workers.values()):
                self.assert_small(process)
            self.assertNotIn(" was lost: ", cluster.log("coordinator"))
            return attackers[0]
        finally:
            self.addCleanup(lambda: [a.close() for a in attackers])

    def assert_small(self, process):
        status = status_of(process)
        self.assertLess(int(status["VmHWM"].split()[0]), MEMORY_KIB_MAX)
        self.assertLess(int(status["Threads"]), THREADS_MAX)

    @pytest.mark.long
    def test_half_open_connections_and_garbage(self):
        def how(attacker):
            for n in range(HALF_OPEN):
                one = attacker.connect()
                if n % 3 == 1:
                    send(one, os.urandom(4096))
                elif n % 3 == 2:
                    send(one, PREFACE[:10])
        attacker = self.attack(Cluster(self, 2), how)
        wait_for("the end of all half-open connections",
                 lambda: all(is_closed(one) for one in attacker.sockets), 40)

    def test_half_open_handshakes_and_plain_text_at_a_tls_port(self):
        def how(attacker):
            for n in range(HALF_OPEN):
                one = attacker.connect()
                if n % 3 == 1:
                    send(one, b"\x16\x03\x01\x40\x00\x01")  # a TLS record that never ends
                elif n % 3 == 2:
                    send(one, PREFACE + frame(SETTINGS, 0, 0))
        attacker = self.attack(SecureCluster(self, 2), how)
        wait_for("the end of all half-open connections",
                 lambda: all(is_closed(one) for one in attacker.sockets), 40)

    def test_calls_without_a_role_cost_nothing(self):
        def how(attacker):
            for _ in range(20):
                one = attacker.encrypted()
                send(one, PREFACE + frame(SETTINGS, 0, 0))
                for n in range(CALLS // 20):
                    attacker.call("/espalier.v1.Espalier/Submit",
                                  b"\0\xff\xff\xff\xff" + b"x" * 9999, 2 * n + 1, on=one)
        cluster = SecureCluster(self, 2)
        self.attack(cluster, how)
        log = cluster.log("coordinator")
        self.assertIn("audit: refused /espalier.v1.Espalier/Submit: neither a certificate", log)
        self.assertLess(log.count("audit: refused"), CALLS)

    def test_slow_streams_oversized_and_malformed_messages(self):
        def how(attacker):
            huge, wrong = b"\0\xff\xff\xff\xff", b"\0\0\0\0\x04\xff\xff\xff\xff"
            for path in ("/espalier.v1.Espalier/Submit", "/espalier.v1.Coordinator/Attach",
                         "/espalier.v1.Peer/Link", "/espalier.v1.StateTransfer/Fetch",
                         "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"):
                one = attacker.call(path, huge + b"x" * 100_000)
                for n in range(1, STREAMS):  # a byte of a message, all of a wrong one, or none
                    attacker.call(path, (b"", b"\0", wrong)[n % 3], 2 * n + 1, on=one)
            one = attacker.connect()
            send(one, PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 4, 1, b"\xff" * 10_000) +
                 frame(DATA, 0, 7, b"x") + frame(99, 0xFF, 0xFFFF, headers("/")))
            for odd in (b"te", b":scheme", b"grpclb_client_stats"):  # CVE-2023-1428 was an abort
                send(attacker.connect(), PREFACE + frame(SETTINGS, 0, 0) + too_many_headers(odd))
        self.attack(Cluster(self, 2), how)

    def test_no_header_ends_a_daemon(self):
        for kind, encrypted in ((Cluster, False), (SecureCluster, True)):
            cluster = kind(self, 1)
            daemons = [cluster.coordinator] + list(cluster.workers.values())
            addresses = [cluster.address, cluster.result("workers")["workers"][0]["address"]]
            for daemon, address in zip(daemons, addresses):
                attacker = Hostile(address)
                self.addCleanup(attacker.close)
                for name in KNOWN_HEADERS:
                    one = attacker.encrypted() if encrypted else attacker.connect()
                    send(one, PREFACE + frame(SETTINGS, 0, 0))
                    paths = ("/espalier.v1.Espalier/ListJobs", "/espalier.v1.Peer/Link", "/none")
                    values = (b"x", b"", b"\xff\x00", b"1")
                    for stream, (path, value) in enumerate((p, v) for p in paths for v in values):
                        attacker.call(path, b"\0\0\0\0\0", 2 * stream + 1, on=one,
                                      more=[(name, value)])
                    self.assertTrue(ended(one, len(paths) * len(values)), (kind, name))
                cluster.espalier("workers")
                self.assertIsNone(daemon.poll(), "%s: %s" % (encrypted, daemon.args))

    def test_compressed_messages_are_refused_unread(self):
        cluster = Cluster(self, 1)
        addresses = [cluster.address, cluster.result("workers")["workers"][0]["address"]]
        daemons = [cluster.coordinator] + list(cluster.workers.values())
        squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
        # 60 MiB of zeros. Compressed, they fit into the initial window of a stream.
        small = b"".join([squeeze.compress(bytes(1 << 20)) for _ in range(60)] + [squeeze.flush()])
        message = b"\1" + struct.pack(">I", len(small)) + small
        paths = [("/espalier.v1.Espalier/ListJobs", "/espalier.v1.Coordinator/Attach"),
                 ("/espalier.v1.Peer/Link", "/espalier.v1.StateTransfer/Fetch")]
        for daemon, address, of_daemon in zip(daemons, addresses, paths):
            before = int(status_of(daemon)["VmHWM"].split()[0])
            attacker = Hostile(address)
            self.addCleanup(attacker.close)
            for path in of_daemon:
                for more in ([(b"grpc-encoding", b"gzip")], [(b"grpc-encoding", b"deflate")], []):
                    one = attacker.call(path, message, more=more)
                    self.assertTrue(ended(one), (path, more))
            grown = int(status_of(daemon)["VmHWM"].split()[0]) - before
            self.assertLess(grown, SANITIZER_FACTOR * 30 * 1024,
                            "%s KiB for %d bytes" % (grown, len(message)))
            self.assertIsNone(daemon.poll())

    def test_exhausted_descriptors_recover_for_other_clients(self):
        limit = 128
        address = self.path("address")
        with open(self.path("log"), "w") as log:
            process = subprocess.Popen(
                DIE_WITH_PARENT + ["prlimit", "--nofile=%d" % limit, "--",
                                   program("espalier-coordinator"), "--listen", "127.0.0.1:0",
                                   "--address-file", address],
                env=self.environment, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for("the address", lambda: os.path.exists(address) and os.path.getsize(address))
        with open(address) as f:
            attacker = Hostile(f.read().strip())
        self.addCleanup(attacker.close)
        for _ in range(2 * limit):
            attacker.connect()
        wait_for("connections turned away",
                 lambda: sum(is_closed(one) for one in attacker.sockets) >= limit)
        with open(self.path("log")) as f:
            self.assertIn("connections are rejected", f.read())
        attacker.close()

        def answers():
            out, _ = self.espalier("list", "--coordinator", "file:" + address, code=None)
            return "no jobs" in out
        wait_for("an answer", answers)


if __name__ == "__main__":
    unittest.main()
