"""Tests clusters on a real YARN. Part of `tools/test yarn` and `tools/test --all`. The tests cover:

  - clusters that lose containers and nodes, grow and shrink
  - the errors that are reported before a cluster starts
  - the commands of deploy/README.md, as written
"""
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from espalier import ROOT, json_lines, wait_for  # noqa: E402
from hdfs_jobs import BUNDLE, csv_text, table  # noqa: E402
from yarn_jobs import SIZES, STEADY_LIMIT_S, YarnTest, page_blocks, start_yarn  # noqa: E402

import hadoop_yarn  # noqa: E402
import mnist  # noqa: E402

MNIST_EPOCHS = 20  # several minutes, enough for all events of the test
PAGE_LIMIT_S = 600
SECTION = "On YARN: from the tarball to a trained model"


def setUpModule():
    start_yarn(nodes=3)


class MnistTest(YarnTest):
    def digits(self):
        """Copies the training files of MNIST to HDFS. Returns the pattern that matches them."""
        subprocess.run([os.path.join(ROOT, "tools", "setup"), "--npm"], check=True,
                       stdout=subprocess.DEVNULL)
        mnist.main(os.path.join(ROOT, "build"))
        self.hdfs.files.put_folder(self.home + "/mnist", os.path.join(ROOT, "build/mnist/train"))
        return self.uri("mnist/*.csv")

    def mnist_job(self, name, source):
        return self.job(name, {
            "output": self.uri(name),
            "data": {"train": source, "csv": {"header": False}, "label": 0,
                     "features": {"columns": "1..784", "scale": {"divide": 255}},
                     "validation": {"fraction": 0.05}},
            "model": {"task": "classification", "hidden": [256, 256], "dropout": 0.2},
            "train": {"batch": 256, "epochs": MNIST_EPOCHS, "seed": 1}})

    def test_it_goes_on_through_all_and_has_the_bits_of_the_local_run(self):
        source = self.digits()
        local = self.result("train", self.mnist_job("local", source), "--workers", 1)
        self.up("digits", 1, ["--memory", "768MiB", "--coordinator-memory", "512MiB"])
        job = self.submit("digits", self.mnist_job("far", source))
        self.await_steps("digits", job, 5)
        self.yarn("scale", "digits", 3)
        self.attached("digits", 3)
        self.await_steps("digits", job, 5)

        self.kill_container_of("espalier-worker")
        self.await_steps("digits", job, 5)

        before = self.kill_container_of("espalier-coordinator")
        wait_for("another coordinator", lambda: set(self.processes(
            "espalier-coordinator").values()) - {before}, STEADY_LIMIT_S)
        self.await_steps("digits", job, 5)
        self.attached("digits", 3)

        node = self.plain_node()
        self.addCleanup(hadoop_yarn.wait_ready, self.hdfs)
        self.addCleanup(self.hdfs.up, node)
        hadoop_yarn.kill_node(self.hdfs, node)
        self.await_steps("digits", job, 5)
        self.yarn("scale", "digits", 2)
        done = self.outcome("digits", job)
        self.assertEqual(done["weights_sha256"], local["weights_sha256"])
        self.assertEqual(done["metrics"], local["metrics"])
        self.yarn("down", "digits")

    def plain_node(self):
        """Returns a node that runs a worker and no other container of the service."""
        other = {self.node_of(c) for c in hadoop_yarn.containers(self.hdfs).values()
                 if c not in self.processes("espalier-worker").values()}
        workers = {self.node_of(c) for c in self.processes("espalier-worker").values()}
        return sorted(workers - other)[0]


class CoordinatorHostTest(YarnTest):
    def test_the_coordinators_node_is_lost_and_another_one_goes_on_from_its_journal(self):
        csv = self.put("t.csv", csv_text(table(2000)))
        epochs = 1500
        local = self.result("train", self.long_job("local", csv, "local", epochs), "--workers", 1)
        self.up("moved", 2)
        job = self.submit("moved", self.long_job("far", csv, "far", epochs))
        self.await_steps("moved", job, 20)
        # When YARN's application master finds a container ready, it queries the node. If the node
        # is lost at that moment, the master does nothing else for 3 minutes.
        wait_for("the start of all containers", lambda: self.service("moved")["state"] == "STABLE",
                 STEADY_LIMIT_S)
        first = self.service("moved")["coordinator"]
        container, = set(self.processes("espalier-coordinator").values())
        node = self.node_of(container)
        hadoop_yarn.kill_node(self.hdfs, node)
        try:
            wait_for("another coordinator", lambda: set(self.processes(
                "espalier-coordinator").values()) - {container}, STEADY_LIMIT_S)
            wait_for("the answer of the coordinator", lambda: self.state("moved", job),
                     STEADY_LIMIT_S)
            self.assertEqual(self.outcome("moved", job)["weights_sha256"],
                             local["weights_sha256"])
            self.assertNotEqual(self.service("moved")["coordinator"], first)
        finally:
            self.hdfs.up(node)
            hadoop_yarn.wait_ready(self.hdfs)


