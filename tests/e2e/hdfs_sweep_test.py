"""`espalier sweep` over a table on a real HDFS: its workers read it once, and each job gives the
bytes that it gives alone."""
import json
import re
import unittest

import pytest

from espalier import Cluster, json_lines
from hdfs_jobs import HdfsTest, csv_text, start_hdfs, table

pytestmark = pytest.mark.covers("storage")

ROWS = 3000


def setUpModule():
    start_hdfs()


def read_of(log):
    """Returns [fetched, cached] of each job, in the program's own words."""
    return re.findall(r"(job-\d+) has read (.+) of its input from where it lies and (.+) from the "
                      "cache", log)


class HdfsSweepTest(HdfsTest):
    def sweep(self, output=None, **workers):
        spec = self.spec(self.put("t.csv", csv_text(table(ROWS))), name="houses")
        del spec["data"]["validation"]
        if workers:
            spec["workers"] = workers
        return self.write("sweep.yaml", json.dumps({
            "job": spec, "output": output or self.path("out"), "folds": 2, "parallel": 1,
            "grid": {"model.hidden": [[4], [16, 8]]}}))

    def runs(self, cluster, sweep):
        out, _ = cluster.espalier("sweep", sweep, "--json")
        result = json_lines(out)[-1]
        self.assertEqual(result["status"], "SUCCEEDED", result)
        return [run["bundle"] for trial in result["trials"] for run in trial["runs"]]

    def test_the_data_is_read_once_and_the_models_are_those_of_jobs_that_read_it_themselves(self):
        cluster = Cluster(self, workers=2)
        bundles = self.runs(cluster, self.sweep())
        self.assertEqual(len(bundles), 4)
        for name in cluster.workers:
            reads = read_of(cluster.log(name))
            self.assertEqual([job for job, _, _ in reads], ["job-%d" % n for n in range(1, 5)])
            self.assertIn("KiB", reads[0][1])
            # At most the byte that shows that a job may read the data that it takes over.
            for _, fetched, _ in reads[1:]:
                self.assertIn(fetched, ["0 B", "1 B"])
            # The second fold is parsed from the cache. The rows of the other trial are already
            # parsed.
            self.assertIn("KiB", reads[1][2])
            parsed = re.findall(r"job-\d+ has parsed (\d+) of its shards itself and taken over "
                                r"(\d+) that", cluster.log(name))
            shards = parsed[0][0]
            self.assertGreater(int(shards), 0)
            self.assertEqual(parsed, 2 * [(shards, "0")] + 2 * [("0", shards)])
        for bundle in bundles:
            with open(bundle + "/model.json") as f:
                model = json.load(f)
            spec = self.spec(self.uri("t.csv"), name="houses")
            spec["data"]["validation"] = {"fold": model["spec"]["data"]["validation"]["fold"],
                                          "of": 2}
            spec["model"] = {"task": "classification", "hidden": model["spec"]["model"]["hidden"]}
            name = "alone-" + bundle.replace("/", "-")[-20:]
            alone = cluster.result("submit", self.job(name, spec))
            self.assertEqual(alone["weights_sha256"], model["weights_sha256"])
        self.assertEqual(len(read_of(cluster.log("node-1"))), 4, "others do not use the cache")

    @pytest.mark.long
    def test_a_table_that_changes_between_two_sweeps_is_read_anew(self):
        cluster = Cluster(self, workers=1)
        self.runs(cluster, self.sweep())
        self.hdfs.put(self.home + "/t.csv", csv_text(table(ROWS + 1)).encode(), overwrite="true")
        spec = self.spec(self.uri("t.csv"), workers={"cache_input": True})
        cached = cluster.result("submit", self.job("cached", spec))
        del spec["workers"]
        alone = cluster.result("submit", self.job("alone", spec))
        self.assertEqual(cached["weights_sha256"], alone["weights_sha256"])
        _, fetched, _ = read_of(cluster.log("node-1"))[-1]
        self.assertIn("KiB", fetched)

    def test_who_may_not_write_where_the_daemons_do_is_shown_the_table_and_keeps_none(self):
        cluster = Cluster(self, workers=1)
        sweep = self.sweep(self.uri("out"))
        self.environment["HADOOP_USER_NAME"] = "bob"
        for waiting in (4, 0):
            out, err = cluster.espalier("sweep", sweep, "--json")
            table = json_lines(out)[-1]
            self.assertEqual((table["status"], len(table["inputs"])), ("SUCCEEDED", 1))
            self.assertEqual(len(json_lines(out)), waiting + 1)
            self.assertEqual(err.count("the table is not kept"), 1, err)
            self.assertEqual(self.hdfs.files.names(self.home + "/out"), ["trial-001", "trial-002"])

    @pytest.mark.long
    def test_a_sweep_that_shall_not_keep_anything_reads_again(self):
        cluster = Cluster(self, workers=1)
        self.runs(cluster, self.sweep(cache_input=False))
        self.assertEqual(read_of(cluster.log("node-1")), [])


if __name__ == "__main__":
    unittest.main()
