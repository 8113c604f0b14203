"""Wide rows with few numbers that are not 0: the same bytes for any workers."""
import csv
import io
import json
import os
import random
import unittest

import pytest

from accounts import trained_through_a_kill_and_a_join
from espalier import Cluster, EspalierTest
from scoring_jobs import files_of
import same_bits_test

pytestmark = pytest.mark.covers("data", "model")

WIDTH, ENTRIES = 5000, 25
MIB = 1 << 20


def libsvm(rows, seed, whole=False, width=WIDTH, entries=ENTRIES):
    """Writes two classes. The features below 40 separate them."""
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
        # An evaluation multiplies in the same way, in its own batches.
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

    def test_a_column_of_years_leaves_the_others_sparse(self):
        chance = random.Random(5)
        lines = ["%s %d:%d\n" % (line, WIDTH + 1, chance.randint(1950, 2025))
                 for line in libsvm(900, 5).splitlines()]
        spec = self.spec(self.write("years.svm", "".join(lines)), width=WIDTH + 1)
        self.assertIs(self.check(spec)["sparse"], True)
        spec["data"]["test"] = self.write("test.svm", "".join(lines[:300]))
        self.assert_same_bits("years", spec)
        result = self.result("train", self.job("once", spec), "--workers", 2)
        scored = self.result("evaluate", result["bundle"], spec["data"]["test"])["metrics"]
        self.assertEqual(scored["accuracy"], result["metrics"]["test"]["accuracy"])
        self.assertAlmostEqual(scored["loss"], result["metrics"]["test"]["loss"], 5)

    def with_categories(self, name, rows, seed):
        """After the numbers, writes a category of 30 values and one of 3, which alone make it easy
        to separate the classes. Some are null."""
        chance = random.Random(seed)
        lines = []
        for line in libsvm(rows, seed).splitlines():
            label, *pairs = line.split(" ")
            entries = {int(pair.split(":")[0]): pair.split(":")[1] for pair in pairs}
            entries.update((60 + chance.randint(0, 9), "nan") for _ in range(chance.randint(0, 1)))
            entries[WIDTH + 1] = chance.randint(0, 29)
            entries[WIDTH + 2] = 2 if chance.random() < 0.1 else int(label == "+1")
            lines.append(" ".join([label] + ["%d:%s" % pair for pair in sorted(entries.items())
                                             if pair[1] != 0]))
        return self.write(name, "\n".join(lines) + "\n")

    def test_categories_and_indicators_of_nulls_leave_the_numbers_sparse(self):
        spec = self.spec(self.with_categories("c.svm", 1537, 5))
        spec["data"]["test"] = self.with_categories("t.svm", 500, 6)
        spec["model"]["dropout"] = 0.1
        # Standardised, the rare ones of this many numbers would have more weight than the
        # categories.
        spec["data"]["features"].update(nulls="mean", scale="none")
        spec["data"]["features"]["groups"] = [
            {"columns": WIDTH + 1, "type": "categorical", "hash": 16, "encode": {"embedding": 3}},
            {"columns": WIDTH + 2, "type": "categorical"},
            {"columns": "60..69", "null_indicator": True, "scale": "standard"}]
        check = self.check(spec)
        self.assertIs(check["sparse"], True)
        # At least float32 numbers, of which each row has some 30.
        self.assertLess(check["rows_bytes"], 2037 * WIDTH * 4 / 30)
        trained = self.assert_same_bits("c", spec)["metrics"]["test"]
        self.assertGreater(trained["accuracy"], 0.8)
        result = self.result("train", self.job("once", spec), "--workers", 2)
        model = result["bundle"]
        scored = self.result("evaluate", model, spec["data"]["test"])["metrics"]
        self.assertEqual(scored["accuracy"], trained["accuracy"])
        self.assertAlmostEqual(scored["loss"], trained["loss"], 5)
        keep = ["--keep", "0", "--keep", "7"]
        for output, threads in (("local", 2), ("one", 1)):
            self.result("predict", model, spec["data"]["test"], "--output", self.path(output),
                        "--threads", threads, *keep)
        self.assertEqual(files_of(self.path("one")), files_of(self.path("local")))
        self.check_as_told_by_a_bundle_of_before(model, spec["data"]["test"], keep)

    def check_as_told_by_a_bundle_of_before(self, model, data, keep):
        """Scored with all zeros, it gives the same as in `local`, except for rounding."""
        with open(os.path.join(model, "model.json"), encoding="utf-8") as f:
            document = json.load(f)
        self.assertIs(document.pop("sparse"), True)
        with open(os.path.join(model, "model.json"), "w", encoding="utf-8") as f:
            json.dump(document, f)
        self.result("predict", model, data, "--output", self.path("dense"), *keep)
        sparse, dense = self.answers("local"), self.answers("dense")
        for one, other in zip(sparse, dense, strict=True):
            self.assertEqual(one[:2], other[:2])
            self.assertEqual(one[2]["error"], other[2]["error"])
            if one[2]["error"]:
                continue
            for column in ("probability_-1", "probability_1"):
                self.assertAlmostEqual(float(one[2][column]), float(other[2][column]), 4)
        self.assertNotEqual(sparse, dense)

    def test_predictions_and_evaluations_are_the_same_bytes_here_and_in_any_cluster(self):
        spec = self.spec(self.write("e.svm", libsvm(1500, 6)))
        self.trained_here("scored", spec)
        model = self.path("scored.bundle")
        lines = libsvm(2500, 8).splitlines()
        lines[70] = "+1 7:many"
        data = self.write("new.svm", "\n".join(lines) + "\n")
        keep = ["--keep", "0", "--keep", "7"]
        local = self.result("predict", model, data, "--output", self.path("local"), *keep)
        self.assertEqual((local["rows"], local["rejected"]), (2499, 1))
        self.assertGreater(local["parts"], 4)
        one = self.result("predict", model, data, "--output", self.path("one"), *keep,
                          "--threads", 1)
        self.assertEqual(one["parts"], local["parts"])
        self.assertEqual(files_of(self.path("one")), files_of(self.path("local")))
        evaluated = self.result("evaluate", model, data)
        for workers in (1, 3):
            cluster = Cluster(self, workers=workers)
            output = self.path("there-%d" % workers)
            done = cluster.result("predict", model, data, "--output", output, *keep)
            self.assertEqual(done["status"], "SUCCEEDED", done)
            self.assertEqual(files_of(output), files_of(self.path("local")))
            there = cluster.result("evaluate", model, data)
            self.assertEqual(there["metrics"], evaluated["metrics"])
        # Without labels, except for one line: the same answers.
        bare = [line.split(" ", 1)[1] for line in lines]
        bare[5] = lines[5]
        unlabelled = self.write("bare.svm", "\n".join(bare) + "\n")
        done = self.result("predict", model, unlabelled, "--output", self.path("bare"),
                           "--keep", "7")
        self.assertEqual((done["rows"], done["rejected"]), (2499, 1))
        for one, other in zip(self.rows("bare"), self.rows("local"), strict=True):
            self.assertEqual(one["7"], other["7"])
            self.assertEqual(one["error"] != "", other["error"] != "")
            if not one["error"]:
                self.assertAlmostEqual(float(one["probability_1"]),
                                       float(other["probability_1"]), 5)
        self.assertEqual(len(self.answers("local")), 2500)
        self.check_as_told_by_a_bundle_of_before(model, data, keep)

    def rows(self, output):
        found = []
        for name, content in sorted(files_of(self.path(output)).items()):
            if name.startswith("part-"):
                found += csv.DictReader(io.StringIO(content.decode()))
        return found

    def answers(self, output):
        """Returns for each row of a prediction in CSV the kept columns, and the whole row."""
        return [(row["0"], row["7"], row) for row in self.rows(output)]

    @pytest.mark.long
    def test_a_worker_killed_and_one_that_joins_change_no_bit(self):
        spec = self.spec(self.write("d.svm", libsvm(3000, 4)), epochs=150)  # 2,850 steps
        spec["model"]["dropout"] = 0.2
        quiet = self.trained_here("quiet", spec)
        done = trained_through_a_kill_and_a_join(self, spec, pause_ms=3)
        self.assertEqual(done["weights_sha256"], quiet["weights_sha256"])
        self.assertEqual(done["metrics"], quiet["metrics"])

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
