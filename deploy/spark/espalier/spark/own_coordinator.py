"""A coordinator next to Spark's driver, for one cluster of launch.py."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from typing import Dict, List, Optional, Tuple

from .._facts import COORDINATOR_MEMORY_MB_MIN, COORDINATOR_SHARE_MAX_MB, COORDINATOR_SHARES
from ..errors import (DeadlineExceededError, FailedPreconditionError, InvalidArgumentError,
                      NotFoundError, UnavailableError)
from ..local import find_program
from .keeper import find_worker

PEM = ("ca.crt", "tls.crt", "tls.key")
_TOOL_SECONDS = 60.0
_LEAVE_SECONDS = 15.0
_LOOK_SECONDS = 0.025


class OwnCoordinator:
    """Coordinator with its own authority. The authority's key is deleted when all certificates are
    made."""

    def __init__(self, folder: str, host: str, bind: str, site: bytes, user: str,
                 package: Optional[str], name: str, limits: List[str]) -> None:
        self._folder, self._host, self._bind, self._user = folder, host, bind, user
        self._site, self._name, self._limits = site, name, limits
        self._programs = _programs(package)
        self._process: Optional[subprocess.Popen[bytes]] = None

    def _path(self, *names: str) -> str:
        return os.path.join(self._folder, *names)

    def _pem(self, holder: str) -> Tuple[str, str, str]:
        ca, cert, key = (self._path("ca", holder, name) for name in PEM)
        return ca, cert, key

    def of_workers(self) -> Tuple[str, str, str]:
        return self._pem("worker-" + self._name)

    def security(self) -> Dict[str, str]:
        """Returns the arguments that `connect` needs."""
        return dict(zip(("ca", "cert", "key"), self._pem("admin-spark")))

    def start(self, until: float) -> str:
        """Starts the coordinator and returns its address. Raises the errors of launch_on_spark."""
        self._make_certificates()
        ca, cert, key = self._pem("coordinator-spark")
        address, bind = self._path("address"), self._bind
        command = [os.path.join(self._programs, "espalier-coordinator"), "--listen",
                   ("[%s]:0" if ":" in bind else "%s:0") % bind, "--advertise", self._host,
                   "--tls-ca", ca, "--tls-certificate", cert, "--tls-key", key,
                   "--address-file", address, "--hadoop-user", self._user, "--exit-with-parent"]
        command += self._limits
        if self._site:
            with open(self._path("core-site.xml"), "wb") as f:
                f.write(self._site)
            command += ["--hadoop-conf-dir", self._folder]
        ready = threading.Event()
        # The coordinator ends with the thread that starts it, so that thread lives as long as it
        # does.
        threading.Thread(target=self._run, args=(command, ready), daemon=True,
                         name="espalier coordinator").start()
        ready.wait()
        while True:
            if os.path.exists(address) and os.path.getsize(address):
                with open(address) as f:
                    return f.read().strip()
            if self._process is None or self._process.poll() is not None:
                raise FailedPreconditionError("the coordinator could not start",
                                              causes=[self._log()])
            if time.monotonic() > until:
                raise DeadlineExceededError("the coordinator did not start in time",
                                            causes=[self._log()])
            time.sleep(_LOOK_SECONDS)

    def _run(self, command: List[str], ready: threading.Event) -> None:
        with open(self._path("coordinator.log"), "wb") as log:
            try:
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                                 stderr=log)
            except OSError as error:
                log.write(str(error).encode())
            finally:
                ready.set()
        if self._process is not None:
            self._process.wait()

    def _log(self) -> str:
        with open(self._path("coordinator.log"), errors="replace") as f:
            return f.read().strip()[-2000:]

    def _make_certificates(self) -> None:
        espalier, ca = os.path.join(self._programs, "espalier"), self._path("ca")
        issue = [espalier, "certs", "issue", "--directory", ca]
        for command in ([espalier, "certs", "init", "--directory", ca],
                        issue + ["coordinator", "spark", "--host", self._host],
                        issue + ["worker", self._name], issue + ["admin", "spark"]):
            try:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                      timeout=_TOOL_SECONDS)
            except subprocess.TimeoutExpired as error:
                raise UnavailableError("`espalier certs` did not end within %g s" %
                                       _TOOL_SECONDS) from error
            except OSError as error:
                raise NotFoundError("cannot run %s: %s" % (espalier, error.strerror)) from error
            if done.returncode:
                raise FailedPreconditionError("cannot make certificates", causes=[
                    done.stderr.decode("utf-8", "replace").strip()[-2000:]])
        os.remove(os.path.join(ca, "ca.key"))  # no other identity is ever accepted

    def stop(self) -> None:
        process = self._process
        if process is None:
            return
        process.terminate()
        end = time.monotonic() + _LEAVE_SECONDS
        while process.poll() is None and time.monotonic() < end:
            time.sleep(_LOOK_SECONDS)
        if process.poll() is None:
            process.kill()


def memory_limits(memory: str) -> List[str]:
    """Returns the coordinator's flags for that much memory ("1GiB"), with the shares of a
    coordinator in a YARN container (CoordinatorShareBytes of src/yarn). Raises
    InvalidArgumentError."""
    found = re.fullmatch(r"(\d{1,9})([MG])iB", memory, re.ASCII)
    megabytes = int(found[1]) * {"M": 1, "G": 1024}[found[2]] if found else 0
    if megabytes < COORDINATOR_MEMORY_MB_MIN:
        raise InvalidArgumentError("coordinator_memory: found %r, expected at least %dMiB, such as "
                                   "1GiB or 1536MiB" % (memory, COORDINATOR_MEMORY_MB_MIN))
    share = "%dMiB" % min(megabytes // COORDINATOR_SHARES, COORDINATOR_SHARE_MAX_MB)
    return [word for flag in ("--receive-bytes-max", "--worker-queue-bytes-max",
                              "--profile-bytes-max") for word in (flag, share)]


def _programs(package: Optional[str]) -> str:
    """Returns the folder of the programs on this host."""
    if package:
        return os.path.dirname(find_worker(os.path.basename(package.rstrip("/"))))
    return os.path.dirname(find_program())
