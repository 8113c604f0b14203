"""Code of one Spark task: it starts one worker, stays with it, and removes its files.

A task never fails because of its worker. It reports why the worker ended, and ends. It needs hardly
any memory. The executor's memory and threads are for the worker.
"""

from __future__ import annotations

import collections
import glob
import ipaddress
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import Deque, Dict, List, Optional, Tuple

from .._facts import LEAVE_TIMEOUT_MS
from ..errors import EspalierError, NotFoundError
from ..local import find_program
from .roll import keep_alive, proof_of, read_line, send_line

_CALL_SECONDS = 30.0
_LOOK_SECONDS = 0.2
_LEAVE_SECONDS = LEAVE_TIMEOUT_MS / 1000 + 10.0  # the worker's own limit, plus time to end
_WORDS_LINES = 5


@dataclass(frozen=True)
class Order:
    """Settings of each task.

    Attributes:
        roll: the driver's (host, port), see roll.py.
        key: proves to the driver that a task is ours.
        coordinator: address of the coordinator for the worker.
        name: name of the workers; a number is added.
        flags: additional arguments of the worker.
        files: files that the worker reads, by name: ca.crt, tls.crt, tls.key, core-site.xml.
        package: the tarball that Spark has put on each executor; "": the program is found there.
        insecure: consent to plain text beyond loopback.
    """

    roll: Tuple[str, int]
    key: bytes
    coordinator: str
    name: str
    flags: Tuple[str, ...]
    files: Dict[str, bytes]
    package: str
    insecure: bool


def keep(order: Order, seat: int) -> str:
    """Runs a task from start to end. Returns why its worker ended; "" if the driver ended it."""
    here = socket.gethostname()
    try:
        program = find_worker(order.package)
        line = socket.create_connection(order.roll, timeout=_CALL_SECONDS)
    except EspalierError as error:
        return "%s: %s" % (here, error)
    except OSError as error:
        return "%s: the driver at %s:%d cannot be reached: %s" % ((here,) + order.roll + (error,))
    with line:
        number = _begin(order, line, seat)
        reason = _serve(order, program, line, number) if number is not None else ""
        return "%s: %s" % (here, reason) if reason else ""


def _begin(order: Order, line: socket.socket, seat: int) -> Optional[int]:
    """Takes the place, and waits until all workers may start. Returns the worker's number; None:
    the cluster has ended."""
    asked = read_line(line, time.monotonic() + _CALL_SECONDS) or {}
    challenge = asked.get("challenge")
    if not isinstance(challenge, str):
        return None
    keep_alive(line)
    try:
        send_line(line, {"seat": seat, "proof": proof_of(order.key, challenge, seat)})
    except OSError:
        return None
    number = (read_line(line) or {}).get("number")
    return number if type(number) is int else None


def find_worker(package: str) -> str:
    """Returns the worker's program on this host. Raises NotFoundError."""
    if package:
        from pyspark import SparkFiles
        where = SparkFiles.get(package)
        for folder in [where] + sorted(glob.glob(os.path.join(glob.escape(where), "*"))):
            path = os.path.join(folder, "bin", "espalier-worker")
            if os.access(path, os.X_OK):
                return path
        raise NotFoundError("bin/espalier-worker does not exist in %s" % where,
                            hint="package= is the tarball that tools/package builds.")
    path = os.path.join(os.path.dirname(find_program()), "espalier-worker")
    if not os.access(path, os.X_OK):
        raise NotFoundError("%s does not exist" % path)
    return path


def _serve(order: Order, program: str, line: socket.socket, number: int) -> str:
    folder = tempfile.mkdtemp(prefix="espalier-worker-", dir=_local_directory())
    try:
        for name, data in order.files.items():
            with open(os.open(os.path.join(folder, name), os.O_CREAT | os.O_WRONLY, 0o600),
                      "wb") as f:
                f.write(data)
        worker = subprocess.Popen(_command(order, program, folder, number, line), cwd=folder,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        try:
            return _stay(worker, line)
        finally:
            _end(worker)
    except OSError as error:
        return str(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _local_directory() -> str:
    """Returns a directory of this executor. YARN and Spark remove it in any case."""
    listed = os.environ.get("LOCAL_DIRS") or os.environ.get("SPARK_LOCAL_DIRS") or ""
    first = listed.split(",")[0]
    return first if os.path.isdir(first) else tempfile.gettempdir()


def _command(order: Order, program: str, folder: str, number: int,
             line: socket.socket) -> List[str]:
    # Other hosts reach this host at the address that is used to reach the driver.
    own = str(line.getsockname()[0])
    host = "[%s]" % own if ":" in own else own
    command = [program, "--coordinator", order.coordinator, "--listen", host + ":0",
               "--name", "%s:%d" % (order.name, number), "--exit-with-parent",
               "--spill-directory", os.path.join(folder, "spill")] + list(order.flags)
    if "ca.crt" in order.files:
        for flag, name in (("ca", "ca.crt"), ("certificate", "tls.crt"), ("key", "tls.key")):
            command += ["--tls-" + flag, os.path.join(folder, name)]
    elif order.insecure and not ipaddress.ip_address(own.partition("%")[0]).is_loopback:
        command.append("--insecure")
    if "core-site.xml" in order.files:
        command += ["--hadoop-conf-dir", folder]
    return command


def _stay(worker: subprocess.Popen[bytes], line: socket.socket) -> str:
    """Waits until the worker ends, or the driver ends it."""
    words: Deque[str] = collections.deque(maxlen=_WORDS_LINES)

    def read() -> None:
        assert worker.stdout is not None
        with worker.stdout as said:
            for raw in said:
                words.append(raw.decode("utf-8", "replace").rstrip())
                sys.stderr.write(words[-1] + "\n")  # the executor's own log
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    while worker.poll() is None:
        if select.select([line], [], [], _LOOK_SECONDS)[0]:
            return ""  # the driver sends nothing after the number
    reader.join(1)
    code = worker.returncode
    how = "killed by signal %d" % -code if code < 0 else "exit code %d" % code
    return "%s%s" % (how, ": " + " | ".join(words) if words else "")


def _end(worker: subprocess.Popen[bytes]) -> None:
    """Ends the worker. It first hands over its share, if another worker can take it."""
    worker.terminate()
    end = time.monotonic() + _LEAVE_SECONDS
    while worker.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    if worker.poll() is None:
        worker.kill()
        worker.wait()
