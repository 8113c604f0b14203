"""A hostile client: uses TCP, TLS and enough HTTP/2 to do harm. Its sockets never block for long,
and close() closes them all."""

import socket
import ssl
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, GO_AWAY, CONTINUATION = 0, 1, 3, 4, 7, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(
        ">I", stream) + payload


# Headers that gRPC 1.51 parses and renders by separate code (its metadata_batch.h).
KNOWN_HEADERS = (
    b":authority", b":method", b":path", b":scheme", b":status", b"content-type",
    b"endpoint-load-metrics-bin", b"grpc-accept-encoding", b"grpc-encoding",
    b"grpc-internal-encoding-request", b"grpc-message", b"grpc-previous-rpc-attempts",
    b"grpc-retry-pushback-ms", b"grpc-server-stats-bin", b"grpc-status", b"grpc-tags-bin",
    b"grpc-timeout", b"grpc-trace-bin", b"grpclb_client_stats", b"host", b"lb-cost-bin",
    b"lb-token", b"te", b"user-agent")


def headers(path, more=()):
    """Encodes literal fields without indexing; each is shorter than 127 bytes."""
    fields = ((b":method", b"POST"), (b":scheme", b"http"), (b":path", path.encode()),
              (b":authority", b"x"), (b"te", b"trailers"),
              (b"content-type", b"application/grpc")) + tuple(more)
    return b"".join(b"\0" + bytes([len(n)]) + n + bytes([len(v)]) + v for n, v in fields)


def too_many_headers(odd):
    """Returns frames of one call whose fields, including the odd one, exceed all limits."""
    block = headers("/espalier.v1.Espalier/Submit") + b"".join(
        b"\0" + bytes([len(name)]) + name + b"\x7f\x69" + b"v" * 232  # 127 + 105 bytes
        for name in [odd] + [b"field-%d" % n for n in range(1500)])
    pieces = [block[at:at + 16000] for at in range(0, len(block), 16000)]
    return frame(HEADERS, 0, 1, pieces[0]) + b"".join(
        frame(CONTINUATION, 0, 1, piece) for piece in pieces[1:-1]) + frame(
            CONTINUATION, END_HEADERS, 1, pieces[-1])


class Hostile:
    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.where = (host, int(port))
        self.sockets = []

    def connect(self):
        one = socket.create_connection(self.where, timeout=10)
        self.sockets.append(one)
        return one

    def encrypted(self):
        """Returns a connection after the handshake, without a certificate of ours."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        one = context.wrap_socket(self.connect())
        self.sockets[-1] = one
        return one

    def call(self, path, body=b"", stream=1, on=None, more=()):
        """Begins a call that it never ends. Returns the connection."""
        if on is None:
            on = self.connect()
            send(on, PREFACE + frame(SETTINGS, 0, 0))
        send(on, frame(HEADERS, END_HEADERS, stream, headers(path, more)))
        for at in range(0, len(body), 16384):
            send(on, frame(DATA, 0, stream, body[at:at + 16384]))
        return on

    def close(self):
        for one in self.sockets:
            one.close()
        self.sockets = []


def send(one, data):
    """Sends bytes. The other side may close the connection or not read them."""
    try:
        one.sendall(data)
    except OSError:
        pass


def ended(one, calls=1, limit_s=20):
    """Returns whether the server ends this many calls, or the connection, in time."""
    one.settimeout(limit_s)
    data, over = b"", set()
    try:
        while True:
            while len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big"):
                kind, flags = data[3], data[4]
                if kind == RESET or kind in (DATA, HEADERS) and flags & END_STREAM:
                    over.add(data[5:9])
                if kind == GO_AWAY or len(over) == calls:
                    return True
                data = data[9 + int.from_bytes(data[:3], "big"):]
            more = one.recv(65536)
            if not more:
                return True
            data += more
    except TimeoutError:
        return False
    except OSError:
        return True


def is_closed(one):
    """Reads the available data. Returns whether the other side has ended the connection."""
    one.setblocking(False)
    try:
        while one.recv(65536):
            pass
        return True
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True
