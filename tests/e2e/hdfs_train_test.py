"""Training from and into a real HDFS, and the messages if something is wrong."""
import os
import re
import signal
import time
import unittest

import pytest

from espalier import Cluster, wait_for
from hdfs_jobs import HOSTS, HdfsTest, csv_text, start_hdfs, table

import parquet_file  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("storage")

FIRST_CONTACT_S = 10  # limit for an HDFS that never answers
LATE_S = 10           # on a machine that is busy


def watches_for(pid, number):
    """Returns whether the program handles this signal, and blocks it to read it from a file.

    Before it is executed, its process is a copy of this one and blocks every signal. It also does
    while a library starts its threads. At that time, it does not handle the signal yet.
    """
    if os.readlink("/proc/%d/exe" % pid) == os.readlink("/proc/self/exe"):
        return False
    with open("/proc/%d/status" % pid) as f:
        masks = [int(line.split()[1], 16) for line in f if line.startswith(("SigBlk:", "SigCgt:"))]
    return all(mask >> (number - 1) & 1 for mask in masks)


def setUpModule():
    start_hdfs()


class TrainTest(HdfsTest):
    def test_csv_and_parquet_give_the_weights_of_the_local_files_and_a_whole_bundle(self):
        columns = table(900)
        local = self.write("t.csv", csv_text(columns))
        expected = self.trained("local", local, workers=1)
        parquet_file.write(self.path("t.parquet"), columns, 400)
        with open(self.path("t.parquet"), "rb") as f:
            parquet = self.put("t.parquet", f.read())
        csv = self.put("t.csv", csv_text(columns))
        for name, train in (("csv", csv), ("parquet", parquet)):
            result = self.trained(name, train, output="model " + name)
            self.assertEqual(result["weights_sha256"], expected["weights_sha256"])
            self.assertEqual(result["metrics"], expected["metrics"])
            self.assert_bundle("model " + name, result)

    def test_the_output_named_on_the_command_line_may_be_on_hdfs(self):
        csv = self.put("t.csv", csv_text(table(300)))
        result = self.result("train", self.job("flag", self.spec(csv)), "--workers", 1, "--output",
                             self.uri("flag model"))
        self.assert_bundle("flag model", result)

    def test_a_cluster_is_told_of_hdfs_by_flags_and_replaces_a_bundle(self):
        csv = self.put("t.csv", csv_text(table(600)))
        first = self.trained("first", csv, output="model")
        hadoop = self.hdfs.env()
        for name in hadoop:
            del self.environment[name]
        flags = ["--hadoop-conf-dir", hadoop["HADOOP_CONF_DIR"],
                 "--hadoop-user", hadoop["HADOOP_USER_NAME"]]
        cluster = Cluster(self, 2, flags=flags)
        train = dict(self.spec(csv)["train"], seed=8)
        spec = self.spec(csv, train=train, output={"path": self.uri("model"), "overwrite": True})
        result = cluster.result("submit", self.job("second", spec))
        self.assertNotEqual(result["weights_sha256"], first["weights_sha256"])
        self.assert_bundle("model", result)

    def test_check_sees_the_same_as_on_the_local_disk(self):
        columns = table(700)
        local = self.write("t.csv", csv_text(columns))
        reports = []
        for name, train in (("local", local), ("hdfs", self.put("t.csv", csv_text(columns)))):
            job = self.job(name, self.spec(train, name="j", output=self.uri("model")))
            reports.append(self.result("check", job))
        hosts = [report.pop("hosts") for report in reports]
        self.assertEqual(reports[0], reports[1])
        self.assertEqual(hosts, [{}, dict.fromkeys(HOSTS, os.path.getsize(local))])
        train = next(s for s in reports[1]["sets"] if s["name"] == "train")
        self.assertEqual(train["files"], 1)
        self.assertGreater(reports[1]["shards"], 3)
        self.assertEqual(self.names(), ["t.csv"], "a check writes nothing")

    def test_check_shows_what_lies_near_each_worker_of_a_cluster(self):
        cluster = Cluster(self, 1)
        cluster.start_worker("localhost")
        cluster.wait_for_workers(2)
        text = csv_text(table(500))
        job = self.job("near", self.spec(self.put("t.csv", text)))
        report = cluster.result("check", job)
        near = {w["name"]: (w["shards"], w["bytes"]) for w in report["workers"]}
        self.assertEqual(near.pop("localhost"), (report["shards"], len(text)))
        self.assertEqual(list(near.values()), [(0, 0)])
        out, _ = cluster.espalier("check", job)
        self.assertRegex(out, "worker-[12]  localhost +127.0.0.1:[0-9]+ +%d of %d " %
                         (report["shards"], report["shards"]))
        cluster.stop()
        out, err = cluster.espalier("check", job)
        self.assertIn("near the data: ", out)
        self.assertIn("note: what lies near the workers is not shown: ", err)


