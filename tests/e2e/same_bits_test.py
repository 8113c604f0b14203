"""The weights are the same bytes for any number of real daemons."""
import hashlib
import os
import unittest

from espalier import Cluster, EspalierTest

# (workers, threads each)
HANDS = [(1, 1), (1, 2), (2, 1), (3, 2), (5, 1)]


class SameBitsTest(EspalierTest):
    def assert_same_bits(self, name, spec):
        first = None
        for workers, threads in HANDS:
            job = self.job("%s-%dx%d" % (name, workers, threads), spec)
            result = self.result("train", job, "--workers", workers, "--threads", threads)
            self.assertEqual(result["status"], "SUCCEEDED", result)
            with open(os.path.join(result["bundle"], "weights.safetensors"), "rb") as f:
                content = f.read()
            self.assertEqual(hashlib.sha256(content).hexdigest(), result["weights_sha256"])
            first = first or (content, result["metrics"])
            self.assertEqual(content, first[0], "%d workers of %d threads" % (workers, threads))
            self.assertEqual(result["metrics"], first[1])
        return result

    def test_a_batch_that_does_not_divide_the_data_and_dropout(self):
        csv = self.classes_csv("a.csv", 1037)
        result = self.assert_same_bits("a", self.classes_spec(csv))
        self.assertEqual(result["epochs"], 3)

    def test_fewer_rows_than_leaves(self):
        csv = self.classes_csv("b.csv", 11)
        spec = self.classes_spec(csv, batch=4)
        del spec["data"]["validation"]
        result = self.assert_same_bits("b", spec)
        self.assertEqual(result["rows_per_epoch"], 11)

    def test_regression_on_houses_with_empty_fields_in_several_shards(self):
        csv = self.houses_csv("c.csv", 900)
        spec = {"data": {"train": csv, "label": "price", "shard_bytes": 4096,
                         "features": {"nulls": "mean"}, "validation": {"fraction": 0.25}},
                "model": {"task": "regression", "hidden": [24, 24], "activation": "tanh"},
                "train": {"batch": 64, "leaves": 8, "epochs": 20, "seed": 3,
                          "schedule": {"cosine": {"warmup": "1 epoch"}}}}
        result = self.assert_same_bits("c", spec)
        # The price follows from the features, so a model that learnt explains most of it.
        self.assertGreater(result["metrics"]["validation"]["r2"], 0.8)
        self.assertLess(result["metrics"]["validation"]["rmse"], 20000)

    def test_double_precision_with_early_stopping(self):
        csv = self.classes_csv("d.csv", 400)
        spec = self.classes_spec(csv, epochs=30, early_stopping={"metric": "val_loss",
                                                                 "patience": 2})
        spec["model"]["precision"] = "float64"
        self.assert_same_bits("d", spec)

    def test_a_cluster_gives_the_bits_of_a_local_run(self):
        csv = self.classes_csv("e.csv", 500)
        local = self.result("train", self.job("local", self.classes_spec(csv)), "--workers", 1)
        cluster = Cluster(self, workers=3)
        there = cluster.result("submit", self.job("there", self.classes_spec(csv)))
        self.assertEqual(there["weights_sha256"], local["weights_sha256"])


if __name__ == "__main__":
    unittest.main()
