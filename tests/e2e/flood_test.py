"""Floods of HTTP/2 frames: the coordinator's memory stays below the bound in the docs, it answers
other callers, and the log names a connection that ends. Clients with many calls are not a flood."""

import hashlib
import os
import struct
import threading
import time

import pytest

from certificates import SecureCluster
from espalier import SANITIZED, SANITIZER_FACTOR, Cluster, EspalierTest
from hostile import CONTINUATION, DATA, HEADERS, PREFACE, RESET, SETTINGS, Hostile, frame

pytestmark = [pytest.mark.covers("coordinator", "rpc"), pytest.mark.attack]

PING, WINDOW_UPDATE = 6, 8
ACK, END_STREAM = 1, 1
TOKEN = "a-reader-with-a-token-of-its-own-0123456789"
# The bounds in docs/engineering/coordinator.md, for floods on one connection and on 20.
MEMORY_KIB_MAX = SANITIZER_FACTOR * 256 * 1024
CROWDED_MEMORY_KIB_MAX = SANITIZER_FACTOR * 512 * 1024
CALL_LIMIT_S = SANITIZER_FACTOR * 10
FLOOD_S = 4     # a flood that the coordinator withstands ends after this
REFUSED_S = 60  # a flood that it refuses ends by itself; a slow coordinator needs time to read it
PATH = "/espalier.v1.Espalier/ListWorkers"


def literal(name, value):
    """Returns a header field that later headers reference by its index."""
    return b"\x40" + bytes([len(name)]) + name + bytes([len(value)]) + value


def header_blocks(token=None, path=PATH):
    """Returns the header block of a connection's first call and that of each later one, a few
    bytes."""
    fields = [(b":path", path.encode()), (b":authority", b"x"), (b"te", b"trailers"),
              (b"content-type", b"application/grpc")]
    if token:
        fields.append((b"authorization", b"Bearer " + token.encode()))
    post_http = b"\x83\x86"
    return (post_http + b"".join(literal(*field) for field in fields),
            post_http + bytes(0x80 | 61 + n for n in range(len(fields), 0, -1)))


def calls(after, token=None, batch=500):
    """Yields batches of calls. after(stream) returns the frames that follow the headers of each."""
    first, later = header_blocks(token)
    yield frame(HEADERS, 4, 1, first) + after(1)
    stream = 1
    while True:
        yield b"".join(frame(HEADERS, 4, n, later) + after(n)
                       for n in range(stream + 2, stream + 2 + 2 * batch, 2))
        stream += 2 * batch


def resets(token=None):
    return calls(lambda stream: frame(RESET, 0, stream, struct.pack(">I", 8)), token)


def endless_streams():
    return calls(lambda stream: b"")


def repeated(piece, before=b""):
    yield before
    while True:
        yield piece


def endless_header(piece):
    """Yields a header field of 2 GiB."""
    return repeated(frame(CONTINUATION, 0, 1, piece) * (20_000 // len(piece)),
                    frame(HEADERS, 0, 1, header_blocks()[0] + b"\0\x01x\x7f\x80\xff\xff\xff\x07"))


def tiny_data():
    """Yields a message of 4 MiB on each of 90 streams, one byte per frame."""
    batches = calls(lambda stream: frame(DATA, 0, stream, b"\0\0\x3f\xff\xff"), batch=89)
    yield next(batches) + next(batches)
    while True:
        yield b"".join(frame(DATA, 0, stream, b"x") * 2000 for stream in range(1, 181, 2))


class Client:
    """A client that follows the rules, with one connection."""

    def __init__(self, attacker, path):
        self.blocks, self.next, self.received = list(header_blocks(path=path)), 1, b""
        self.socket = attacker.connect()
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(SETTINGS, ACK, 0) + frame(
            WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30)))

    def begin(self, count):
        """Begins calls with an empty message. Returns their streams."""
        streams = range(self.next, self.next + 2 * count, 2)
        self.next += 2 * count
        for stream in streams:
            block = self.blocks.pop(0) if len(self.blocks) > 1 else self.blocks[0]
            self.socket.sendall(frame(HEADERS, 4, stream, block) + frame(
                DATA, END_STREAM, stream, b"\0\0\0\0\0"))
        return streams

    def read(self, count, is_awaited):
        """Reads until `count` frames satisfy is_awaited(kind, flags)."""
        while count > 0:
            while len(self.received) >= 9:
                size = 9 + int.from_bytes(self.received[:3], "big")
                if len(self.received) < size:
                    break
                count -= is_awaited(*self.received[3:5])
                self.received = self.received[size:]
            if count > 0:
                more = self.socket.recv(1 << 16)
                if not more:
                    raise ConnectionError("the connection has ended")
                self.received += more

    def answer(self, count):
        self.begin(count)
        self.read(count, lambda kind, flags: kind == HEADERS and bool(flags & END_STREAM))


def peak_kib(cluster):
    with open("/proc/%d/status" % cluster.coordinator.pid) as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