class NamesTest(HdfsTest):
    def test_any_name_is_read_and_written(self):
        names = ["a b", "50%", "a%20b", "größe-表", "a+b&c=d;e", "a#b?c", "[1]*", "{a,b}",
                 "'quoted'", '"', "\\n", " ", "a@b~$^`|<>"]
        local, remote = [], []
        for seed, name in enumerate(names):
            text = csv_text(table(40, seed))
            os.mkdir(self.path(name))
            local.append(self.write("%s/%s.csv" % (name, name), text))
            remote.append(self.put("%s/%s.csv" % (name, name), text))
        expected = self.trained("local", local)
        for i, output in enumerate(["models %20/größe & 50% [1]", "?#"]):
            result = self.trained("names-%d" % i, remote, output=output)
            self.assertEqual(result["weights_sha256"], expected["weights_sha256"])
            self.assert_bundle(output, result)
        missing = self.uri("a 50% b.csv")
        self.assertEqual(self.refused("missing", self.spec(missing)),
                         "data.train: cannot look up '%s': it does not exist" % missing)

    def test_markers_hidden_files_and_files_in_flight_are_left_out(self):
        text = csv_text(table(300))
        for name in ("part-00000.csv", "part-00001.csv"):
            self.put("data/" + name, text)
        for name in ("_SUCCESS", "_committed_1", ".part-00000.csv.crc", ".hidden.csv",
                     "part-00002.csv._COPYING_", "_temporary/0/part-00000.csv"):
            self.put("data/" + name, "this is no table\n")
        self.write("part-00000.csv", text)
        self.write("part-00001.csv", text)
        expected = self.trained("local", [self.path("part-00000.csv"), self.path("part-00001.csv")])
        for name, pattern in (("directory", "data"), ("pattern", "data/*"),
                              ("braces", "data/part-{00000,00001}.csv")):
            result = self.trained(name, self.uri(pattern))
            self.assertEqual(result["weights_sha256"], expected["weights_sha256"], pattern)

    @pytest.mark.long
    def test_five_hundred_part_files_are_one_table(self):
        os.mkdir(self.path("parts"))
        for i in range(500):
            self.write("parts/part-%05d.csv" % i, csv_text(table(8, seed=i)))
        done = self.hdfs.run("dfs", "-Ddfs.replication=1", "-put", "-t", "8", self.path("parts"),
                             self.home)
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = self.trained("local", self.path("parts"))
        result = self.trained("parts", self.uri("parts"), output="model")
        self.assertEqual(result["weights_sha256"], expected["weights_sha256"])
        self.assert_bundle("model", result)
        self.assertEqual(len(self.names("/parts")), 500)


