"""Predictions and evaluations by a cluster from and to a real HDFS, with a worker killed in the
middle: the bytes of a local run."""
import os
import unittest

import pytest

from espalier import json_lines
from hdfs_jobs import HdfsTest, csv_text, start_hdfs, table
from scoring_jobs import files_of, outcome, slow_scoring_cluster, wait_for_scoring

pytestmark = pytest.mark.covers("scoring", "storage")

ROWS = 40_000  # some 60 shards
REJECTED = 5


def setUpModule():
    start_hdfs()


class ScoringTest(HdfsTest):
    def setUp(self):
        """Returns a model, and a table with some invalid rows."""
        super().setUp()
        spec = self.spec(self.put("t.csv", csv_text(table(300))), output=self.uri("model"),
                         model={"task": "classification", "hidden": [16]},
                         train={"batch": 100, "leaves": 4, "epochs": 1, "seed": 7})
        spec["data"]["shard_bytes"] = 16 << 10
        self.result("train", self.job("model", spec), "--workers", 1)
        os.mkdir(self.path("model"))
        for name in self.names("/model"):
            with open(self.path("model", name), "wb") as f:
                f.write(self.hdfs.get("%s/model/%s" % (self.home, name)))
        lines = csv_text(table(ROWS, seed=4)).splitlines()
        for row in range(ROWS // 10, ROWS, ROWS // REJECTED):
            lines[row] = "true,1,two,3,low"
        text = "\n".join(lines) + "\n"
        self.there, self.here = self.put("new.csv", text), self.write("new.csv", text)

    def files_there(self, name):
        """Returns name and bytes of all files that a directory on HDFS contains."""
        found = {}
        for child in self.names("/" + name):
            path = "%s/%s" % (name, child)
            if child == "_rejects":
                found.update(self.files_there(path))
            else:
                found[path.split("/", 1)[1]] = self.hdfs.get("%s/%s" % (self.home, path))
        return found

    def killed_in_the_middle(self, *arguments):
        """Returns the result of a command on a cluster that loses a worker meanwhile."""
        cluster = slow_scoring_cluster(self, 3)
        out, _ = cluster.espalier(*arguments, "--detach", "--json")
        job = json_lines(out)[0]["job"]
        wait_for_scoring(cluster, job)
        cluster.workers["node-2"].kill()
        result = outcome(cluster, job)
        self.assertEqual(result["status"], "SUCCEEDED", result)
        self.assertGreater(cluster.status(job)["generation"], 1)
        cluster.stop()
        return result

    def test_a_prediction_has_the_bytes_of_a_local_one(self):
        for kind in ("csv", "parquet"):
            flags = ["--keep", "a,label", "--format", kind]
            if kind == "csv":
                flags += ["--on-bad-row", "reject"]
            local = self.result("predict", self.path("model"), self.here, "--output",
                                self.path("local-" + kind), *flags)
            self.assertEqual(local["rejected"], REJECTED)
            result = self.killed_in_the_middle("predict", self.uri("model"), self.there,
                                               "--output", self.uri("out-" + kind), *flags)
            self.assertEqual(result["output"], self.uri("out-" + kind))
            for key in ("rows", "rejected", "parts", "format"):
                self.assertEqual(result[key], local[key], key)
            expected = {name: data.replace(self.here.encode(), self.there.encode())
                        for name, data in files_of(self.path("local-" + kind)).items()}
            self.assertIn("_SUCCESS", expected)
            self.assertEqual(any(name.startswith("_rejects") for name in expected),
                             kind == "csv")
            self.assertEqual(self.files_there("out-" + kind), expected)
        self.assertEqual([n for n in self.names() if n.startswith(".")], [])

    def test_an_evaluation_has_the_metrics_and_the_report_of_a_local_one(self):
        local = self.result("evaluate", self.path("model"), self.here, "--report",
                            self.path("local.html"))
        result = self.killed_in_the_middle("evaluate", self.uri("model"), self.there, "--report",
                                           self.uri("report.html"))
        for key in ("rows", "rejected", "metrics"):
            self.assertEqual(result[key], local[key], key)
        self.assertEqual(result["report"], self.uri("report.html"))
        with open(self.path("local.html"), encoding="utf-8") as f:
            page = f.read()
        page = page.replace(self.here, self.there).replace(self.path("model"), self.uri("model"))
        self.assertEqual(self.hdfs.get(self.home + "/report.html").decode(), page)
        self.assertEqual([n for n in self.names() if n.startswith(".")], [])


if __name__ == "__main__":
    unittest.main()
