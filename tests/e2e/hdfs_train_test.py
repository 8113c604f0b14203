"""Training from a real HDFS and into it; what is said when it is not as it should be."""
import contextlib
import hashlib
import json
import os
import random
import signal
import threading
import time
import unittest

from espalier import Cluster, EspalierTest, json_lines

import parquet_file  # in tools/lib, which `espalier` puts on the path
from hadoop import Hdfs

MIB = 1 << 20
HOSTS = ["localhost", "127.0.0.2"]  # of the DataNodes
BUNDLE = ["README.md", "history.csv", "model.json", "weights.safetensors"]
FIRST_CONTACT_S = 10  # until an HDFS that never answered is given up
LATE_S = 10           # on a machine that is busy


def table(rows, seed=3):
    """[(column, values)]: three features and a label that follows from them."""
    chance = random.Random(seed)
    a = [round(chance.gauss(0, 1), 5) for _ in range(rows)]
    b = [float(chance.randint(0, 9)) for _ in range(rows)]
    c = [chance.randint(0, 1000) for _ in range(rows)]
    flag = ["true" if chance.random() < 0.2 else "false" for _ in range(rows)]
    label = ["high" if x + 0.1 * y > 0.5 else "low" for x, y in zip(a, b)]
    return [("flag", flag), ("a", a), ("b", b), ("c", c), ("label", label)]


def csv_text(columns):
    lines = [",".join(name for name, _ in columns)]
    lines += [",".join(map(str, row)) for row in zip(*(values for _, values in columns))]
    return "\n".join(lines) + "\n"


