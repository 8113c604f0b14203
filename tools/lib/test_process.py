"""Runs a command of tools/test within a time limit. None of its children survives the limit."""
import os
import signal
import subprocess

STOP_WAIT_S = 30  # for Bazel or pytest to clean up after a SIGINT


def stop(process):
    """Ends a process and its group: politely, then by force."""
    for number, wait_s in ((signal.SIGINT, STOP_WAIT_S), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            continue
    try:
        os.killpg(process.pid, signal.SIGKILL)  # children that outlived it
    except ProcessLookupError:
        pass


def run(words, limit_s, cwd, env=None):
    """The exit code; None after the limit."""
    process = subprocess.Popen(words, cwd=cwd, env=env, start_new_session=True)
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        stop(process)
        return None
    except BaseException:  # Ctrl-C, or a SIGTERM
        stop(process)
        raise
