"""tools/hadoop: a real HDFS, with writes, reads, faults and failovers. Installs its requirements.
"""
import collections
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree
from unittest import mock

import pytest

from espalier import ROOT, is_alive, wait_for

import hadoop_daemons
import hadoop_jars
import hadoop_state
from hadoop import Hdfs
from hadoop_jars import HadoopError
from hadoop_webhdfs import WebHdfs, WebHdfsError

pytestmark = pytest.mark.covers("storage")

TOOL = os.path.join(ROOT, "tools", "hadoop")
MIB = 1 << 20
DATA = bytes(range(256)) * (10 * MIB // 1024)  # 2.5 MiB: three blocks


def settings_of(hdfs):
    found = {}
    for name in ("core-site.xml", "hdfs-site.xml"):
        root = xml.etree.ElementTree.parse(os.path.join(hdfs.conf_dir, name)).getroot()
        found.update({p.findtext("name"): p.findtext("value") for p in root.iter("property")})
    return found


def can_read(hdfs, path, data):
    """Returns False while the NameNode names a dead DataNode, or a report of blocks is missing."""
    try:
        return hdfs.get(path) == data
    except (OSError, WebHdfsError):
        return False


def tool(*args, code=0, **env):
    """Runs tools/hadoop. Returns its output and error output."""
    done = subprocess.run([TOOL] + list(args), capture_output=True, text=True, timeout=240,
                          env=dict(os.environ, **env))
    if done.returncode != code:
        raise AssertionError("tools/hadoop %s ended with %d, expected %d:\n%s%s" %
                             (" ".join(args), done.returncode, code, done.stdout, done.stderr))
    return done.stdout, done.stderr


class PlainHdfsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hdfs = Hdfs.start(block_size=MIB, hosts=["localhost", "127.0.0.2"])
        cls.addClassCleanup(cls.hdfs.stop)

    def test_a_file_is_read_back_whole_and_in_ranges_and_lies_in_blocks_on_both_hosts(self):
        self.hdfs.put("/tmp/ranges/a b%+é.bin", DATA)
        path = "/tmp/ranges/a b%+é.bin"
        self.assertEqual(self.hdfs.get(path), DATA)
        self.assertEqual(self.hdfs.get(path, offset=MIB - 3, length=7), DATA[MIB - 3:MIB + 4])
        blocks = self.hdfs.files.blocks(path)
        self.assertEqual([b["offset"] for b in blocks], [0, MIB, 2 * MIB])
        for block in blocks:
            self.assertEqual(sorted(block["hosts"]), ["127.0.0.2", "localhost"])
            self.assertEqual(sorted(block["names"]),
                             sorted(d["data"] for d in self.hdfs.daemons("datanode")))
        self.assertEqual(self.hdfs.files.names("/tmp/ranges"), ["a b%+é.bin"])
        self.assertTrue(self.hdfs.files.delete("/tmp/ranges"))
        self.assertFalse(self.hdfs.files.delete("/tmp/ranges"))

    def test_permissions_hold_for_other_users_and_an_error_carries_the_class_of_hdfs(self):
        self.hdfs.files.mkdirs("/closed", "700")
        self.hdfs.put("/closed/a", b"a")
        stranger = WebHdfs(lambda: self.hdfs.urls[0], "stranger")
        with self.assertRaises(WebHdfsError) as caught:
            stranger.get("/closed/a")
        self.assertEqual((caught.exception.status, caught.exception.exception),
                         (403, "AccessControlException"))
        with self.assertRaisesRegex(WebHdfsError, "404, FileNotFoundException"):
            stranger.status("/tmp/nothing")

    def test_hadoops_own_client_finds_it_by_the_configuration_folder(self):
        self.hdfs.put("/tmp/words", b"one two\n")
        done = self.hdfs.run("dfs", "-cat", "/tmp/words")
        self.assertEqual((done.returncode, done.stdout), (0, "one two\n"), done.stderr)
        found, namenode = settings_of(self.hdfs), self.hdfs.daemon("nn1")
        self.assertEqual(found["fs.defaultFS"], "hdfs://" + namenode["rpc"])
        self.assertEqual(found["dfs.namenode.http-address"], namenode["http"])
        self.assertEqual(self.hdfs.env()["HADOOP_CONF_DIR"], self.hdfs.conf_dir)

    def test_a_killed_datanode_leaves_the_files_readable_and_comes_back(self):
        self.hdfs.put("/tmp/survivor", DATA)
        self.hdfs.kill_datanode(1)
        self.assertFalse(self.hdfs.alive("dn1"))
        wait_for("the NameNode to send readers elsewhere",
                 lambda: can_read(self.hdfs, "/tmp/survivor", DATA))
        self.hdfs.start_datanode(1)
        self.hdfs.kill_datanode(2)
        wait_for("the NameNode to send readers back",
                 lambda: can_read(self.hdfs, "/tmp/survivor", DATA))
        self.hdfs.start_datanode(2)
        self.hdfs.wait_ready()
        self.assertEqual(self.hdfs.live_datanodes("nn1"), (2, ""))

    def test_a_paused_datanode_goes_on_where_it_was(self):
        self.hdfs.put("/tmp/paused", b"still here")
        pid = self.hdfs.daemon("dn2")["pid"]
        self.addCleanup(self.hdfs.resume, "dn2")
        self.hdfs.pause("dn2")
        self.assertTrue(hadoop_daemons.is_frozen(self.hdfs.daemon("dn2")))
        self.hdfs.resume("dn2")
        self.hdfs.wait_ready()
        self.assertEqual(self.hdfs.daemon("dn2")["pid"], pid)
        self.assertEqual(self.hdfs.get("/tmp/paused"), b"still here")

    def test_a_namenode_that_was_killed_comes_back_with_its_files_at_the_same_address(self):
        self.hdfs.put("/tmp/kept", DATA)
        before = dict(self.hdfs.daemon("nn1"))
        self.hdfs.stop_namenode()
        with self.assertRaises(ConnectionRefusedError):
            self.hdfs.get("/tmp/kept")
        self.hdfs.restart_namenode()
        after = self.hdfs.daemon("nn1")
        self.assertEqual((after["http"], after["rpc"]), (before["http"], before["rpc"]))
        self.assertNotEqual(after["pid"], before["pid"])
        self.assertEqual(self.hdfs.get("/tmp/kept"), DATA)

    def test_one_namenode_cannot_fail_over(self):
        with self.assertRaisesRegex(HadoopError, "Start it with HA"):
            self.hdfs.failover()


class HighAvailabilityTest(unittest.TestCase):
    @pytest.mark.long
    def test_the_other_namenode_takes_over_from_a_living_and_from_a_dead_one(self):
        with Hdfs.start(ha=True, block_size=MIB) as hdfs:
            hdfs.put("/tmp/a", DATA)
            self.assertEqual(settings_of(hdfs)["dfs.ha.namenodes.ns"], "nn1,nn2")
            self.assertEqual((hdfs.uri, hdfs.active_namenode()), ("hdfs://ns", "nn1"))
            standby = WebHdfs(lambda: hdfs.urls[1], hdfs.state["user"])
            with self.assertRaisesRegex(WebHdfsError, "403, StandbyException"):
                standby.status("/tmp/a")

            self.assertEqual(hdfs.failover(), "nn2")
            self.assertEqual(hdfs.namenode_state("nn1"), "standby")
            wait_for("the second to serve", lambda: can_read(hdfs, "/tmp/a", DATA))
            self.assertEqual(standby.get("/tmp/a", length=9), DATA[:9])
            hdfs.put("/tmp/b", b"written to the second")

            hdfs.kill_namenode(2)
            self.assertEqual(hdfs.failover(), "nn1")
            wait_for("the first to serve what was written to the second",
                     lambda: can_read(hdfs, "/tmp/b", b"written to the second"))
            hdfs.restart_namenode(2)
            self.assertEqual(hdfs.namenode_state("nn2"), "standby")


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hadoop-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.dir = os.path.join(self.folder, "hdfs")

    def stop_at_the_end(self):
        self.addCleanup(lambda: os.path.exists(self.dir) and tool("stop", "--dir", self.dir))

    @pytest.mark.long
    def test_it_survives_its_shell_is_shown_started_again_with_its_data_and_removed(self):
        self.stop_at_the_end()
        out, _ = tool("start", "--dir", self.dir, "--datanodes", "1", "--block-size", "1m")
        self.assertIn("export HADOOP_CONF_DIR=%s\n" % os.path.join(self.dir, "conf"), out)
        hdfs = Hdfs.attach(self.dir)
        pids = {d["name"]: d["pid"] for d in hdfs.daemons()}
        sessions = {os.getsid(pid) for pid in pids.values()}
        self.assertEqual(sessions, set(pids.values()))
        hdfs.put("/tmp/a", b"a")
        table, _ = tool("status", "--dir", self.dir)
        self.assertRegex(table, r"nn1 +serving +%d .*%s" % (pids["nn1"], hdfs.urls[0][7:]))
        self.assertRegex(table, r"dn1 +up +%d " % pids["dn1"])

        again, _ = tool("start", "--dir", self.dir, "--datanodes", "1", "--block-size", "1m")
        self.assertIn("serves", again)
        self.assertEqual(pids, {d["name"]: d["pid"] for d in Hdfs.attach(self.dir).daemons()})
        _, error = tool("start", "--dir", self.dir, "--datanodes", "3", code=1)
        self.assertIn("was started with datanodes = 1 (expected 3)", error)

        tool("kill", "dn1", "--dir", self.dir)
        table, _ = tool("status", "--dir", self.dir, code=1)
        self.assertRegex(table, r"dn1 +down +-")
        tool("up", "dn1", "--dir", self.dir)

        tool("stop", "--keep", "--dir", self.dir)
        self.assertFalse([pid for pid in pids.values() if is_alive(pid)])
        tool("start", "--dir", self.dir, "--datanodes", "1", "--block-size", "1m")
        self.assertEqual(Hdfs.attach(self.dir).get("/tmp/a"), b"a")
        tool("stop", "--dir", self.dir)
        self.assertFalse(os.path.exists(self.dir))
        out, _ = tool("stop", "--dir", self.dir)
        self.assertIn("nothing to stop", out)

    def test_a_port_asked_for_that_is_taken_is_named_and_nothing_is_left_running(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            _, error = tool("start", "--dir", self.dir, "--http-port", str(port), code=1)
        self.assertIn("port %d is taken" % port, error)
        self.assertFalse([d for d in Hdfs.attach(self.dir).daemons() if d["pid"]]
                         if os.path.exists(os.path.join(self.dir, "state.json")) else [])

    def test_a_folder_with_other_things_in_it_is_left_alone(self):
        os.makedirs(self.dir)
        with open(os.path.join(self.dir, "thesis"), "w") as f:
            f.write("years of work")
        _, error = tool("start", "--dir", self.dir, code=1)
        self.assertIn("has other files (thesis)", error)
        _, error = tool("status", "--dir", self.dir, code=1)
        self.assertIn("no HDFS was started", error)
        self.assertEqual(os.listdir(self.dir), ["thesis"])

    def test_a_folder_whose_name_hadoop_cannot_handle_is_refused_before_anything_runs(self):
        for name in ("a b", "a,b", "a:b", "a%b", "a\nb"):
            with self.assertRaisesRegex(HadoopError, "Hadoop does not support"):
                Hdfs.start(dir=os.path.join(self.folder, name))
        self.assertEqual(os.listdir(self.folder), [])

    def test_without_a_network_it_says_which_files_to_put_where(self):
        settings = os.path.join(self.folder, ".m2")
        os.makedirs(settings)
        with open(os.path.join(settings, "settings.xml"), "w") as f:
            f.write("<settings><offline>true</offline></settings>")
        cache = os.path.join(self.folder, "cache")
        _, error = tool("start", "--dir", self.dir, code=1, ESPALIER_CACHE=cache,
                        MAVEN_OPTS="-Duser.home=" + self.folder)
        self.assertIn("Maven could not fetch Hadoop's jars", error)
        self.assertRegex(error, "put the files listed in .*hadoop_jars.sha256 into %s" %
                         re.escape(cache))
        self.assertIn("offline", error)

    @pytest.mark.long
    def test_a_daemon_that_cannot_have_its_port_says_so_and_the_others_are_ended(self):
        self.stop_at_the_end()
        hdfs = Hdfs.start(dir=self.dir, datanodes=1)
        hdfs.stop(keep=True)
        host, port = hdfs.daemon("nn1")["rpc"].split(":")
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind((host, int(port)))
            taken.listen()
            with self.assertRaisesRegex(HadoopError, "nn1 ended: the address .*%s is taken" % port):
                Hdfs.start(dir=self.dir, datanodes=1)
        self.assertFalse([d["name"] for d in Hdfs.attach(self.dir).daemons() if d["pid"]])

    @pytest.mark.long
    def test_stop_ends_no_process_that_was_given_the_id_of_a_daemon(self):
        stranger = subprocess.Popen(["sleep", "60"])
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        hdfs = Hdfs.start(dir=self.dir, datanodes=1)
        hdfs.kill("dn1", signal.SIGTERM)
        hdfs.daemon("dn1").update(pid=stranger.pid, birth=1)
        hdfs.save()
        tool("stop", "--dir", self.dir)
        stranger.send_signal(signal.SIGUSR1)  # ends only a process that still lives
        self.assertEqual(stranger.wait(), -signal.SIGUSR1)


class ProblemsTest(unittest.TestCase):
    """Missing parts of a machine, without a daemon."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hadoop-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, text=""):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        return path

    def test_a_java_too_old_is_not_taken_and_a_failed_installation_tells_what_was_said(self):
        os.chmod(self.write("jdk8/bin/java"), 0o755)
        self.write("jdk8/release", 'IMPLEMENTOR="x"\nJAVA_VERSION="1.8.0_392"\n')
        self.assertEqual(hadoop_jars.java_version(os.path.join(self.folder, "jdk8")), 8)
        fails = "#!/bin/sh\necho setup: not root and no sudo >&2\nexit 1\n"
        os.chmod(self.write("tools/setup", fails), 0o755)
        homes = mock.patch.object(hadoop_jars, "java_homes",
                                  lambda: [os.path.join(self.folder, "jdk8")])
        with homes, mock.patch.object(hadoop_jars, "ROOT", self.folder):
            with self.assertRaisesRegex(HadoopError, "(?s)a Java 11 to 17 is missing.*no sudo"):
                hadoop_jars.java_home(lambda words: None)

    def test_a_jar_that_is_not_as_listed_is_refused_by_name_and_hash(self):
        wanted = {"a.jar": hashlib.sha256(b"a").hexdigest(), "b.jar": "0" * 64}
        self.write("a.jar", "a")
        with self.assertRaisesRegex(HadoopError, "did not fetch b.jar"):
            hadoop_jars.check_jars(self.folder, wanted)
        self.write("b.jar", "b")
        with self.assertRaisesRegex(HadoopError, "b.jar is not the expected file.* expected 0000"):
            hadoop_jars.check_jars(self.folder, wanted)
        wanted["b.jar"] = hashlib.sha256(b"b").hexdigest()
        hadoop_jars.check_jars(self.folder, wanted)
        self.write("c.jar")
        with self.assertRaisesRegex(HadoopError, "fetched c.jar, which .* does not list"):
            hadoop_jars.check_jars(self.folder, wanted)

    def test_too_full_a_disk_is_told_before_anything_starts(self):
        usage = collections.namedtuple("usage", "total used free")(1 << 40, 1 << 40, 9 << 20)
        with mock.patch.object(hadoop_state.shutil, "disk_usage", lambda _: usage):
            with self.assertRaisesRegex(HadoopError, r"has 9 MB free \(expected 512 MB\)"):
                hadoop_state.check_disk(self.folder)

    def test_the_end_of_a_daemon_is_explained_from_its_log(self):
        cases = [
            ("x ERROR NameNode: java.net.BindException: Problem binding to [localhost:8020] "
             "java.net.BindException: Address already in use", "localhost:8020 is taken"),
            ("java.io.IOException: No space left on device", "the disk is full"),
            ("Error occurred during initialization of VM\nCould not reserve enough space for "
             "196608KB object heap", "not enough memory"),
            ("java.io.IOException: Incompatible clusterIDs in /d", "data belong to another HDFS"),
            ("x INFO a: fine\nx ERROR b: the reason\nx INFO SHUTDOWN_MSG", "the reason"),
            ("", "its log is empty"),
        ]
        for text, words in cases:
            # Lines of an earlier run in the same log are not the reason.
            daemon = {"log": self.write("log", "No space left on device\n" + text), "log_from": 24}
            self.assertIn(words, hadoop_daemons.why_ended(daemon))

    def test_a_state_of_another_version_is_not_guessed_at(self):
        for text in ("", "[]", '{"format": 2}'):
            self.write("state.json", text)
            with self.assertRaisesRegex(HadoopError, "cannot read .*state.json"):
                Hdfs.attach(self.folder)


if __name__ == "__main__":
    unittest.main()