def setUpModule():
    """One HDFS for all tests; each has a directory of its own in it."""
    # A file is closed when the NameNode has been told of its blocks; by default its writer asks
    # again only after 400 ms.
    hdfs = Hdfs.start(block_size=MIB, hosts=HOSTS, settings={
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": 5})
    unittest.addModuleCleanup(hdfs.stop)
    HdfsTest.hdfs = hdfs


class HdfsTest(EspalierTest):
    hdfs = None

    def setUp(self):
        super().setUp()
        self.environment.update(self.hdfs.env())
        self.home = "/" + self.id().rpartition(".")[2][5:45]
        self.hdfs.files.mkdirs(self.home)

    def put(self, name, data):
        """A file in the test's directory; its URI."""
        self.hdfs.put("%s/%s" % (self.home, name), data.encode() if isinstance(data, str) else data)
        return self.uri(name)

    def uri(self, name):
        return "hdfs://%s/%s" % (self.home, name)

    def spec(self, source, **changes):
        return dict({"data": {"train": source, "label": "label", "validation": {"column": "flag"},
                              "shard_bytes": 4096},
                     "model": {"task": "classification", "hidden": [16, 8]},
                     "train": {"batch": 100, "leaves": 16, "epochs": 2, "seed": 7}}, **changes)

    def trained(self, name, source, output=None, workers=2):
        """The result of training; `output` is a name in the test's directory, None: local."""
        spec = self.spec(source)
        if output:
            spec["output"] = self.uri(output)
        return self.result("train", self.job(name, spec), "--workers", workers)

    def refused(self, name, spec, command="train", code=2):
        """What is said of a job that does not run, on standard error and as JSON."""
        out, err = self.espalier(command, self.job(name, spec), "--json", code=code)
        failed = json_lines(out)[-1]
        self.assertEqual(failed["status"], "FAILED")
        self.assertTrue(err.startswith("error: "), err)
        return err.splitlines()[0][len("error: "):]

    def names(self, path=""):
        return sorted(self.hdfs.files.names(self.home + path))

    def assert_bundle(self, name, result):
        """It is whole, it is what was reported, and nothing temporary is left beside it."""
        self.assertEqual(result["bundle"], self.uri(name))
        self.assertEqual(self.names("/" + name), BUNDLE)
        files = {n: self.hdfs.get("%s/%s/%s" % (self.home, name, n)) for n in BUNDLE}
        self.assertEqual(hashlib.sha256(files["weights.safetensors"]).hexdigest(),
                         result["weights_sha256"])
        model = json.loads(files["model.json"])
        self.assertEqual(model["weights_sha256"], result["weights_sha256"])
        self.assertEqual(len(files["history.csv"].decode().splitlines()), 1 + result["epochs"])
        self.assertTrue(files["README.md"])
        temporary = [n for n in self.names() if n.startswith(".") or "writing" in n or
                     "replaced" in n]
        self.assertEqual(temporary, [])


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
        columns = table(500)
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

    def test_a_data_node_killed_in_the_middle_of_the_survey_only_delays(self):
        text = csv_text(table(2000))
        header, rows = text.split("\n", 1)
        local = self.write("big.csv", header + "\n" + rows * 800)
        with open(local, "rb") as f:
            csv = self.put("big.csv", f)
        spec = self.spec(csv, train={"batch": 1000, "steps": 20, "seed": 7}, output=self.uri("m"))
        spec["data"]["shard_bytes"] = MIB
        self.addCleanup(self.hdfs.start_datanode, 1)
        with self.slow_data_nodes():
            process = self.start("train", self.job("killed", spec), "--workers", 2, "--json")
            begun = self.await_event(process, lambda e: e.get("survey_bytes_done"))
            self.hdfs.kill_datanode(1)
        self.assertLess(begun["survey_bytes_done"], begun["input_bytes"])
        self.assertEqual(begun["phase"], None, "this is the survey")
        started = time.monotonic()
        out, err = process.communicate(timeout=90)
        self.assertEqual(process.returncode, 0, err)
        self.assertLess(time.monotonic() - started, 30)
        spec["data"]["train"] = local
        expected = self.result("train", self.job("local", dict(spec, output=self.path("local"))),
                               "--workers", 1)
        result = json_lines(out)[-1]
        self.assertEqual(result["weights_sha256"], expected["weights_sha256"])
        self.assertEqual(self.names("/m"), BUNDLE)

    @contextlib.contextmanager
    def slow_data_nodes(self):
        """They run for a small part of the time, so that a survey lasts."""
        names, over = ["dn1", "dn2"], threading.Event()

        def slow():
            while not over.wait(0.02):
                for name in names:
                    self.hdfs.pause(name)
                over.wait(0.3)
                for name in filter(self.hdfs.alive, names):
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
    def test_input_that_is_not_there_or_not_what_it_should_be_is_named(self):
        self.put("file.csv", csv_text(table(10)))
        self.hdfs.files.mkdirs(self.home + "/empty")
        self.hdfs.files.mkdirs(self.home + "/nested/inner")
        left_out = " (names that start with _ or . and *._COPYING_ are left out)"
        for i, (name, message) in enumerate([
                ("no.csv", "data.train: cannot look up '%s': it does not exist"),
                ("no/*.csv", "data.train: no file matches '%s'" + left_out),
                ("empty", "data.train: no file matches '%s'" + left_out),
                ("nested", "data.train: no file matches '%s'" + left_out),
                ("file.csv/part", "data.train: cannot look up '%s': it does not exist")]):
            uri = self.uri(name)
            for command in ("train", "check"):
                said = self.refused("%s-%d" % (command, i), self.spec(uri), command)
                self.assertEqual(said, message % uri)

    def test_a_directory_where_a_file_is_meant_is_opened_as_a_table(self):
        """Spark writes directories that are called t.csv."""
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
        self.assertRegex(said, "^output: the coordinator cannot write to %s <- cannot write '%s\\."
                         "espalier-probe-.*': permission denied as the user 'nobody' \\(" %
                         (self.uri("")[:-1], self.uri("")))

    def test_an_output_is_replaced_only_when_it_is_a_bundle_and_that_is_allowed(self):
        csv = self.put("t.csv", csv_text(table(50)))
        mend = "; overwrite replaces only a bundle: name another place for the output"
        self.put("other/notes.txt", "mine")
        self.put("file", "mine")
        self.put("weights/weights.safetensors", "mine")
        for i, (name, overwrite, message) in enumerate([
                ("other", False, "output: %s exists already; name another place, or replace it "
                                 "with output: {path: %s, overwrite: true}"),
                ("other", True, "output: %s holds 'notes.txt', which is no part of a bundle" +
                 mend),
                ("weights", True, "output: %s holds no model.json, so it is no bundle" + mend),
                ("file", True, "output: %s is a file" + mend)]):
            uri = self.uri(name)
            spec = self.spec(csv, output={"path": uri, "overwrite": overwrite})
            self.assertEqual(self.refused("output-%d" % i, spec),
                             message.replace("%s", uri))
        self.assertEqual(self.hdfs.get(self.home + "/other/notes.txt"), b"mine")
        said = self.refused("below", self.spec(csv, output=self.uri("file/model")))
        self.assertIn("a part of it is a file, not a directory", said)

    def test_addresses_that_are_not_the_name_nodes_http_port_are_explained(self):
        node = self.hdfs.daemon("nn1")
        advice = ("; name the NameNode's HTTP port, 9870 by default, as webhdfs://HOST:PORT/PATH, "
                  "or give its Hadoop configuration by HADOOP_CONF_DIR")
        uri = "webhdfs://%s/t.csv" % node["rpc"]
        self.assertEqual(self.refused("rpc", self.spec(uri)),
                         "data.train: cannot look up '%s': the NameNode %s is the RPC port, which "
                         "does not serve WebHDFS (its address is from the URI)%s" %
                         (uri, node["rpc"], advice))
        csv = self.put("t.csv", csv_text(table(300)))
        whole = csv.replace("hdfs://", "webhdfs://" + node["http"])
        self.assertEqual(self.trained("http", whole)["status"], "SUCCEEDED")
        del self.environment["HADOOP_CONF_DIR"]
        said = self.refused("default", self.spec(csv))
        self.assertIn("is on the default file system, and fs.defaultFS is not set: ", said)
        self.assertIn("HADOOP_CONF_DIR", said)
        self.assertTrue(said.endswith("or name the host: hdfs://HOST:PORT/PATH"), said)

    def test_an_hdfs_that_is_away_ends_each_command_in_time_with_one_error(self):
        """All at once, because each waits for its whole deadline."""
        csv = self.put("t.csv", csv_text(table(50)))
        http, conf = self.hdfs.daemon("nn1")["http"], self.hdfs.conf_dir
        unreached = ["cannot look up '%s': the NameNode %s cannot be reached: " % (csv, http),
                     "; is HDFS running there? (its address is from dfs.namenode.http-address)",
                     "given up after "]
        unknown = "hdfs://no-such-service.invalid/t.csv"
        unresolved = ["the NameNode no-such-service.invalid:9870 cannot be reached: its name is "
                      "not known (its address is from the URI and the default port: no "
                      "dfs.namenode.http-address in the Hadoop configuration in '%s' belongs to "
                      "no-such-service.invalid)" % conf, "given up after "]
        cluster = Cluster(self, 1)
        self.addCleanup(self.hdfs.wait_ready)
        self.addCleanup(self.hdfs.start_namenode)
        self.hdfs.stop_namenode()
        started, running = time.monotonic(), []
        for command, source, parts in (("train", csv, unreached), ("check", csv, unreached),
                                       ("submit", csv, unreached), ("train", unknown, unresolved)):
            job = self.job("away-%d" % len(running), self.spec(source))
            more = ["--coordinator", cluster.address] if command == "submit" else []
            running.append((command, self.start(command, job, *more), parts))
        stopped = self.start("train", self.job("stopped", self.spec(csv)))
        time.sleep(2)
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


if __name__ == "__main__":
    unittest.main()
