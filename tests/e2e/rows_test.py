"""What the members add to each step, by their own account; and one whose memory is faulty."""

import collections
import os
import re
import unittest

from espalier import TESTING, Cluster, EspalierTest, wait_for

TELLTALE = os.path.join(TESTING, "telltale-worker")


class Accounts:
    """What telltale workers wrote down (see tests/worker/telltale_main.cc)."""

    def __init__(self, directory):
        self.leaves = collections.defaultdict(list)   # (step, generation) -> [(leaf, rows)]
        self.commits = collections.defaultdict(dict)  # step -> {generation: processes}
        self.last = {}                                # process -> (step, generation)
        self.epochs = {}                              # step -> epoch
        for process in os.listdir(directory):
            with open(os.path.join(directory, process)) as f:
                for line in f:
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
        """Each leaf exactly once a committed step, each row exactly once an epoch."""
        test.assertEqual(sorted(self.commits), list(range(len(self.commits))))
        epochs = collections.defaultdict(list)
        for step, generations in self.commits.items():
            counts = max(generations)
            for older in set(generations) - {counts}:
                # Applied by one that died before it could pass it on: that is gone with it.
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
        """Attempts at a step that came to nothing."""
        return sum(1 for step, generation in self.leaves
                   if generation not in self.commits.get(step, {}))


class RowsTest(EspalierTest):
    def setUp(self):
        super().setUp()
        self.accounts = self.path("accounts")
        os.mkdir(self.accounts)
        self.environment["ESPALIER_TELLTALE_DIRECTORY"] = self.accounts

    def spec(self, epochs, **workers):
        if not os.path.exists(self.path("rows.csv")):
            self.classes_csv("rows.csv", 4000)
        spec = self.classes_spec(self.path("rows.csv"), epochs=epochs)
        return dict(spec, model={"task": "classification", "hidden": [64, 64], "dropout": 0.2},
                    workers=workers)

    def quiet_weights(self, epochs):
        quiet = self.result("train", self.job("quiet", self.spec(epochs)), "--workers", 1)
        return quiet["weights_sha256"]

    def assert_right(self, cluster, job, weights):
        done = cluster.result("watch", job)
        self.assertEqual(done["status"], "SUCCEEDED", done)
        self.assertEqual(done["weights_sha256"], weights)

    def wait_for_line(self, cluster, text):
        wait_for("'%s' in the coordinator's log" % text,
                 lambda: text in cluster.log("coordinator"), 30)

    def start_telltales(self, cluster, *names):
        for name in names:
            cluster.start_worker(name, binary=TELLTALE)

    def wait_for_members(self, cluster, job, count, after):
        """A generation beyond `after` that trains with that many. Returns its number."""
        def found():
            status = cluster.status(job)
            return (status["state"] == "TRAINING" and len(status["workers"]) == count and
                    status["generation"] > after and status["generation"])
        return wait_for("%d members after generation %d" % (count, after), found, 30)

    def test_every_row_counts_once_an_epoch_through_kills_and_joins(self):
        epochs = 800
        weights = self.quiet_weights(epochs)
        cluster = Cluster(self, workers=0, coordinator_flags=["--rebalance-interval-ms", "100"])
        self.start_telltales(cluster, "node-1", "node-2", "node-3")
        cluster.wait_for_workers(3)
        job = cluster.submit(self.job("counted", self.spec(epochs, max=3)))
        cluster.wait_for_training(job)
        cluster.workers["node-2"].kill()
        seen = self.wait_for_members(cluster, job, 2, 1)
        self.start_telltales(cluster, "node-4")
        seen = self.wait_for_members(cluster, job, 3, seen)
        cluster.workers["node-1"].kill()
        cluster.workers["node-3"].kill()
        seen = self.wait_for_members(cluster, job, 1, seen)
        self.start_telltales(cluster, "node-5", "node-6")
        seen = self.wait_for_members(cluster, job, 3, seen)
        cluster.workers["node-4"].kill()
        self.assert_right(cluster, job, weights)
        self.assertEqual(cluster.log("coordinator").count(" was lost: "), 4)
        rows = re.search(r"surveyed: ([0-9,]+) training rows", cluster.log("coordinator"))
        accounts = Accounts(self.accounts)
        done = accounts.check(self, leaves=16, rows=int(rows.group(1).replace(",", "")))
        self.assertEqual(done, epochs)
        self.assertGreater(accounts.aborted(), 0)

    def start_with_a_faulty_one(self, workers):
        """(the cluster, its job, the right weights); a bit of `faulty` flips after 150 steps."""
        weights = self.quiet_weights(40)
        cluster = Cluster(self, workers=workers - 1)
        self.environment["ESPALIER_TELLTALE_FLIP"] = "150"
        self.start_telltales(cluster, "faulty")
        cluster.wait_for_workers(workers)
        job = cluster.submit(self.job("flipped", self.spec(40, min=1, max=workers)))
        return cluster, job, weights

    def assert_flipped(self, cluster):
        with open(os.path.join(self.accounts, str(cluster.workers["faulty"].pid))) as f:
            self.assertIn("flip 150\n", f.read())

    def test_of_three_the_one_whose_memory_flips_a_bit_is_named_and_taken_out(self):
        cluster, job, weights = self.start_with_a_faulty_one(3)
        self.assert_right(cluster, job, weights)
        self.assert_flipped(cluster)
        log = cluster.log("coordinator")
        self.assertRegex(log, job + r": faulty \(worker-\d+, [^)]*\) held other parameters than "
                                    "most members before step 201 ")
        self.assertIn(job + " generation 2: 2 workers", log)
        self.assertIn("back to step 100", cluster.log("node-1"))

    def test_of_two_nobody_knows_which_is_wrong_and_both_go_back(self):
        cluster, job, weights = self.start_with_a_faulty_one(2)
        self.assert_right(cluster, job, weights)
        self.assert_flipped(cluster)
        log = cluster.log("coordinator")
        self.assertIn("the members' parameters differ before step 201, and no majority agrees", log)
        self.assertIn(job + " generation 2: 2 workers", log)
        self.assertIn("back to step 100", cluster.log("faulty"))


if __name__ == "__main__":
    unittest.main()
