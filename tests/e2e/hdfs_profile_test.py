"""Profiles of data on a real HDFS with daemons that die and come back, and rows that exceed memory.
"""
import contextlib
import json
import os
import threading
import time
import unittest

import pytest

from espalier import Cluster, json_lines, wait_for
from hadoop_jars import HadoopError
from hdfs_jobs import BUNDLE, MIB, HdfsTest, csv_text, start_hdfs, table

pytestmark = pytest.mark.covers("data", "storage")

DATA_NODES = ["dn1", "dn2"]


def setUpModule():
    start_hdfs()


class ProfileTest(HdfsTest):
    def big_spec(self, times, steps=20):
        """Returns a job on a table so large that its profiling pass lasts, and the table's local
        copy."""
        header, rows = csv_text(table(2000)).split("\n", 1)
        local = self.write("big.csv", header + "\n" + rows * times)
        with open(local, "rb") as f:
            csv = self.put("big.csv", f)
        spec = self.spec(csv, train={"batch": 1000, "steps": steps, "seed": 7},
                         output=self.uri("m"))
        spec["data"]["shard_bytes"] = MIB
        return spec, local

    def assert_as_from(self, local, spec, result):
        """The result is that of the same job on a local file, and its bundle is complete."""
        spec = dict(spec, data=dict(spec["data"], train=local), output=self.path("local"))
        expected = self.result("train", self.job("local", spec), "--workers", 1)
        self.assertEqual(result["weights_sha256"], expected["weights_sha256"])
        self.assertEqual(self.names("/m"), BUNDLE)

    @pytest.mark.long
    def test_a_data_node_killed_in_the_middle_of_the_profile_only_delays(self):
        spec, local = self.big_spec(800)
        self.addCleanup(self.hdfs.start_datanode, 1)
        with self.slow_data_nodes():
            process = self.start("train", self.job("killed", spec), "--workers", 2, "--json")
            begun = self.await_event(process, lambda e: e.get("profiling_bytes_done"))
            self.hdfs.kill_datanode(1)
        self.assertLess(begun["profiling_bytes_done"], begun["input_bytes"])
        self.assertEqual(begun["phase"], None, "this is the profiling pass")
        started = time.monotonic()
        out, err = process.communicate(timeout=90)
        self.assertEqual(process.returncode, 0, err)
        self.assertLess(time.monotonic() - started, 30)
        self.assert_as_from(local, spec, json_lines(out)[-1])

    @pytest.mark.long
    def test_a_name_node_that_is_away_and_then_in_safe_mode_during_the_profile_only_delays(self):
        spec, local = self.big_spec(800)
        cluster = Cluster(self, 2)

        def profiling_runs():
            status = cluster.status(job)
            return status["state"] == "PROFILING" and status["progress"]["profiling_bytes_done"]

        def is_refused():
            """A worker logs it once: refused, or broken off if a request was in progress."""
            return any("; trying again" in cluster.log(name) for name in cluster.workers)

        def is_asked_in_safe_mode():
            node = self.hdfs.daemon("nn1")
            info = self.hdfs.bean(node, "NameNodeInfo")
            activity = self.hdfs.bean(node, "NameNodeActivity")
            return info and activity and info["Safemode"] and activity["GetBlockLocations"]
        self.addCleanup(self.hdfs.wait_ready)
        self.addCleanup(self.hdfs.start_namenode)
        with self.slow_data_nodes():
            job = cluster.submit(self.job("restarted", spec))
            wait_for("the profiling pass", profiling_runs)
            self.hdfs.stop_namenode()
        # A DataNode that was asked before asks the NameNode as well. It may keep a request until
        # the limit for stalled transfers (30 s) ends it.
        wait_for("a refused connection", is_refused, 90)
        self.assertEqual(cluster.status(job)["state"], "PROFILING")
        wait_for("the reason", lambda: "the NameNode 127.0.0.1:" in (
            cluster.status(job)["waiting_because"] or ""))
        # The NameNode leaves safe mode when it has the reports of the blocks. Stopped DataNodes
        # send none.
        with self.paused_data_nodes():
            self.hdfs.start_namenode()
            wait_for("a request in safe mode", is_asked_in_safe_mode, 30)
            self.assertEqual(cluster.status(job)["state"], "PROFILING")
        out, _ = cluster.espalier("watch", job, "--json")
        self.assert_as_from(local, spec, json_lines(out)[-1])

    @pytest.mark.long
    def test_rows_beyond_the_memory_of_a_worker_are_spilled_and_train_to_the_same_bits(self):
        spec, local = self.big_spec(100, steps=10_000)
        cluster = Cluster(self, 2, worker_flags=["--memory-bytes-max", "64KiB"])
        job = cluster.submit(self.job("spilled", spec))
        folders = {process.pid: os.path.join(cluster.directory, "spill-" + name)
                   for name, process in cluster.workers.items()}
        for pid, folder in folders.items():
            wait_for("rows in " + folder, lambda: self.bytes_mapped(pid, folder) > MIB // 2)
        out, _ = cluster.espalier("watch", job, "--json")
        self.assert_as_from(local, spec, json_lines(out)[-1])
        for pid, folder in folders.items():
            wait_for("the end of " + folder, lambda: self.bytes_mapped(pid, folder) == 0)

    @staticmethod
    def bytes_mapped(pid, folder):
        """Returns bytes of files in the folder, also deleted ones, that the process has mapped."""
        total = 0
        with open("/proc/%d/maps" % pid) as f:
            for line in f:
                if folder + "/" in line:
                    begin, end = line.split()[0].split("-")
                    total += int(end, 16) - int(begin, 16)
        return total

    @contextlib.contextmanager
    def paused_data_nodes(self):
        for name in DATA_NODES:
            self.hdfs.pause(name)
        try:
            yield
        finally:
            for name in DATA_NODES:
                self.hdfs.resume(name)

    @contextlib.contextmanager
    def slow_data_nodes(self):
        """The DataNodes run for a small part of the time, so that a profile lasts."""
        over = threading.Event()

        def slow():
            while not over.wait(0.02):
                for name in filter(self.hdfs.alive, DATA_NODES):
                    with contextlib.suppress(HadoopError):  # a test has just killed it
                        self.hdfs.pause(name)
                over.wait(0.3)
                for name in filter(self.hdfs.alive, DATA_NODES):
                    self.hdfs.resume(name)
        thread = threading.Thread(target=slow)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def await_event(self, process, wanted):
        for line in process.stdout:
            event = json.loads(line)
            if wanted(event):
                return event
        raise AssertionError("the command ended: " + process.stderr.read())


if __name__ == "__main__":
    unittest.main()
