"""The roll of a cluster in Spark's tasks, called on the driver's host. It records which task has a
place, when all may start, and when all must end.

Each task keeps one connection to the roll during its life. The connection carries lines of JSON:

    roll -> task   {"challenge": "..."}           at once; another one for each connection
    task -> roll   {"seat": 3, "proof": "..."}    the task's place, and HMAC-SHA256 of challenge
                                                  and seat by the key that Spark gave to the task
    roll -> task   {"number": 17}                 begin; numbers are never used twice

The end of the connection, by either side, ends the task's part. A driver that is gone therefore
sends no message. A second connection for a place is from a task that Spark started in place of one
that it lost. The first connection ends.

The key does not travel over this connection, and no other part of it is secret. No process takes a
place without the key, nor with data from another connection. However, lines are not encrypted. An
attacker with access to the packets can end a worker, or start one early.
"""

from __future__ import annotations

import collections
import hmac
import json
import secrets
import socket
import threading
import time
from typing import Any, Dict, List, Optional, Set, Tuple

LINE_BYTES_MAX = 16 << 10
_HELLO_SECONDS = 10.0
_UNPROVED_MORE = 16  # in addition to four per place
_REASONS_MAX = 100


def read_line(line: socket.socket, until: Optional[float] = None) -> Optional[Dict[str, Any]]:
    """Returns the next message. Returns None if the connection has ended, or the line is not a
    message, or, with `until`, if the line is incomplete at that time (monotonic)."""
    raw = b""
    try:
        while not raw.endswith(b"\n") and len(raw) < LINE_BYTES_MAX:
            if until is not None:
                line.settimeout(max(0.001, until - time.monotonic()))
            more = line.recv(1)  # a few short lines in total
            if not more:
                return None
            raw += more
        message = json.loads(raw)
    except (OSError, ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def send_line(line: socket.socket, message: Dict[str, Any]) -> None:
    """Sends a message. Raises OSError."""
    line.sendall(json.dumps(message).encode() + b"\n")


def proof_of(key: bytes, challenge: str, seat: int) -> str:
    """Returns the proof that a task has the key."""
    # Any text may arrive, also half of a surrogate pair.
    said = ("espalier seat %d %s" % (seat, challenge)).encode(errors="replace")
    return hmac.new(key, said, "sha256").hexdigest()


class Roll:
    """The roll. Safe from any thread.

    Attributes:
        key: proves that tasks are ours.
        port: port of the listener.
    """

    def __init__(self, bind: str, seats: int) -> None:
        """Opens the listener. Raises OSError."""
        self.key = secrets.token_bytes(32)
        self._seats = seats
        self._changed = threading.Condition()  # guards the members below
        self._present: Dict[int, Tuple[socket.socket, str]] = {}
        self._reasons: List[str] = []
        self._unproved: Dict[socket.socket, str] = {}  # host of each, the oldest first
        self._begun, self._ended, self._numbers = False, False, 0
        family = socket.AF_INET6 if ":" in bind else socket.AF_INET
        self._listener = socket.create_server((bind, 0), family=family, backlog=128)
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, name="espalier roll", daemon=True).start()

    def hosts(self) -> Dict[int, str]:
        """Returns the host's address of each place that is taken."""
        with self._changed:
            return {seat: host for seat, (_, host) in sorted(self._present.items())}

    def reasons(self) -> List[str]:
        """Returns the reasons why places were lost, the latest last."""
        with self._changed:
            return list(self._reasons)

    def note(self, reason: str) -> None:
        """Records that a place was lost."""
        with self._changed:
            self._reasons = self._reasons[1 - _REASONS_MAX:] + [reason]
            self._changed.notify_all()

    def wait(self, until: float) -> bool:
        """Waits until all places are taken. Returns False if one was lost, or at `until`
        (monotonic)."""
        with self._changed:
            while len(self._present) < self._seats and not self._reasons:
                left = until - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            return len(self._present) >= self._seats and not self._reasons

    def begin(self) -> None:
        """Starts all tasks that have a place, and each task that takes one later."""
        with self._changed:
            self._begun = True
            for seat in sorted(self._present):
                self._send_off(self._present[seat][0])

    def end(self) -> Set[int]:
        """Ends all tasks, and accepts no more. Returns the places of those that had started."""
        with self._changed:
            self._ended = True
            begun = set(self._present) if self._begun else set()
            lines = [line for line, _ in self._present.values()] + list(self._unproved)
        for line in [self._listener] + lines:
            _hang_up(line)  # also wakes the thread in accept()
        self._listener.close()
        return begun

    def _send_off(self, line: socket.socket) -> None:
        """Sends the number. REQUIRES the lock."""
        self._numbers += 1
        try:
            send_line(line, {"number": self._numbers})
        except OSError:
            pass  # the task is gone, which its own thread notices

    def _accept(self) -> None:
        while True:
            try:
                line, address = self._listener.accept()
            except OSError:
                with self._changed:
                    if self._ended:
                        return
                time.sleep(0.1)  # no file descriptor is free at the moment
                continue
            self._let_in(line, str(address[0]))
            threading.Thread(target=self._serve, args=(line, str(address[0])), daemon=True,
                             name="espalier seat").start()

    def _let_in(self, line: socket.socket, host: str) -> None:
        """Adds a connection without a proof. Their number is limited. At the limit, a new one still
        gets in, and the oldest one of the host with the most connections is dropped. A client that
        only connects therefore takes no place from others."""
        goes: Optional[socket.socket] = None
        with self._changed:
            if len(self._unproved) >= 4 * self._seats + _UNPROVED_MORE:
                most = collections.Counter(self._unproved.values()).most_common(1)[0][0]
                goes = next(l for l, h in self._unproved.items() if h == most)
                del self._unproved[goes]
            self._unproved[line] = host
        if goes is not None:
            _hang_up(goes)

    def _serve(self, line: socket.socket, host: str) -> None:
        with line:
            try:
                seat = self._seat_of(line)
            finally:
                with self._changed:
                    self._unproved.pop(line, None)
            if seat is not None:
                self._attend(line, host, seat)

    def _seat_of(self, line: socket.socket) -> Optional[int]:
        """Returns the place that a task has proved, within the time limit for the proof."""
        until, challenge = time.monotonic() + _HELLO_SECONDS, secrets.token_hex(16)
        try:
            line.settimeout(_HELLO_SECONDS)
            send_line(line, {"challenge": challenge})
        except OSError:
            return None
        hello = read_line(line, until) or {}
        seat = hello.get("seat")
        if type(seat) is not int or seat not in range(self._seats):
            return None
        shown = str(hello.get("proof")).encode(errors="replace")
        expected = proof_of(self.key, challenge, seat).encode()
        return seat if hmac.compare_digest(shown, expected) else None

    def _attend(self, line: socket.socket, host: str, seat: int) -> None:
        keep_alive(line)
        with self._changed:
            if self._ended:
                return
            former = self._present.get(seat)
            self._present[seat] = (line, host)
            self._changed.notify_all()
            if self._begun:
                self._send_off(line)
        if former is not None:
            _hang_up(former[0])
        read_line(line)  # the task sends nothing after that
        with self._changed:
            if self._present.get(seat, (None, ""))[0] is line:
                del self._present[seat]


def keep_alive(line: socket.socket) -> None:
    """Detects within half a minute that the other host is gone. Otherwise, it waits without a
    limit."""
    line.settimeout(None)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _hang_up(line: socket.socket) -> None:
    try:
        line.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
