"""Starts daemons as child processes that outlive their starter, recognizes them again, and ends
them by id."""
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request

from hadoop_jars import HadoopError

END_LIMIT_S = 10
# Below the ports that the kernel gives to outgoing connections. Otherwise, a client that repeatedly
# tries to reach a dead daemon can get the daemon's port, and even connect to itself.
PORTS = range(20000, 32000)

TAKEN = "is taken by another program"
REASONS = [
    (re.compile(r"Problem binding to \[([^\]]*)\]|Port in use: (\S+)|"
                r"Failed to bind to: \S*?(\S+:\d+)"),
     "the address {0} " + TAKEN),
    (re.compile(r"No space left on device"), "the disk is full"),
    (re.compile(r"Could not reserve enough space|[Ii]nsufficient memory|Cannot allocate memory"),
     "there is not enough memory"),
    (re.compile(r"Incompatible clusterIDs|Inconsistent namespace"),
     "its data belong to another HDFS. Stop it, which removes the data, and start again"),
]


def fetch_json(url, timeout_s):
    """Returns the answer of a daemon on this machine (no proxy), or None if it does not answer."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=timeout_s) as reply:
            return json.load(reply)
    except (OSError, ValueError):
        return None


def birth(pid):
    """Returns the start of a process, in ticks since boot. Together with the id, it identifies a
    process permanently."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return None
    # A zombie with threads still has its sockets open.
    ended = fields[0] == "Z" and int(fields[17]) <= 1
    return None if ended else int(fields[19])


def reap(pid):
    """Reaps a child that has ended. A process that another program started is not ours to reap."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def alive(daemon):
    if not daemon.get("pid"):
        return False
    reap(daemon["pid"])
    return birth(daemon["pid"]) == daemon["birth"]


def memory_mb(daemon):
    try:
        with open("/proc/%d/statm" % daemon["pid"]) as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
    except OSError:
        return 0


def spawn(daemon, command, env, log):
    """Starts a daemon in a separate session. Neither Ctrl-C nor a closed terminal ends it."""
    try:
        with open(log, "ab") as out:
            daemon["log_from"] = out.tell()
            child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=subprocess.STDOUT, start_new_session=True)
    except OSError as e:
        raise HadoopError("cannot start %s: %s" % (daemon["name"], e)) from e
    child.returncode = 0  # prevents a warning, because the process outlives this object
    daemon.update(pid=child.pid, birth=birth(child.pid), log=log)


def send(daemon, number):
    """Returns True if the signal was sent to the exact process that was started."""
    if not alive(daemon):
        return False
    try:
        os.kill(daemon["pid"], number)
    except ProcessLookupError:
        return False
    return True


def is_frozen(daemon):
    try:
        with open("/proc/%d/stat" % daemon["pid"]) as f:
            return f.read().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


def freeze(daemon):
    """Returns True when the daemon has stopped. A signal takes a moment to reach every thread."""
    if not send(daemon, signal.SIGSTOP):
        return False
    while alive(daemon) and not is_frozen(daemon):
        time.sleep(0.001)
    return alive(daemon)


def end(daemons, number=signal.SIGTERM):
    """Ends daemons at the same time. It kills a daemon that does not end in time."""
    going = [d for d in daemons if send(d, number)]
    for d in going:
        send(d, signal.SIGCONT)
    deadline = time.monotonic() + END_LIMIT_S
    while any(alive(d) for d in going):
        if time.monotonic() > deadline:
            for d in going:
                send(d, signal.SIGKILL)
        time.sleep(0.01)
    for d in daemons:
        d.update(pid=None, birth=None)


def why_ended(daemon):
    """Returns a line of the daemon's log that explains its end."""
    try:
        with open(daemon["log"], errors="replace") as f:
            f.seek(daemon.get("log_from", 0))
            lines = f.read().splitlines()
    except OSError as e:
        return "cannot read its log: %s" % e
    for pattern, words in REASONS:
        for line in lines:
            found = pattern.search(line)
            if found:
                return words.format(*[g for g in found.groups() if g])
    bad = [l for l in lines if re.search(r" (ERROR|FATAL) |Exception|^Error", l)] or lines
    return bad[-1].strip()[:300] if bad else "its log is empty"


def is_free(host, port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((host, port))
        except OSError:
            return False
    return True


def free_ports(host, count, seed):
    """Returns `count` ports that no program listens on now. `seed` separates programs that search
    at the same time."""
    found, first = [], seed * 7919
    for i in range(len(PORTS)):
        port = PORTS[(first + i) % len(PORTS)]
        if is_free(host, port):
            found.append(port)
            if len(found) == count:
                return found
    raise HadoopError("cannot find %d free ports from %d to %d on %s" %
                      (count, PORTS.start, PORTS.stop - 1, host))
