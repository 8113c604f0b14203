"""Finds files in the temporary directory and processes that tests leave behind. Both fail the run.
"""
import contextlib
import hashlib
import os
import shutil
import signal
import tempfile
import time

# Environment variable that marks all processes of a run. Its name does not begin with ESPALIER_,
# because tests remove those variables from the environment of the programs.
RUN = "RUN_OF_ESPALIER_TESTS"
END_WAIT_S = 5             # wait for processes that are about to end
EXEC_WAIT_S = 1
NAMES_MAX = 12


def temporary_directory(root):
    """Returns the path of the directory for all tests of this checkout. It is the same in each run,
    so that Bazel's cached results stay valid. It is short, because it contains sockets."""
    mark = hashlib.sha256(root.encode()).hexdigest()[:8]
    return os.path.join(tempfile.gettempdir(), "espalier-test-" + mark)


def environment_of(pid):
    """Returns the environment of a process, as bytes. Retries if it is empty, as during an exec."""
    end = time.monotonic() + EXEC_WAIT_S
    while True:
        with open("/proc/%s/environ" % pid, "rb") as f:
            text = f.read()
        if text or time.monotonic() >= end:
            return text
        os.readlink("/proc/%s/exe" % pid)  # raises OSError for a zombie or a kernel thread
        time.sleep(0.005)


def processes_of(run):
    """Returns {process id: command line} of all processes that a run started, except this one."""
    wanted, found = ("%s=%s" % (RUN, run)).encode(), {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if wanted not in environment_of(entry).split(b"\0"):
                continue
            with open("/proc/%s/stat" % entry) as f:
                if f.read().rpartition(")")[2].split()[0] == "Z":
                    continue
            with open("/proc/%s/cmdline" % entry, "rb") as f:
                line = f.read().replace(b"\0", b" ").decode(errors="replace").strip()
            if not line.startswith("bazel("):  # Bazel's server, which a test may have started
                found[int(entry)] = line
    return found


@contextlib.contextmanager
def watched(root, label, tally):
    """Provides the environment for the tests of one part. Removes leftovers, which fail the part.
    """
    folder = temporary_directory(root)
    shutil.rmtree(folder, ignore_errors=True)  # left by a run that was killed
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o1777)  # some tests run commands as other users
    run = "%d-%s" % (os.getpid(), label)
    try:
        yield dict(os.environ, **{"TMPDIR": folder, RUN: run})
    finally:
        end = time.monotonic() + END_WAIT_S
        left = processes_of(run)
        while left and time.monotonic() < end:
            time.sleep(0.05)
            left = processes_of(run)
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if left:
            tally.fail("%s: left processes behind" % label, "\n".join(
                "%d %s" % (pid, line[:200]) for pid, line in sorted(left.items())[:NAMES_MAX]))
        names = sorted(os.path.relpath(os.path.join(place, name), folder)
                       for place, folders, files in os.walk(folder) for name in folders + files)
        shutil.rmtree(folder, ignore_errors=True)
        if names:  # those inside a directory show which test left it
            tally.fail("%s: left files in the temporary directory" % label,
                       ", ".join(names[:NAMES_MAX]))
