"""Tests which connections get a place in a cluster of Spark tasks."""
import collections
import json
import os
import socket
import threading
import time
import unittest
from unittest import mock

from sparks import daemons

from espalier.spark import keeper, roll


class RollTest(unittest.TestCase):
    def setUp(self):
        # The limit is long, so that a connection is closed only because of what it sent.
        patch = mock.patch.object(roll, "_HELLO_SECONDS", 120)
        patch.start()
        self.addCleanup(patch.stop)
        self.roll = roll.Roll("127.0.0.1", 2)
        self.addCleanup(self.roll.end)

    def call(self, hello=None, **said):
        """Connects and sends `hello`, by default the proof of a seat. `said` replaces fields of the
        proof."""
        line = socket.create_connection(("127.0.0.1", self.roll.port), timeout=30)
        self.addCleanup(line.close)
        if hello is None:
            challenge = roll.read_line(line)["challenge"]
            words = dict({"seat": 0, "key": self.roll.key, "challenge": challenge}, **said)
            proof = roll.proof_of(words["key"], words["challenge"], words.get("of", words["seat"]))
            hello = json.dumps({"seat": words["seat"], "proof": proof}).encode() + b"\n"
        line.sendall(hello)
        return line

    def assert_hung_up(self, line, about=None):
        """Checks that the roll closes the connection, before or after the challenge."""
        try:
            while line.recv(1024):
                pass
        except ConnectionResetError:
            pass  # also closed, with unread data
        except TimeoutError:
            self.fail("the connection is still open: %r" % (about,))

    def test_only_who_proves_to_have_the_key_has_a_place(self):
        heard = roll.proof_of(self.roll.key, "heard before", 0).encode()
        for hello in (b"\n", b"{}\n", b"[1]\n", b'{"proof": "guess", "seat": 0}\n', b"\xff\n",
                      b"x" * 20000, b'{"proof": "\\u00e9\\ud800", "seat": 0}\n',
                      b"[" * 15000 + b"\n", b'{"seat": 0}\n',
                      b'{"proof": "%s", "seat": 0}\n' % heard,
                      b'{"proof": "%s", "seat": 0}\n' % self.roll.key.hex().encode()):
            self.assert_hung_up(self.call(hello), hello)
        for said in ({"seat": 2}, {"seat": -1}, {"seat": 0, "of": 1}, {"key": b"another"},
                     {"challenge": "heard before"}, {"seat": True, "of": 1},
                     {"seat": 1.0, "of": 1}, {"seat": "1", "of": 1}, {"seat": [1], "of": 1}):
            self.assert_hung_up(self.call(**said), said)
        self.assertEqual(self.roll.hosts(), {})
        self.assertFalse(self.roll.wait(time.monotonic() + 0.1))
        daemons.wait_for("the end of their threads", lambda: not self.roll._unproved)

    def test_the_key_does_not_travel(self):
        seen = b""
        with socket.create_server(("127.0.0.1", 0)) as server:
            order = keeper.Order(server.getsockname(), self.roll.key, "", "", (), {}, "", False)
            result = []

            def begin():
                with socket.create_connection(order.roll, timeout=30) as line:
                    result.append(keeper._begin(order, line, 1))
            task = threading.Thread(target=begin)
            task.start()
            line, _ = server.accept()
            with line:
                line.settimeout(30)
                roll.send_line(line, {"challenge": "c"})
                while not seen.endswith(b"\n"):
                    seen += line.recv(1024)
                roll.send_line(line, {"number": 5})
                task.join(30)
        self.assertEqual(result, [5])
        self.assertEqual(json.loads(seen),
                         {"seat": 1, "proof": roll.proof_of(self.roll.key, "c", 1)})

    def test_who_only_connects_keeps_nobody_out(self):
        held = self.call()  # a proved connection is not closed to make room
        daemons.wait_for("the first place", lambda: self.roll.hosts() == {0: "127.0.0.1"})
        lines = [self.call(b"") for _ in range(4 * 2 + roll._UNPROVED_MORE + 3)]
        self.assert_hung_up(lines[0])
        self.call(seat=1)
        self.assertTrue(self.roll.wait(time.monotonic() + 30))
        self.roll.begin()
        self.assertEqual(roll.read_line(held), {"number": 1})
        self.assertLessEqual(len(self.roll._unproved), 4 * 2 + roll._UNPROVED_MORE)

    def test_the_host_with_most_unproved_lines_makes_room(self):
        pairs = [socket.socketpair() for _ in range(4 * 2 + roll._UNPROVED_MORE + 1)]
        for pair in pairs:
            self.addCleanup(pair[0].close)
            self.addCleanup(pair[1].close)
        for i, (ours, _) in enumerate(pairs):
            self.roll._let_in(ours, "10.0.0.1" if i == 0 else "10.0.0.%d" % (2 + i % 3 // 2))
        counted = collections.Counter(self.roll._unproved.values())
        self.assertIn("10.0.0.1", counted)
        pairs[1][1].settimeout(30)
        self.assertEqual(pairs[1][1].recv(1), b"")  # the oldest line of 10.0.0.2

    def test_who_proves_nothing_in_time_is_hung_up(self):
        with mock.patch.object(roll, "_HELLO_SECONDS", 0.2):
            line = self.call(b"")
            self.assert_hung_up(line)
        daemons.wait_for("the end of its thread", lambda: not self.roll._unproved)

    def test_a_second_line_of_a_seat_ends_the_first(self):
        first = self.call(seat=0)
        daemons.wait_for("the first place", lambda: self.roll.hosts())
        second = self.call(seat=0)
        self.assert_hung_up(first)
        self.call(seat=1)
        self.assertTrue(self.roll.wait(time.monotonic() + 30))
        self.roll.begin()
        self.assertEqual(roll.read_line(second), {"number": 1})
        third = self.call(seat=0)
        self.assertEqual(roll.read_line(third), {"number": 3})
        self.assert_hung_up(second)
        self.assertEqual(set(self.roll.hosts()), {0, 1})
        self.assertEqual(self.roll.end(), {0, 1})
        self.assert_hung_up(third)

    def test_all_begin_together_and_late_ones_at_once(self):
        lines = [self.call(seat=seat) for seat in (0, 1)]
        self.assertTrue(self.roll.wait(time.monotonic() + 30))
        self.roll.begin()
        self.assertEqual([roll.read_line(line) for line in lines], [{"number": 1}, {"number": 2}])
        lines[0].close()
        daemons.wait_for("the end of its place", lambda: self.roll.hosts() == {1: "127.0.0.1"})
        again = self.call(seat=0)
        self.assertEqual(roll.read_line(again), {"number": 3})
        self.roll.note("lost")
        self.assertFalse(self.roll.wait(time.monotonic() + 30))
        self.roll.end()
        self.assertIsNone(roll.read_line(again))

    def test_an_end_before_the_beginning_is_of_nobody_who_works(self):
        line = self.call(seat=0)
        daemons.wait_for("the place", lambda: self.roll.hosts())
        self.assertEqual(self.roll.end(), set())
        self.assert_hung_up(line)

    def test_a_task_whose_driver_is_away_says_so(self):
        port = self.roll.port
        self.roll.end()
        order = keeper.Order(("127.0.0.1", port), b"", "", "", (), {}, "", False)
        os.environ["ESPALIER_HOME"] = os.path.join(daemons.ROOT, "build")
        self.addCleanup(os.environ.pop, "ESPALIER_HOME")
        self.assertRegex(keeper.keep(order, 0), "the driver at 127.0.0.1:%d cannot be reached" %
                         port)


if __name__ == "__main__":
    unittest.main()
