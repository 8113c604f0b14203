"""Rows that the members add to each step, by their own account; and a member with faulty memory."""

import os
import re
import unittest

import pytest

from accounts import TELLTALE, Accounts, slow_cluster
from espalier import Cluster, EspalierTest, wait_for

pytestmark = pytest.mark.covers("worker")

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
        """Waits for a generation after `after` that trains with that many workers. Returns its
        number."""
        def found():
            status = cluster.status(job)
            return (status["state"] == "TRAINING" and len(status["workers"]) == count and
                    status["generation"] > after and status["generation"])
        return wait_for("%d members after generation %d" % (count, after), found, 30)

    @pytest.mark.long
    def test_every_row_counts_once_an_epoch_through_kills_and_joins(self):
        epochs = 150  # of 32 steps
        weights = self.quiet_weights(epochs)
        cluster = slow_cluster(self, 0, 4, coordinator_flags=["--rebalance-interval-ms", "100"])
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
        self.assertCountEqual(cluster.lost(), ["node-1", "node-2", "node-3", "node-4"])
        rows = re.search(r"profiled: ([0-9,]+) training rows", cluster.log("coordinator"))
        accounts = Accounts(self.accounts)
        done = accounts.check(self, leaves=16, rows=int(rows.group(1).replace(",", "")))
        self.assertEqual(done, epochs)
        self.assertGreater(accounts.aborted(), 0)

    def test_the_accounts_show_what_is_missing_and_what_is_counted_twice(self):
        lines = ["leaf 1 0 0 0 0 2", "leaf 1 0 0 1 1", "commit 1 0 5", "leaf 1 1 0 0 3",
                 "leaf 1 1 0 1 4 5", "commit 1 1 9"]

        def check(*changed):
            with open(os.path.join(self.accounts, "1"), "w") as f:
                f.write("".join(line + "\n" for line in changed))
            return Accounts(self.accounts).check(self, leaves=2, rows=6)
        self.assertEqual(check(*lines), 1)
        redone = [line.replace("leaf 1 1", "leaf 2 1") for line in lines[3:5]] + ["commit 2 1 9"]
        self.assertEqual(check(*(lines[:5] + redone)), 1)
        for wrong in (lines[:1] + lines[2:], lines + lines[4:5], lines[:2] + lines[3:],
                      lines[:4] + ["leaf 1 1 0 1 4 4"] + lines[5:], lines + redone + lines[:3]):
            with self.assertRaises(AssertionError, msg=wrong):
                check(*wrong)

    def start_with_a_faulty_one(self, workers):
        """Returns (the cluster, its job, the right weights). A bit of `faulty` flips after 150
        steps."""
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
        self.assertRegex(log, r"was taken out[\s\S]*%s generation \d+: 2 workers" % job)
        self.assertIn("back to step 100", cluster.log("node-1"))

    def test_when_too_few_are_left_then_what_is_kept_is_what_all_had_agreed_on(self):
        weights = self.quiet_weights(40)
        cluster = Cluster(self, workers=2, coordinator_flags=["--below-min-timeout-ms", "1s"])
        self.environment["ESPALIER_TELLTALE_FLIP"] = "150"
        self.start_telltales(cluster, "faulty")
        cluster.wait_for_workers(3)
        job = cluster.submit(self.job("kept", self.spec(40, min=3, max=3)))
        failed = cluster.result("watch", job, code=1)
        self.assert_flipped(cluster)
        self.assertIn("faulty", failed["error"]["message"])
        kept = re.search(r"--resume (\S+\.checkpoints)", failed["error"]["message"])
        self.assertIsNotNone(kept, failed)
        self.assertEqual(os.listdir(kept.group(1)), ["step-000000100.ckpt"])
        out, _ = cluster.espalier("submit", self.job("resumed", self.spec(40, min=1, max=2)),
                                  "--detach", "--resume", kept.group(1))
        self.assert_right(cluster, out.strip(), weights)
        self.assertIn("continues from " + kept.group(1) + "/step-000000100.ckpt",
                      cluster.log("node-1") + cluster.log("node-2"))

    def test_of_two_nobody_knows_which_is_wrong_and_both_go_back(self):
        cluster, job, weights = self.start_with_a_faulty_one(2)
        self.assert_right(cluster, job, weights)
        self.assert_flipped(cluster)
        log = cluster.log("coordinator")
        self.assertIn("the members' parameters differ before step 201, and no majority agrees", log)
        self.assertRegex(log, r"no majority agrees[\s\S]*%s generation \d+: 2 workers" % job)
        self.assertIn("back to step 100", cluster.log("faulty"))


if __name__ == "__main__":
    unittest.main()
