"""Workers and the coordinator on separate hosts, with a network that fails in many ways."""

import re
import unittest

import pytest

from espalier import Cluster, EspalierTest, wait_for

import hosts  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("cluster", "member", "rpc")


class HostCluster(Cluster):
    """Cluster with each daemon on its own host. Commands run on the coordinator's."""

    consent = ["--insecure"]

    def __init__(self, test, workers, relayed=(), **options):
        names = ["coordinator"] + ["node-%d" % n for n in range(1, workers + 1)]
        self.hosts = hosts.Hosts(names, relayed)
        test.addCleanup(self.hosts.stop)
        test.command_prefix = self.hosts.prefix("coordinator")
        options.setdefault("coordinator_flags", ["--liveness-limit-ms", "2s"])
        options.setdefault("worker_flags", ["--peer-timeout-ms", "2s"])
        super().__init__(test, workers, flags=self.consent, **options)

    def listen_on(self, name):
        return self.hosts.address(name) + ":0"

    def start_daemon(self, name, arguments):
        return super().start_daemon(name, self.hosts.prefix(name) + arguments)


class HostsTest(EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        reason = hosts.why_not()
        if reason:
            raise AssertionError("no host can be played here: " + reason)

    def spec(self, **train):
        """Returns a job of some seconds; with `steps`, of fewer."""
        train.setdefault("epochs", 200)
        spec = self.classes_spec(self.classes_csv("rows.csv", 4000), **train)
        return dict(spec, model={"task": "classification", "hidden": [64, 64], "dropout": 0.2})

    def start_job(self, workers, spec=None, relayed=(), **options):
        """Returns (the cluster, the job that trains on all its workers, the weights that it must
        end with)"""
        spec = spec or self.spec()
        quiet = self.result("train", self.job("quiet", spec), "--workers", 1)
        cluster = HostCluster(self, workers, relayed, **options)
        disturbed = self.job("disturbed", dict(spec, workers={"min": 1, "max": workers}))
        job = cluster.submit(disturbed)
        cluster.wait_for_training(job)
        return cluster, job, quiet["weights_sha256"]

    def assert_right(self, cluster, job, weights):
        done = cluster.result("watch", job)
        self.assertEqual(done["status"], "SUCCEEDED", done)
        self.assertEqual(done["weights_sha256"], weights)

    def wait_for_line(self, cluster, text, log="coordinator", times=1):
        wait_for("%d times '%s' in the log of %s" % (times, text, log),
                 lambda: cluster.log(log).count(text) >= times, 30)

    def wait_for_generation(self, cluster, job, after, workers):
        """Matches any number, because leaves may have moved before."""
        pattern = r"%s[\s\S]*%s generation \d+: %d worker" % (after, job, workers)
        wait_for("'%s' in the coordinator's log" % pattern,
                 lambda: re.search(pattern, cluster.log("coordinator")), 30)

    def test_an_unplugged_host_is_named_as_lost_and_comes_back_as_a_new_worker(self):
        cluster, job, weights = self.start_job(3)
        cluster.hosts.unplug("node-2")
        self.wait_for_generation(cluster, job, " was lost: ", 2)
        self.assertRegex(cluster.log("coordinator"), r"node-2 \(worker-\d+, [0-9.:]+\) was lost: ")
        self.assertEqual(cluster.lost(), ["node-2"])
        cluster.hosts.plug_in("node-2")
        self.wait_for_line(cluster, "attached as", "node-2", times=2)
        self.assert_right(cluster, job, weights)
        cluster.wait_for_workers(3)
        self.assertEqual(cluster.lost(), ["node-2"])

    def cut_pair(self, workers, one_way):
        """Two workers that exchange sums cannot reach each other. Both reach the coordinator."""
        # With a leaf for each worker, no leaf moves, and the tree is always the same.
        cluster, job, weights = self.start_job(workers, self.spec(leaves=workers))
        one, other = cluster.status(job)["workers"][:2]
        (cluster.hosts.cut_one_way if one_way else cluster.hosts.cut)(one, other)
        self.wait_for_line(cluster, "lost its link to")
        return cluster, job, weights, {one, other}

    def assert_nobody_left(self, cluster, job, pair):
        self.wait_for_generation(cluster, job, "lost its link to", 3)
        order = cluster.status(job)["workers"]
        self.assertEqual(set(order[1:]), pair, "only the first exchanges sums with the others")
        log = cluster.log("coordinator")
        for text in (" was lost: ", "was taken out"):
            self.assertNotIn(text, log)
        self.assertEqual(log.count(job + " trains"), 2)

    @pytest.mark.long
    def test_two_of_three_that_cannot_reach_each_other_are_kept_apart_in_the_tree(self):
        cluster, job, weights, pair = self.cut_pair(3, one_way=False)
        self.assert_nobody_left(cluster, job, pair)
        self.assert_right(cluster, job, weights)

    @pytest.mark.long
    def test_so_are_two_of_which_one_does_not_hear_the_other(self):
        cluster, job, weights, pair = self.cut_pair(3, one_way=True)
        self.assert_nobody_left(cluster, job, pair)
        self.assert_right(cluster, job, weights)

    def test_of_two_alone_that_cannot_reach_each_other_one_leaves_by_name(self):
        cluster, job, weights, pair = self.cut_pair(2, one_way=False)
        self.wait_for_generation(cluster, job, "lost its link to", 1)
        self.assertRegex(cluster.log("coordinator"),
                         r"(%s) \(.* has no working link to other members of %s, and no tree is "
                         r"left without them: it was taken out" % ("|".join(sorted(pair)), job))
        self.assert_right(cluster, job, weights)
        self.assertNotIn(" was lost: ", cluster.log("coordinator"))

    @pytest.mark.long
    def test_who_holds_the_weights_of_asynchronous_training_is_somebody_whom_all_can_reach(self):
        # The first and the last of four exchange no sums in the tree, but do in the star.
        spec = self.spec(leaves=4, mode="async", epochs=400)
        cluster = HostCluster(self, 4)
        job = cluster.submit(self.job("star", dict(spec, workers={"min": 1, "max": 4})))
        cluster.wait_for_training(job)
        order = cluster.status(job)["workers"]
        cluster.hosts.cut(order[0], order[3])
        self.wait_for_generation(cluster, job, "lost its link to", 4)
        self.assertNotIn(cluster.status(job)["workers"][0], (order[0], order[3]))
        done = cluster.result("watch", job)
        self.assertEqual(done["status"], "SUCCEEDED", done)
        self.assertEqual(done["epochs"], 400)
        log = cluster.log("coordinator")
        for text in (" was lost: ", "was taken out"):
            self.assertNotIn(text, log)
        self.assertEqual(log.count(job + " trains"), 2)

    def step_of(self, cluster, job):
        return cluster.status(job)["progress"]["step"]

    @pytest.mark.long
    def test_training_goes_on_while_the_coordinators_host_is_unplugged(self):
        # It must outlast the silence (2 s) that the workers tolerate, also on a fast machine.
        cluster, job, weights = self.start_job(2, self.spec(epochs=1200))
        before = self.step_of(cluster, job)
        cluster.hosts.unplug("coordinator")
        for name in cluster.workers:
            self.wait_for_line(cluster, "no word from the coordinator", name)
        cluster.hosts.plug_in("coordinator")
        for name in cluster.workers:
            self.wait_for_line(cluster, "attached as", name, times=2)
        wait_for("a step seen again", lambda: self.step_of(cluster, job) > before)
        self.assert_right(cluster, job, weights)
        log = cluster.log("coordinator")
        self.assertNotIn(" was lost: ", log)
        self.assertEqual(log.count(job + " trains"), 1)

    def test_delay_and_loss_only_slow_the_job(self):
        spec = self.spec(epochs=10, steps=80)
        quiet = self.result("train", self.job("quiet", spec), "--workers", 1)
        cluster = HostCluster(self, 2, ["node-2"], coordinator_flags=[], worker_flags=[])
        cluster.hosts.impair("node-2", delay_ms=20, loss=0.03)
        job = cluster.submit(self.job("slow", dict(spec, workers={"min": 2})))
        self.assert_right(cluster, job, quiet["weights_sha256"])
        passed, lost = cluster.hosts.impair("node-2")
        self.assertGreater(passed, 1000)
        self.assertGreater(lost, 10)
        log = cluster.log("coordinator")
        for text in (" was lost: ", "lost its link to"):
            self.assertNotIn(text, log)
        self.assertEqual(log.count(job + " trains"), 1)


if __name__ == "__main__":
    unittest.main()