class RefusalTest(HdfsTest):
    def assert_says(self, key, message):
        """Checks as Says of tests/testing/says.h: the pieces between " ... ", the first at the
        start."""
        self.assertRegex(message, "^" + ".*".join(map(re.escape, key.split(" ... "))))

    def test_input_that_is_not_there_or_not_what_it_should_be_is_named(self):
        self.put("file.csv", csv_text(table(10)))
        self.hdfs.files.mkdirs(self.home + "/empty")
        self.hdfs.files.mkdirs(self.home + "/nested/inner")
        left_out = " ... _ or . and *._COPYING_"
        for i, (name, message) in enumerate([
                ("no.csv", "data.train: cannot look up '%s': it does not exist"),
                ("no/*.csv", "data.train: no file matches '%s'" + left_out),
                ("empty", "data.train: no file matches '%s'" + left_out),
                ("nested", "data.train: '%s' holds the directory 'inner' ... not read "
                 "... name=value ... '%s/*.csv' and '%s/*/*.csv'"),
                ("file.csv/part", "data.train: cannot look up '%s': it does not exist")]):
            uri = self.uri(name)
            for command in ("train", "check"):
                said = self.refused("%s-%d" % (command, i), self.spec(uri), command)
                self.assert_says(message.replace("%s", uri), said)

    def test_a_directory_where_a_file_is_meant_is_opened_as_a_table(self):
        """Spark writes directories with names like t.csv."""
        text = csv_text(table(300))
        expected = self.trained("local", self.write("t.csv", text))
        self.put("data/t.csv/part-00000.csv", text)
        result = self.trained("directory", self.uri("data/*.csv"))
        self.assertEqual(result["weights_sha256"], expected["weights_sha256"])

    def test_what_is_forbidden_is_said_with_the_user_and_how_to_be_another(self):
        csv = self.put("closed/t.csv", csv_text(table(50)))
        self.hdfs.files.call("PUT", "SETPERMISSION", self.home + "/closed", permission="700")
        self.environment["HADOOP_USER_NAME"] = "nobody"
        said = self.refused("closed", self.spec(csv))
        self.assertRegex(said, "^data.train: cannot look up '%s': permission denied as the user "
                         "'nobody' \\(.*\\); HADOOP_USER_NAME sets the user$" % csv)
        local = self.write("t.csv", csv_text(table(50)))
        said = self.refused("output", self.spec(local, output=self.uri("closed/model")))
        self.assertRegex(said, "^output <- cannot look up '%s': permission denied as the user "
                         "'nobody' \\(.*\\); HADOOP_USER_NAME sets the user$" %
                         self.uri("closed/model"))
        said = self.refused("write", self.spec(local, output=self.uri("model")))
        self.assertRegex(said, "^output: the coordinator cannot write to %s <- cannot make the "
                         "directory '%s\\.model\\.probe-.*': permission "
                         "denied as the user 'nobody' \\(" %
                         (self.uri("")[:-1], self.uri("")))

    def test_an_output_is_replaced_only_when_it_is_a_bundle_and_that_is_allowed(self):
        csv = self.put("t.csv", csv_text(table(50)))
        mend = " ... overwrite ... another place"
        self.put("other/notes.txt", "mine")
        self.put("file", "mine")
        self.put("weights/weights.safetensors", "mine")
        for i, (name, overwrite, message) in enumerate([
                ("other", False, "output: %s already exists ... {path: %s, overwrite: true}"),
                ("other", True, "output: %s holds 'notes.txt' ... not part of a bundle" + mend),
                ("weights", True, "output: %s holds no model.json" + mend),
                ("file", True, "output: %s is a file" + mend)]):
            uri = self.uri(name)
            spec = self.spec(csv, output={"path": uri, "overwrite": overwrite})
            self.assert_says(message.replace("%s", uri), self.refused("output-%d" % i, spec))
        self.assertEqual(self.hdfs.get(self.home + "/other/notes.txt"), b"mine")
        said = self.refused("below", self.spec(csv, output=self.uri("file/model")))
        self.assertIn("is a file, not a directory", said)
        said = self.refused("colon", self.spec(csv, output=self.uri("run-10:00")))
        self.assertIn("choose another name for it <- cannot make the directory", said)
        self.assertIn("run-10:00", said)

    def test_addresses_that_are_not_the_name_nodes_http_port_are_explained(self):
        node = self.hdfs.daemon("nn1")
        advice = "9870 ... webhdfs://HOST:PORT/PATH ... HADOOP_CONF_DIR"
        data_node = self.hdfs.daemon("dn1")
        as_rpc, as_data_node = "answers as an RPC port", "answers as a DataNode"
        for address, how in ((node["rpc"], as_rpc), (data_node["rpc"], as_rpc),
                             (data_node["http"], as_data_node)):
            uri = "webhdfs://%s/t.csv" % address
            self.assert_says("data.train: cannot look up '%s': the NameNode %s %s ... from the URI "
                             "... %s" % (uri, address, how, advice),
                             self.refused("port", self.spec(uri)))
            said = self.refused("output", self.spec(self.write("t.csv", csv_text(table(50))),
                                                    output="webhdfs://%s/model" % address))
            self.assertIn(how, said)
        csv = self.put("t.csv", csv_text(table(300)))
        whole = csv.replace("hdfs://", "webhdfs://" + node["http"])
        self.assertEqual(self.trained("http", whole)["status"], "SUCCEEDED")
        del self.environment["HADOOP_CONF_DIR"]
        said = self.refused("default", self.spec(csv))
        self.assertIn("fs.defaultFS is not set: ", said)
        self.assertIn("HADOOP_CONF_DIR", said)
        self.assertTrue(said.endswith("hdfs://HOST:PORT/PATH"), said)

    @pytest.mark.long
    def test_an_hdfs_that_is_away_ends_each_command_in_time_with_one_error(self):
        """All run at once, because each waits for its whole deadline."""
        csv = self.put("t.csv", csv_text(table(50)))
        http, conf = self.hdfs.daemon("nn1")["http"], self.hdfs.conf_dir
        unreached = ["cannot look up '%s': the NameNode %s cannot be reached: " % (csv, http),
                     "; is HDFS running there? (its address is from dfs.namenode.http-address)",
                     "given up after "]
        unknown = "hdfs://no-such-service.invalid/t.csv"
        unresolved = ["the NameNode no-such-service.invalid:9870 cannot be reached: its name ",
                      "the default port: no dfs.namenode.http-address ",
                      "'%s' belongs to no-such-service.invalid)" % conf, "given up after "]
        blocks = "webhdfs://%s/t.csv" % self.hdfs.daemon("dn1")["data"]
        mute = ["cannot look up '%s': the NameNode %s broke off: " %
                (blocks, self.hdfs.daemon("dn1")["data"]),
                "HTTP port, 9870 by default", "given up after "]
        cluster = Cluster(self, 1)
        self.addCleanup(self.hdfs.wait_ready)
        self.addCleanup(self.hdfs.start_namenode)
        self.hdfs.stop_namenode()
        started, running = time.monotonic(), []
        for command, source, parts in (("train", csv, unreached), ("check", csv, unreached),
                                       ("submit", csv, unreached), ("train", unknown, unresolved),
                                       ("train", blocks, mute)):
            job = self.job("away-%d" % len(running), self.spec(source))
            more = ["--coordinator", cluster.address] if command == "submit" else []
            running.append((command, self.start(command, job, *more), parts))
        stopped = self.start("train", self.job("stopped", self.spec(csv)))
        wait_for("signals to be watched for", lambda: watches_for(stopped.pid, signal.SIGINT))
        stopped.send_signal(signal.SIGINT)
        for command, process, parts in running:
            with self.subTest(command, parts=parts):
                _, err = process.communicate(timeout=60)
                self.assertLess(time.monotonic() - started, FIRST_CONTACT_S + LATE_S)
                for part in parts:
                    self.assertIn(part, err)
                self.assertEqual(err.count("error:"), 1, err)
                self.assertEqual(process.returncode, 1, err)
        with self.subTest("Ctrl-C while it waits"):
            _, err = stopped.communicate(timeout=1)
            self.assertEqual(stopped.returncode, 130, err)

    @pytest.mark.long
    def test_submissions_in_safe_mode_end_with_it_as_the_reason_and_nothing_starts_later(self):
        csv = self.put("t.csv", csv_text(table(100)))
        local = self.spec(self.write("t.csv", csv_text(table(100))))
        cluster = Cluster(self, 1)
        with self.safe_mode():
            stuck = [cluster.start("submit", self.job("stuck-%d" % i, self.spec(
                csv, output=self.uri("stuck-%d/m" % i)))) for i in range(3)]
            train = self.start("train", self.job("train", self.spec(csv, output=self.uri("t/m"))))
            stopped = cluster.start("submit", self.job("stopped", self.spec(
                csv, output=self.uri("stopped/m"))))
            wait_for("all to wait", lambda: all(
                "%s' yet: " % self.uri(name) in cluster.log("coordinator")
                for name in ("stuck-0", "stuck-1", "stuck-2", "stopped")))
            done = cluster.result("submit", self.job("local", local))
            self.assertEqual(done["status"], "SUCCEEDED")
            stopped.send_signal(signal.SIGINT)
            _, err = stopped.communicate(timeout=30)
            self.assertEqual(stopped.returncode, 130, err)
            self.assertIn("the submission is withdrawn", err)
            for process in stuck + [train]:
                _, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 1, err)
                self.assertRegex(err, "^error: .*is in safe mode.*; given up after ")
                self.assertEqual(len(err.splitlines()), 1, err)
        jobs = cluster.result("list")["jobs"]
        self.assertEqual([job["name"] for job in jobs], ["local"])


if __name__ == "__main__":
    unittest.main()
