"""Wide rows of few numbers that are not 0: the same bytes whoever trains on them."""
import random
import unittest

from espalier import Cluster, EspalierTest
import same_bits_test

WIDTH, ENTRIES = 5000, 25
MIB = 1 << 20


def libsvm(rows, seed, whole=False, width=WIDTH, entries=ENTRIES):
    """Two classes; the features below 40 tell them apart."""
    chance = random.Random(seed)
    lines = []
    for _ in range(rows):
        label = chance.randint(0, 1)
        row = {chance.randint(1, width): chance.randint(1, 200) if whole else
               round(chance.gauss(1, 1), 3) for _ in range(entries)}
        for _ in range(4):
            feature = 2 * chance.randint(1, 19) + label
            row[feature] = 100 if whole else 1.5
        lines.append("%+d %s\n" % (2 * label - 1,
                                   " ".join("%d:%s" % pair for pair in sorted(row.items()))))
    return "".join(lines)


class SparseTest(EspalierTest):
    assert_same_bits = same_bits_test.SameBitsTest.assert_same_bits

    def spec(self, path, width=WIDTH, **train):
        return {"data": {"train": path, "label": 0, "shard_bytes": 65536,
                         "features": {"columns": "1..%d" % width},
                         "validation": {"fraction": 0.2}},
                "model": {"task": "classification", "hidden": [16, 8]},
                "train": dict({"batch": 128, "leaves": 8, "epochs": 3, "seed": 7}, **train)}

    def check(self, spec):
        return self.result("check", self.job("check", spec))

    def test_the_same_bits_with_shifted_columns_and_dropout(self):
        spec = self.spec(self.write("a.svm", libsvm(1537, 1)))
        spec["model"]["dropout"] = 0.2
        self.assertIs(self.check(spec)["sparse"], True)
        spec["data"]["test"] = self.write("t.svm", libsvm(500, 9))
        trained = self.assert_same_bits("a", spec)["metrics"]["test"]
        self.assertGreater(trained["accuracy"], 0.55)
        # Who evaluates reads and multiplies the zeros too.
        result = self.result("train", self.job("again", spec), "--workers", 2)
        scored = self.result("evaluate", result["bundle"], spec["data"]["test"])["metrics"]
        self.assertEqual(scored["accuracy"], trained["accuracy"])
        self.assertAlmostEqual(scored["loss"], trained["loss"], 5)

    def test_the_same_bits_with_bytes_layer_norm_penalties_and_clipping(self):
        spec = self.spec(self.write("b.libsvm", libsvm(700, 2, whole=True)), l1=1e-5,
                         weight_decay=1e-3, clip_norm=1)
        spec["data"]["features"]["scale"] = {"divide": 200}
        spec["model"]["layer_norm"] = True
        self.assertIs(self.check(spec)["sparse"], True)
        self.assert_same_bits("b", spec)

    def test_the_same_bits_from_rows_that_do_not_fit_into_memory_and_of_a_cluster(self):
        spec = self.spec(self.write("c.svm", libsvm(4000, 3, entries=250)))
        spec["data"]["shard_bytes"] = 4 * MIB
        local = self.result("train", self.job("local", spec), "--workers", 1)
        cluster = Cluster(self, 3, worker_flags=["--memory-bytes-max", "1"])
        there = cluster.result("submit", self.job("there", spec))
        self.assertEqual(there["status"], "SUCCEEDED", there)
        self.assertEqual(there["weights_sha256"], local["weights_sha256"])


if __name__ == "__main__":
    unittest.main()
