"""Our storage on a real HDFS with daemons that are killed, restarted and failed over while it
reads."""
import hashlib
import os
import subprocess
import tempfile
import time
import unittest

import pytest

from espalier import DIE_WITH_PARENT, TESTING

from hadoop import Hdfs

pytestmark = pytest.mark.covers("storage")

MIB = 1 << 20
DATA = os.urandom(1 << 16) * (96 * MIB >> 16)
SHA = hashlib.sha256(DATA).hexdigest()


class Probe:
    """tests/storage/hdfs_probe.cc: a line in, a line out."""

    def __init__(self, hdfs):
        env = dict(os.environ, HADOOP_CONF_DIR=hdfs.conf_dir, HADOOP_USER_NAME="root")
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            DIE_WITH_PARENT + [os.path.join(TESTING, "hdfs_probe")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, env=env)

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().strip()

    def __call__(self, line):
        self.send(line)
        return self.answer()

    def log(self):
        self.errors.seek(0)
        return self.errors.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Faults:
    ha = False

    @classmethod
    def setUpClass(cls):
        cls.hdfs = Hdfs.start(ha=cls.ha, block_size=8 * MIB)
        cls.addClassCleanup(cls.hdfs.stop)
        cls.hdfs.put("/tmp/faults.bin", DATA)

    def setUp(self):
        self.probe = Probe(self.hdfs)
        self.addCleanup(self.probe.close)
        self.file = self.hdfs.uri + "/tmp/faults.bin"

    def read_with(self, fault):
        """Reads the file, with the fault after its first tenth. Returns the seconds of the rest."""
        self.assertEqual(self.probe("open " + self.file), "ok %d" % len(DATA))
        self.assertEqual(self.probe("read %d" % (10 * MIB)), "ok %d" % (10 * MIB))
        fault()
        started = time.monotonic()
        self.assertEqual(self.probe("read %d" % len(DATA)), "ok %d" % len(DATA))
        self.assertEqual(self.probe("sha"), "ok " + SHA)
        return time.monotonic() - started


class PlainFaultsTest(Faults, unittest.TestCase):
    @pytest.mark.long
    def test_data_nodes_that_are_killed_in_the_middle_of_a_file_cost_seconds(self):
        def kill_one_then_the_other():
            self.hdfs.kill_datanode(1)
            self.assertEqual(self.probe("read %d" % (30 * MIB)), "ok %d" % (40 * MIB))
            self.hdfs.start_datanode(1)
            self.hdfs.wait_ready()
            self.hdfs.kill_datanode(2)

        self.assertLess(self.read_with(kill_one_then_the_other), 20)
        self.hdfs.start_datanode(2)
        self.hdfs.wait_ready()
        # One of the two was the one that it read from.
        self.assertIn("failed while it was read from", self.probe.log())

    @pytest.mark.long
    def test_a_name_node_that_restarts_only_delays_reading_and_writing(self):
        self.assertLess(self.read_with(lambda: self.hdfs.restart_namenode(wait=False)), 60)
        self.hdfs.stop_namenode()
        uri = self.hdfs.uri + "/tmp/"
        self.probe.send("create %snew %s" % (uri, "mine"))
        self.probe.send("write %satomic %s" % (uri, "whole"))
        self.hdfs.start_namenode()
        self.assertEqual(self.probe.answer(), "ok done")
        self.assertEqual(self.probe.answer(), "ok done")
        self.assertEqual(self.hdfs.get("/tmp/new"), b"mine")
        self.assertEqual(self.hdfs.get("/tmp/atomic"), b"whole")
        self.assertEqual(self.probe("create %snew x" % uri),
                         "cannot create '%snew': it exists" % uri)
        self.assertEqual(sorted(n for n in self.hdfs.files.names("/tmp") if n.startswith(".")), [])


class TwoNameNodesTest(Faults, unittest.TestCase):
    ha = True

    @pytest.mark.long
    def test_reading_and_writing_go_on_over_a_fail_over_and_the_loss_of_the_active_name_node(self):
        self.assertLess(self.read_with(self.hdfs.failover), 60)
        uri = self.hdfs.uri + "/tmp/"
        self.assertEqual(self.probe("write %sa 1" % uri), "ok done")
        self.hdfs.failover()
        self.assertEqual(self.probe("create %sb 2" % uri), "ok done")
        self.assertEqual(self.probe("stat hdfs:///tmp/b"), "ok 1")


if __name__ == "__main__":
    unittest.main()
