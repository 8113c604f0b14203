"""Common part of the tests of jobs that score."""
import os

from accounts import slow_cluster
from espalier import json_lines, wait_for


def slow_scoring_cluster(test, workers, **options):
    """Returns a cluster that scores at most 20 shards a second."""
    return slow_cluster(test, workers, 50 * workers, **options)


def files_of(directory):
    """Returns name and bytes of all files in a directory, at any depth."""
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, directory)] = f.read()
    return found


def wait_for_scoring(cluster, job):
    """Waits until some of the job's shards are scored, but most are not."""
    def some_is_scored():
        jobs = cluster.result("list")["jobs"]
        if job not in [j["job"] for j in jobs]:
            return False  # the job is being submitted
        status = cluster.status(job)
        if status["state"] not in ("QUEUED", "PROFILING"):
            raise AssertionError("it is over already: %s" % status)
        progress = status["progress"]
        return 0 < progress["profiling_bytes_done"] < progress["input_bytes"] / 2
    wait_for(job + " scoring", some_is_scored, 60)


def outcome(cluster, job):
    """Returns a job's result, as JSON."""
    out, _ = cluster.espalier("watch", job, "--json", code=None)
    return json_lines(out)[-1]
