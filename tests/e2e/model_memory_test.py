"""A model that exceeds the memory of a worker fails the job and not the worker."""
import resource
import unittest

import pytest

from espalier import Cluster, EspalierTest, wait_for

pytestmark = [pytest.mark.covers("training", "worker", "coordinator"), pytest.mark.attack]

MIB = 1 << 20


class ModelMemoryTest(EspalierTest):
    def spec(self, hidden):
        spec = self.classes_spec(self.classes_csv("rows.csv", 400), epochs=1)
        spec["model"]["hidden"] = hidden
        return spec

    def assert_works(self, cluster):
        """Checks that all workers are alive and can train a small model."""
        for name, worker in cluster.workers.items():
            self.assertIsNone(worker.poll(), name + " has ended: " + cluster.log(name)[-500:])
        spec = self.spec([4])
        spec["workers"] = {"min": len(cluster.workers)}
        cluster.result("submit", self.job("small", spec))

    def failed(self, cluster, job):
        """Returns the status of a job that must fail."""
        wait_for("the end of " + job,
                 lambda: cluster.result("status", job)["state"] in ("FAILED", "SUCCEEDED"), 60)
        status = cluster.result("status", job)
        self.assertEqual(status["state"], "FAILED")
        return str(status)

    def test_a_model_that_fits_into_no_worker_is_refused_at_submission(self):
        cluster = Cluster(self, 2, worker_flags=["--memory-bytes-max", "64MiB"])
        _, err = cluster.espalier("submit", self.job("big", self.spec([20000, 20000])), code=1)
        self.assertIn("memory_bytes_max", err)
        self.assert_works(cluster)

    def test_a_model_that_does_not_fit_fails_before_its_memory_is_taken(self):
        cluster = Cluster(self, 0, worker_flags=["--memory-bytes-max", "64MiB"])
        job = cluster.submit(self.job("big", self.spec([20000, 20000])))
        cluster.start_worker("node-1")
        cluster.start_worker("node-2")
        error = self.failed(cluster, job)
        self.assertIn("memory_bytes_max", error)
        self.assertIn("rows of a step", error)
        self.assert_works(cluster)

    # The sanitizer ends the process at the first failed allocation.
    @pytest.mark.as_shipped
    def test_a_failed_allocation_ends_the_job_and_not_the_worker(self):
        cluster = Cluster(self, 2, threads=2, worker_flags=["--memory-bytes-max", "1TiB"])
        pids = [worker.pid for worker in cluster.workers.values()]
        for pid in pids:
            with open("/proc/%d/statm" % pid) as f:
                space = int(f.read().split()[0]) * resource.getpagesize()
            resource.prlimit(pid, resource.RLIMIT_AS, (space + 256 * MIB, resource.RLIM_INFINITY))
        job = cluster.submit(self.job("big", self.spec([6000, 6000])))
        self.assertIn("an allocation failed", self.failed(cluster, job))
        for pid in pids:
            resource.prlimit(pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        self.assert_works(cluster)


if __name__ == "__main__":
    unittest.main()