class LeavingTest(YarnTest):
    def test_a_detached_run_ends_its_cluster_by_itself(self):
        csv = self.put("t.csv", csv_text(table(400)))
        local = self.trained("local", csv)
        job = self.job("far", self.spec(csv, output=self.uri("model")))
        self.services.append("alone")
        out, _ = self.yarn("run", job, "--name", "alone", "--workers", 2, *SIZES, "--detach",
                           "--json")
        said = json_lines(out)[-1]
        self.assertEqual(said["event"], "detached")
        self.assertEqual(self.outcome("alone", said["job"])["weights_sha256"],
                         local["weights_sha256"])
        self.await_empty()
        wait_for("the end of the service", lambda: self.service("alone")["state"] in
                 ("SUCCEEDED", "STOPPED"), STEADY_LIMIT_S)
        out, _ = self.yarn("status", "alone")
        self.assertRegex(out, "service +alone: (SUCCEEDED|STOPPED)")
        self.up("alone", 1)  # the name is free again
        self.yarn("down", "alone")

    def test_who_is_told_to_stop_stops_the_job_and_the_cluster(self):
        csv = self.put("t.csv", csv_text(table(400)))
        job = self.long_job("endless", csv, "endless", 10_000_000)
        self.services.append("endless")
        process = self.start_yarn_command("run", job, "--workers", 1, *SIZES, "--json",
                                          stdin=subprocess.DEVNULL)
        for line in process.stdout:
            if '"progress"' in line and '"step":0' not in line:
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=STEADY_LIMIT_S)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertIn("stopping the job and its cluster", err)
        self.await_empty()
        self.yarn("status", "endless", code=2)

    def test_on_a_terminal_ctrl_c_asks_and_who_detaches_leaves_the_job(self):
        csv = self.put("t.csv", csv_text(table(400)))
        job = self.long_job("asked", csv, "asked", 10_000_000)
        self.services.append("asked")
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        process = self.start_yarn_command("run", job, "--workers", 1, *SIZES, "--json",
                                          stdin=slave, stderr=slave)
        os.close(slave)
        for answer in (b"c\n", b"d\n"):
            for line in process.stdout:  # training continues after `c`
                if '"progress"' in line and '"step":0' not in line:
                    break
            process.send_signal(signal.SIGINT)
            self.await_words(master, b"s: stop the job and end the cluster")
            os.write(master, answer)
        out, _ = process.communicate(timeout=STEADY_LIMIT_S)
        self.assertEqual(process.returncode, 0, out)
        said = json_lines(out)[-1]
        self.assertEqual(said["event"], "detached")
        self.await_steps("asked", said["job"], 20)
        self.yarn("down", "asked")
        self.await_empty()

    def await_words(self, terminal, words):
        seen, end = b"", time.monotonic() + STEADY_LIMIT_S
        while words not in seen:
            self.assertLess(time.monotonic(), end, seen)
            if select.select([terminal], [], [], 1)[0]:
                seen += os.read(terminal, 4096)


class PageTest(YarnTest):
    """Runs the commands of the page in one shell."""

    def test_from_the_tarball_to_a_model_and_with_a_cluster_that_stays(self):
        csv = self.put("t.csv", csv_text(table(400)))
        local = self.trained("local", csv)
        self.job("job", dict(self.spec(csv), output={"path": self.uri("model"),
                                                     "overwrite": True}))
        shutil.copy(self.tarball, self.directory)
        self.services += ["job", "mnist"]
        one_job, stays = page_blocks(SECTION)
        script = one_job + "espalier yarn status job && exit 7\n" + stays
        # Replaces what differs in this small cluster: the memory and the path of the configuration.
        for words, here in (("8GiB", "512MiB"),
                            ("/etc/hadoop/conf", self.environment["HADOOP_CONF_DIR"])):
            self.assertIn(words, script)
            script = script.replace(words, here)
        done = subprocess.run(["sh", "-e", "-c", script], cwd=self.directory, text=True,
                              env=dict(self.environment, HADOOP_CONF_DIR=""), timeout=PAGE_LIMIT_S,
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(local["weights_sha256"]), 2, done.stdout)
        self.assertIn("the cluster job has ended", done.stdout)
        self.assertIn("mnist gets 8 workers; it had 4", done.stdout)
        self.assertRegex(done.stdout, "service +mnist: ")
        self.assertIn("mnist has ended", done.stdout)
        self.assertEqual(sorted(self.hdfs.files.names(self.home + "/model")), BUNDLE)
        self.await_empty()


class ImpatientTest(YarnTest):
    NOTE = "note: the service %s continues in YARN; `espalier yarn down %s` ends it\n"

    def test_who_stops_waiting_for_a_cluster_is_told_that_it_goes_on(self):
        process = self.start_yarn_command("up", "left", *SIZES)
        for line in process.stdout:
            if line.startswith("YARN starts the service left"):
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=STEADY_LIMIT_S)
        self.assertEqual(process.returncode, 130, err)
        self.assertTrue(err.endswith(self.NOTE % ("left", "left")), err)
        self.attached("left", 1)
        self.yarn("down", "left")

        _, err = self.yarn("up", "late", *SIZES, "--wait", "1ms", code=3)
        self.assertIn("the coordinator did not start", err)
        self.assertTrue(err.endswith(self.NOTE % ("late", "late")), err)
        self.attached("late", 1)
        self.yarn("down", "late")
        self.await_empty()


