"""The upgrade of deploy/README.md, step by step, while a job trains. The new package replaces the
old one. Then the coordinator is restarted, then one worker after the other."""
import os
import shutil
import unittest

import pytest

from espalier import Cluster, EspalierTest, await_step, json_lines, program, wait_for

pytestmark = pytest.mark.covers("launcher")

DAEMONS = ("espalier-coordinator", "espalier-worker")


class UpgradeTest(EspalierTest):
    def install(self):
        """Puts the programs of a package where the services start them, as dpkg and tar do: under
        another name first, so that running processes keep theirs."""
        os.makedirs(self.path("bin"), exist_ok=True)
        if not os.path.exists(self.path("lib")):
            built = os.path.dirname(os.path.dirname(os.path.realpath(program(DAEMONS[0]))))
            os.symlink(os.path.join(built, "lib"), self.path("lib"))
        for name in DAEMONS:
            new = self.path("bin", name + ".new")
            shutil.copy2(program(name), new)
            os.rename(new, self.path("bin", name))
        return {name: os.stat(self.path("bin", name)).st_ino for name in DAEMONS}

    def installed(self, process):
        """Returns the file that a daemon runs from, even if another file has its name by now."""
        return os.stat("/proc/%d/exe" % process.pid).st_ino

    def start_worker(self, cluster, name):
        cluster.start_worker(name, binary=self.path("bin", "espalier-worker"))

    def members(self, cluster):
        status = cluster.status("job-1")
        return sorted(status["workers"]) if status["state"] == "TRAINING" else []

    @pytest.mark.long
    def test_coordinator_then_workers_one_by_one_while_a_job_trains(self):
        spec = self.classes_spec(self.classes_csv("rows.csv", 1500), epochs=1500, batch=32)
        spec["model"]["hidden"] = [64, 64]
        spec["workers"] = {"min": 1, "max": 3}
        quiet = self.result("train", self.job("quiet", spec), "--workers", 1)

        old = self.install()
        names = ["node-1", "node-2", "node-3"]
        cluster = Cluster(self, 0, state=self.path("state"),
                          coordinator_flags=["--rebalance-interval-ms", "100"])
        cluster.kill_coordinator()
        cluster.start_coordinator(listen=cluster.address,
                                  binary=self.path("bin", "espalier-coordinator"))
        for name in names:
            self.start_worker(cluster, name)
        cluster.wait_for_workers(3)
        watcher = cluster.start("submit", self.job("upgraded", spec), "--json")
        await_step(watcher)

        new = self.install()
        for daemon in [cluster.coordinator] + list(cluster.workers.values()):
            self.assertIsNone(daemon.poll(), "running daemons go on")
            self.assertIn(self.installed(daemon), old.values())

        cluster.coordinator.terminate()
        self.assertEqual(cluster.coordinator.wait(timeout=20), 0)
        cluster.start_coordinator(listen=cluster.address,
                                  binary=self.path("bin", "espalier-coordinator"))
        cluster.wait_for_workers(3)
        wait_for("all members again", lambda: self.members(cluster) == names, 60)
        for name in names:
            process = cluster.workers[name]
            process.terminate()
            self.assertEqual(process.wait(timeout=60), 0)
            self.start_worker(cluster, name)
            wait_for(name + " to take part again", lambda: self.members(cluster) == names or
                     cluster.status("job-1")["state"] == "SUCCEEDED", 60)

        for daemon in [cluster.coordinator] + list(cluster.workers.values()):
            self.assertIn(self.installed(daemon), new.values())
        out, err = watcher.communicate(timeout=200)
        self.assertEqual(watcher.returncode, 0, err)
        done = json_lines(out)[-1]
        self.assertEqual(done["weights_sha256"], quiet["weights_sha256"])
        self.assertNotIn(" was lost: ", cluster.log("coordinator"))


if __name__ == "__main__":
    unittest.main()
