"""Runs a command of tools/test within a time limit, in a separate process group."""
import contextlib
import os
import signal
import subprocess

STOP_WAIT_S = 30  # seconds for Bazel or pytest to clean up after SIGINT


def stop(process):
    """Interrupts the process group, and kills remaining processes after STOP_WAIT_S."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_WAIT_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(words, limit_s, cwd, env=None):
    """Returns the exit code, or None if the limit ended the command and its children."""
    process = subprocess.Popen(words, cwd=cwd, env=env, start_new_session=True)
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        stop(process)
        return None
    except BaseException:  # Ctrl-C or SIGTERM
        stop(process)
        raise
