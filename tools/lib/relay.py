"""Simulates a cable between two TAP devices in this network namespace.

usage: relay.py END END

A frame from one end leaves at the other end, with a delay, or is lost. A line "DELAY_MS LOSS" on
standard input sets delay and loss. The answer is the number of frames passed and lost so far.
Frames stay in order. The relay ends with its standard input.
"""
import collections
import fcntl
import os
import random
import select
import struct
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
FRAME_BYTES_MAX = 65536


def open_end(name):
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    return end


class Relay:
    def __init__(self, names):
        one, other = (open_end(name) for name in names)
        self.across = {one: other, other: one}
        self.waiting = collections.deque()  # (time, end to write to, frame)
        self.delay_s, self.loss = 0.0, 0.0
        self.chance = random.Random(1)
        self.passed, self.lost = 0, 0

    def obey(self):
        line = sys.stdin.readline()
        if line:
            delay_ms, self.loss = map(float, line.split())
            self.delay_s = delay_ms / 1000
            print(self.passed, self.lost, flush=True)
        return bool(line)

    def take(self, end):
        frame = os.read(end, FRAME_BYTES_MAX)
        if self.chance.random() < self.loss:
            self.lost += 1
        else:
            self.waiting.append((time.monotonic() + self.delay_s, self.across[end], frame))

    def give(self):
        """Sends frames that are due. Returns the time until the next frame is due, or None."""
        while self.waiting:
            wait_s = self.waiting[0][0] - time.monotonic()
            if wait_s > 0:
                return wait_s
            _, end, frame = self.waiting.popleft()
            try:
                os.write(end, frame)
                self.passed += 1
            except OSError:  # the end is down
                self.lost += 1
        return None

    def run(self):
        while True:
            ready, _, _ = select.select([sys.stdin] + list(self.across), [], [], self.give())
            for source in ready:
                if source is not sys.stdin:
                    self.take(source)
                elif not self.obey():
                    return


if __name__ == "__main__":
    Relay(sys.argv[1:]).run()
