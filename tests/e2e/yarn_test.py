"""Clusters in the containers of a real YARN, by deploy/yarn/espalier-yarn of the tarball.

Tests that take minutes (lost coordinators and nodes, growing and shrinking, services in a wrong
state) are in tests/yarn.
"""
import os
import unittest

import pytest

from espalier import json_lines, wait_for
from hdfs_jobs import csv_text, table
from yarn_jobs import SIZES, STEADY_LIMIT_S, YarnTest, start_yarn

pytestmark = pytest.mark.covers("cli", "yarn")

EPOCHS = 250


def setUpModule():
    start_yarn(nodes=2)


class ContainersTest(YarnTest):
    @pytest.mark.long
    def test_a_cluster_goes_up_loses_a_worker_and_has_the_bits_of_the_local_run(self):
        csv = self.put("t.csv", csv_text(table(2000)))
        local = self.result("train", self.long_job("local", csv, "local", EPOCHS), "--workers", 1)
        self.up("bits", 2)
        service = self.service("bits")
        self.assertEqual(service["workers_attached"], 2)
        hosts = [c["host"] for component in service["components"]
                 for c in component["containers"] if component["name"] == "worker"]
        self.assertEqual(len(set(hosts)), 2, "one worker a node")
        self.assert_secrets_are_kept("bits")
        job = self.submit("bits", self.long_job("far", csv, "far", EPOCHS))
        self.await_steps("bits", job, 20)
        python, where = self.follow_by_python("bits", job)
        killed = self.kill_container_of("espalier-worker")
        self.assert_replaced("bits", killed)
        self.assertEqual(self.outcome("bits", job)["weights_sha256"], local["weights_sha256"])
        self.assertEqual(self.followed_by_python(python), [local["weights_sha256"], where])
        logs, _ = self.yarn("logs", "bits")
        self.assertIn("==> coordinator-0 (container_", logs)
        self.assertIn("listening on ", logs)
        self.yarn("down", "bits")
        self.await_empty()
        self.assertNotIn("bits", self.hdfs.files.names(self.base() + "/yarn"))
        self.assertFalse(os.path.exists(self.path(".espalier", "yarn", "bits")))
        self.espalier("list", "--coordinator", "yarn:bits", code=2)

    @pytest.mark.long
    def test_one_command_trains_a_job_and_leaves_nothing_but_its_bundle(self):
        csv = self.put("t.csv", csv_text(table(400)))
        local = self.trained("local", csv)
        job = self.job("Once upon", self.spec(csv, output=self.uri("model")))
        out, _ = self.yarn("run", job, "--workers", 2, *SIZES, "--json")
        done = json_lines(out)[-1]
        self.assertEqual(done["weights_sha256"], local["weights_sha256"])
        self.assertEqual(sorted(self.hdfs.files.names(self.home + "/model")),
                         [".writer.json", "README.md", "history.csv", "model.json",
                          "weights.safetensors"])
        self.await_empty()
        self.yarn("status", "once-upon", code=2)
        self.assertEqual(len(self.hdfs.files.names(self.base() + "/packages")), 1)

    def base(self):
        return "/user/%s/.espalier" % self.hdfs.state["user"]

    def assert_secrets_are_kept(self, name):
        """Secrets are hidden from other users of HDFS, of the machine, and of the ResourceManager.
        """
        folder = "%s/yarn/%s" % (self.base(), name)
        self.assertEqual(self.hdfs.files.status(folder)["permission"], "700")
        kept = self.path(".espalier", "yarn", name)
        self.assertEqual(os.stat(kept).st_mode & 0o777, 0o700)
        self.assertEqual(os.stat(os.path.join(kept, "tls.key")).st_mode & 0o777, 0o600)
        for pid in self.processes("espalier-worker"):
            key = "/proc/%d/cwd/tls.key" % pid
            self.assertEqual(os.stat(key).st_mode & 0o077, 0, key)
            with open("/proc/%d/environ" % pid) as f:
                self.assertNotIn("PRIVATE KEY", f.read())

    def assert_replaced(self, name, container):
        def others():
            found = self.service(name)
            ids = [c["id"] for component in found["components"] for c in component["containers"]
                   if c["state"] == "READY"]
            return found["workers_attached"] == 2 and len(ids) == 3 and container not in ids
        wait_for("another container", others, STEADY_LIMIT_S)


if __name__ == "__main__":
    unittest.main()
