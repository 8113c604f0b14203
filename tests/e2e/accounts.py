"""Clusters of telltale workers (see tests/worker/telltale_main.cc), and the files that the workers
write, read and summed up."""
import collections
import os
import re

from espalier import TESTING, Cluster, wait_for

TELLTALE = os.path.join(TESTING, "telltale-worker")


def slow_cluster(test, workers, pause_ms, **options):
    """Cluster with workers that wait before each step and for each shard that they score. Its jobs
    take a minimum time, however fast the machine is."""
    test.environment["ESPALIER_TELLTALE_PAUSE"] = str(pause_ms)
    return Cluster(test, workers=workers, worker_binary=TELLTALE, **options)


def trained_through_a_kill_and_a_join(test, spec, pause_ms, worker_flags=(), look=None):
    """Returns the result of a job that loses one of its two workers, and later gets another one.
    The job must last until then: some 8 s of pauses before all its steps. It calls look(cluster)
    before that."""
    cluster = slow_cluster(test, 2, pause_ms, worker_flags=worker_flags,
                           coordinator_flags=["--rebalance-interval-ms", "100"])
    job = cluster.submit(test.job("disturbed", spec))
    cluster.wait_for_training(job)
    if look:
        look(cluster)
    cluster.workers["node-1"].kill()
    wait_for("one lost", lambda: len(cluster.lost()) == 1)
    cluster.start_worker("node-3")
    wait_for("a generation with the new one", lambda: re.search(
        r"%s generation [3-9]: 2 workers" % job, cluster.log("coordinator")))
    done = cluster.result("watch", job)
    test.assertEqual(done["status"], "SUCCEEDED", done)
    return done


class Accounts:
    """Account of all processes that wrote into a directory."""

    def __init__(self, directory):
        self.leaves = collections.defaultdict(list)   # (step, generation) -> [(leaf, rows)]
        self.commits = collections.defaultdict(dict)  # step -> {generation: processes}
        self.last = {}                                # process -> (step, generation)
        self.epochs = {}                              # step -> epoch
        for process in os.listdir(directory):
            with open(os.path.join(directory, process)) as f:
                for line in f:
                    if not line.endswith("\n"):
                        break  # a kill cut its write short, so it had no effect
                    kind, *numbers = line.split()
                    self.take(process, kind, [int(n) for n in numbers])

    def take(self, process, kind, numbers):
        generation, step = numbers[:2]
        if kind == "leaf":
            self.leaves[step, generation].append((numbers[3], numbers[4:]))
            self.epochs[step] = numbers[2]
        elif kind == "commit":
            self.commits[step].setdefault(generation, set()).add(process)
            self.last[process] = (step, generation)

    def check(self, test, leaves, rows):
        """Checks that each leaf occurs exactly once per committed step, each row exactly once per
        epoch."""
        test.assertEqual(sorted(self.commits), list(range(len(self.commits))))
        epochs = collections.defaultdict(list)
        for step, generations in self.commits.items():
            counts = max(generations)
            for older in set(generations) - {counts}:
                # Applied by a process that died before it could pass it on. The step is lost with
                # the process.
                for process in generations[older]:
                    test.assertEqual(self.last[process], (step, older))
            added = self.leaves[step, counts]
            test.assertEqual(sorted(leaf for leaf, _ in added), list(range(leaves)), step)
            for _, its_rows in added:
                epochs[self.epochs[step]] += its_rows
        for epoch, its_rows in epochs.items():
            test.assertEqual(sorted(its_rows), list(range(rows)), "epoch %d" % epoch)
        return len(epochs)

    def aborted(self):
        """Attempts at a step that had no effect."""
        return sum(1 for step, generation in self.leaves
                   if generation not in self.commits.get(step, {}))


def share(directory, process):
    """Returns the number of leaves of a process in the last but one step that it wrote about; 0:
    none yet."""
    path = os.path.join(directory, str(process))
    if not os.path.exists(path):
        return 0
    with open(path, "rb") as f:
        f.seek(max(0, os.path.getsize(path) - 65536))
        lines = f.read().decode().splitlines()[1:-1]
    steps = [line.split()[2] for line in lines if line.startswith("leaf ")]
    before = [step for step in steps if step != steps[-1]]
    return before.count(before[-1]) if before else 0