class FloodTest(EspalierTest):
    def flood(self, cluster, frames, limit_s, acknowledge=True, encrypted=False):
        """Sends the frames until the connection or the limit ends. Returns the address that it came
        from and the time of the slowest call that another client made meanwhile."""
        slowest, failed, over = [0.0], [], threading.Event()

        def other_client():
            while not over.is_set():
                began = time.monotonic()
                _, error = cluster.espalier("workers", code=None)
                slowest[0] = max(slowest[0], time.monotonic() - began)
                if error:
                    failed.append(error)
        other = threading.Thread(target=other_client)
        other.start()
        try:
            source = self.flood_alone(cluster, frames, limit_s, acknowledge, encrypted)
        finally:
            over.set()
            other.join()
        self.assertEqual(failed, [])
        return source, slowest[0]

    def flood_alone(self, cluster, frames, limit_s=FLOOD_S, acknowledge=True, encrypted=False):
        attacker = Hostile(cluster.address)
        self.addCleanup(attacker.close)
        source, end = None, time.monotonic() + limit_s
        try:
            one = attacker.encrypted() if encrypted else attacker.connect()
            source = "%s:%d" % one.getsockname()
            one.settimeout(limit_s)
            one.sendall(PREFACE + frame(SETTINGS, 0, 0) + (frame(SETTINGS, ACK, 0) * acknowledge))
            for piece in frames:
                one.sendall(piece)
                if time.monotonic() > end:
                    break
        except OSError:
            pass  # the coordinator has ended the connection
        return source

    def assert_withstands(self, cluster, flood, named=True, **options):
        for _attempt in range(3 if named else 1):
            source, slowest = self.flood(cluster, flood(), REFUSED_S if named else FLOOD_S,
                                         **options)
            self.assertLess(peak_kib(cluster), MEMORY_KIB_MAX)
            self.assertLess(slowest, CALL_LIMIT_S)
            times = cluster.log("coordinator").count("refused connection of %s: " % source)
            # On a machine that is busy with other tests, calls may wait for more than a second.
            # Then they do not count as cancelled at once.
            if times > 0:
                break
        self.assertEqual(times, int(named), cluster.log("coordinator")[-2000:])

    def test_rapid_resets_and_endless_streams(self):
        cluster = Cluster(self, 0)
        self.assert_withstands(cluster, resets)
        self.assert_withstands(cluster, endless_streams, acknowledge=False, named=False)

    def test_rapid_resets_by_strangers_and_readers(self):
        tokens = self.path("tokens")
        with open(os.open(tokens, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write("reader bob sha256:%s\n" % hashlib.sha256(TOKEN.encode()).hexdigest())
        cluster = SecureCluster(self, 0, coordinator_flags=["--tokens", tokens])
        self.environment["ESPALIER_TOKEN"] = TOKEN
        for name in ("ESPALIER_TLS_CERTIFICATE", "ESPALIER_TLS_KEY"):
            del self.environment[name]
        cluster.espalier("workers")  # the coordinator accepts the reader's token
        self.assert_withstands(cluster, resets, encrypted=True)
        self.assert_withstands(cluster, lambda: resets(TOKEN), encrypted=True)
        self.assert_withstands(cluster, endless_streams, encrypted=True, acknowledge=False,
                               named=False)

    def test_floods_of_settings_pings_and_headers(self):
        cluster = Cluster(self, 0)
        # gRPC itself ends a connection with too many pings.
        self.assert_withstands(cluster, lambda: repeated(frame(PING, 0, 0, b"12345678") * 2000),
                               named=False)
        for flood in (lambda: repeated(frame(SETTINGS, 0, 0) * 2000), tiny_data,
                      lambda: endless_header(b"v"), lambda: endless_header(b"v" * 10_000)):
            self.assert_withstands(cluster, flood)

    def test_clients_with_many_calls_are_served(self):
        cluster = Cluster(self, 0)
        attacker = Hostile(cluster.address)
        self.addCleanup(attacker.close)
        watcher = Client(attacker, "/grpc.health.v1.Health/Watch")
        watches = list(watcher.begin(100))
        watcher.read(100, lambda kind, flags: kind == DATA)
        caller = Client(attacker, PATH)
        for _ in range(100):
            caller.answer(100)
        for _ in range(10):
            for stream in watches[:20]:
                watcher.socket.sendall(frame(RESET, 0, stream, struct.pack(">I", 8)))
            watches = watches[20:] + list(watcher.begin(20))
            watcher.read(20, lambda kind, flags: kind == DATA)
        caller.answer(1)
        self.assertNotIn("refused connection", cluster.log("coordinator"))

    def test_many_connections_at_once(self):
        cluster = SecureCluster(self, 0)
        attackers = [threading.Thread(target=self.flood_alone, args=(cluster, resets()),
                                      kwargs={"encrypted": True}) for _ in range(20)]
        for attacker in attackers:
            attacker.start()
        for attacker in attackers:
            attacker.join()
        self.assertLess(peak_kib(cluster), CROWDED_MEMORY_KIB_MAX)
        cluster.espalier("workers")