class BadCasesTest(YarnTest):
    def refused(self, *words, code):
        _, err = self.yarn("up", "bad", "--workers", 1, *words, code=code)
        self.assertTrue(err.startswith("error: "), err)
        self.assertEqual(err.count("error: "), 1, err)
        return err

    def test_sizes_queues_and_files_that_cannot_be_are_told_before_anything_runs(self):
        self.assertIn("--memory: found 64, expected 512 to", self.refused("--memory", "64MiB",
                                                                          code=2))
        self.assertRegex(self.refused("--memory", "64GiB", code=2),
                         "--memory: found 65536 MiB, but the largest node .* 3072 MiB")
        self.assertIn("--coordinator-memory: found 256, expected 512 to",
                      self.refused("--coordinator-memory", "256MiB", code=2))
        self.assertRegex(self.refused(*SIZES, "--vcores", 64, code=2),
                         "--vcores: found 64 vcores, but the largest node .* 8 vcores")
        self.assertIn("unknown queue: nowhere", self.refused(*SIZES, "--queue", "nowhere", code=2))
        self.assertIn("cannot look up '%s'" % self.path("no.tar.gz"),
                      self.refused(*SIZES, "--tarball", self.path("no.tar.gz"), code=2))
        self.assertIn("no list of components", self.refused(
            *SIZES, "--service", self.write("service.json", "{\"a\":1}"), code=2))
        self.assertNotIn("bad", self.hdfs.files.names(
            "/user/%s/.espalier/yarn" % self.hdfs.state["user"]))
        self.assertEqual(hadoop_yarn.containers(self.hdfs), {})

    def test_a_name_is_taken_once(self):
        self.up("taken", 1)
        _, err = self.yarn("up", "taken", *SIZES, code=2)
        self.assertIn("a service taken of yours runs already (", err)
        self.assertEqual(self.service("taken")["workers_attached"], 1)
        self.yarn("down", "taken")
        out, _ = self.yarn("down", "taken")
        self.assertIn("there was no service taken", out)

    def test_no_configuration_no_service_of_that_name(self):
        del self.environment["HADOOP_CONF_DIR"]
        self.assertIn("HADOOP_CONF_DIR is not set", self.refused(code=2))
        self.environment["HADOOP_CONF_DIR"] = self.directory
        self.assertIn("holds neither core-site.xml nor hdfs-site.xml", self.refused(code=2))
        self.environment.update(self.hdfs.env())
        for words in (["status"], ["logs"], ["scale", 3]):
            _, err = self.yarn(words[0], "nobody", *words[1:], code=2)
            self.assertIn("Service nobody not found", err)

    def test_the_authorities_of_hdfs_are_looked_at_before_they_are_sent(self):
        self.environment["ESPALIER_HADOOP_CA"] = self.write("store.jks", "no PEM")
        self.assertRegex(self.refused(*SIZES, code=2), "ESPALIER_HADOOP_CA, .*: '%s' holds no "
                         "certificate" % re.escape(self.path("store.jks")))

    def test_without_zookeeper_nothing_is_started(self):
        self.hdfs.kill("zk")
        host, port = self.hdfs.daemon("zk")["rpc"].split(":")

        def listens():
            with socket.socket() as s:
                return s.connect_ex((host, int(port))) == 0
        self.addCleanup(wait_for, "ZooKeeper", listens)
        self.addCleanup(self.hdfs.up, "zk")
        self.assertIn("ZooKeeper does not run at " + self.hdfs.daemon("zk")["rpc"],
                      self.refused(*SIZES, code=3))

    def test_without_hdfs_nothing_is_started(self):
        self.hdfs.stop_namenode()
        self.addCleanup(self.hdfs.wait_ready)
        self.addCleanup(self.hdfs.start_namenode)
        self.assertIn("the NameNode ", self.refused(*SIZES, code=3))
        self.assertEqual(hadoop_yarn.containers(self.hdfs), {})

    def test_services_that_are_switched_off_are_told_with_what_switches_them_on(self):
        hadoop_yarn.set_services(self.hdfs, False)
        self.addCleanup(hadoop_yarn.set_services, self.hdfs, True)
        self.assertIn("set yarn.webapp.api-service.enable to true",
                      self.refused(*SIZES, code=2))
        self.hdfs.kill("rm")
        began = time.monotonic()
        self.assertIn("the ResourceManager http://%s " % self.hdfs.daemon("rm")["http"],
                      self.refused(*SIZES, code=3))
        self.assertLess(time.monotonic() - began, 60)


if __name__ == "__main__":
    unittest.main()
