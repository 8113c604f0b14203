"""Several labels per row, and rows that are their own answers, through real daemons: the same bits
for any number of workers, and reports that follow from the predictions."""
import csv
import json
import math
import os
import random
import unittest

import pytest

from espalier import EspalierTest

pytestmark = pytest.mark.covers("data", "model")


class TargetsTest(EspalierTest):
    def labelled_csv(self, name, rows, seed=1, bad=None):
        """Writes three labels that follow from four features. One of them is rare."""
        chance = random.Random(seed)
        lines = ["id,a,b,c,d,hot,wet,rare"]
        for i in range(rows):
            a, b, c, d = (chance.gauss(0, 1) for _ in range(4))
            rare = "%d" % (c > 1.5) if i != bad else "2"
            lines.append("%d,%.5f,%.5f,%.5f,%.5f,%d,%d,%s" %
                         (i, a, b, c, d, a + 0.2 * chance.gauss(0, 1) > 0, b * d > 0.3, rare))
        return self.write(name, "\n".join(lines) + "\n")

    def spec(self, table, task, **train):
        data = {"train": table, "validation": {"fraction": 0.2},
                "features": {"columns": ["a", "b", "c", "d"]}}
        if task == "multilabel":
            data["label"] = ["hot", "wet", "rare"]
        return {"data": data, "model": {"task": task, "hidden": [16], "dropout": 0.1},
                "train": dict({"batch": 100, "leaves": 8, "epochs": 20, "optimizer": {
                    "adam": {"learning_rate": 0.01}}}, **train)}

    def predicted(self, bundle, table, *words):
        self.espalier("predict", bundle, table, "--output", self.path("scored"), "--overwrite",
                      *words)
        rows = []
        for part in sorted(os.listdir(self.path("scored"))):
            if part.startswith("part-"):
                with open(self.path("scored", part), newline="") as f:
                    rows += list(csv.DictReader(f))
        return rows

    def test_labels_have_the_same_bits_and_metrics_that_follow_from_the_predictions(self):
        spec = self.spec(self.labelled_csv("a.csv", 900), "multilabel", epochs=80,
                         early_stopping={"metric": "val_f1_macro", "patience": 30})
        spec["data"]["test"] = table = self.labelled_csv("t.csv", 300, seed=2)
        result = self.same_bits(spec)
        test = result["metrics"]["test"]
        rows = self.predicted(result["bundle"], table, "--keep", "id,hot,wet,rare")
        self.assertEqual([row["id"] for row in rows], ["%d" % i for i in range(300)])
        names, f1, loss, ones = ("hot", "wet", "rare"), [], 0, [0, 0]
        for name in names:
            pairs = [(int(row[name]), int(row["prediction_" + name])) for row in rows]
            both = sum(t * p for t, p in pairs)
            either = sum(t + p for t, p in pairs)
            ones = [ones[0] + both, ones[1] + either]
            f1.append(2 * both / either if either else 0)
            for row in rows:
                p = float(row["probability_" + name])
                loss -= math.log(p if row[name] == "1" else 1 - p) / 900
        right = sum(all(row[n] == row["prediction_" + n] for n in names) for row in rows)
        self.assertAlmostEqual(test["accuracy"], right / 300, places=9)
        self.assertAlmostEqual(test["f1_micro"], 2 * ones[0] / ones[1], places=9)
        self.assertAlmostEqual(test["f1_macro"], sum(f1) / 3, places=9)
        self.assertAlmostEqual(test["loss"], loss, places=4)
        self.assertGreater(test["f1_macro"], 0.6)
        found = {c["class"]: c["f1"] for c in test["per_class"]}
        for name, value in zip(names, f1):
            self.assertAlmostEqual(found[name], value, places=9)
        report = self.path("report.html")
        again = self.result("evaluate", result["bundle"], table, "--report", report)["metrics"]
        for name in ("accuracy", "precision", "recall", "f1", "f1_micro", "f1_macro", "per_class"):
            self.assertEqual(again[name], test[name])
        with open(report) as f:
            text = f.read()
        for words in ("By label", "macro F1", "rare"):
            self.assertIn(words, text)
        with open(os.path.join(result["bundle"], "history.csv")) as f:
            self.assertIn("val_f1_macro", f.readline())

    def test_a_label_that_is_neither_0_nor_1_is_one_clear_error(self):
        table = self.labelled_csv("a.csv", 50, bad=7)
        spec = self.spec(table, "multilabel")
        error = self.result("train", self.job("bad", spec), "--workers", 1, code=1)["error"]
        self.assertIn("the label is neither 0 nor 1", error["message"])
        self.assertEqual((error["row"], error["column"]), (9, "rare"))
        spec["model"]["task"] = "classification"
        _, err = self.espalier("train", self.job("one", spec), "--workers", 1, code=None)
        self.assertIn("found 3 columns, expected one for classification", err)
        spec["model"]["task"] = "autoencoder"
        _, err = self.espalier("train", self.job("none", spec), "--workers", 1, code=None)
        self.assertIn("expected nothing for task autoencoder", err)

    def test_ones_that_weigh_more_are_found_more_often_with_the_same_bits_for_any_workers(self):
        table = self.labelled_csv("w.csv", 900)
        plain = self.trained_here("plain", self.spec(table, "multilabel"))
        spec = self.spec(table, "multilabel", class_weight="balanced")
        found = self.same_bits(spec)
        with open(os.path.join(found["bundle"], "model.json")) as f:
            weights = json.load(f)["preprocessing"]["class_weights"]
        self.assertTrue(0.8 < weights[0] < 1.25 and weights[2] > 8, weights)

        def recall(result):
            return {c["class"]: c["recall"]
                    for c in result["metrics"]["validation"]["per_class"]}["rare"]
        self.assertGreater(recall(found), recall(plain))
        spec["train"]["class_weight"] = dict(zip(("hot", "wet", "rare"), weights))
        given = self.trained_here("given", spec, 2)
        self.assertEqual(given["weights_sha256"], found["weights_sha256"])
        spec["train"]["class_weight"] = {"rar": 3}
        _, err = self.espalier("train", self.job("none", spec), "--workers", 1, code=1)
        self.assertIn("found 'rar', which is not a column of data.label; did you mean 'rare'?", err)

    def test_an_autoencoder_has_the_same_bits_and_gives_rows_back(self):
        table = self.write("flat.csv", "a,b,c,d,e\n" + "".join(
            "%.5f,%.5f,%.5f,%.5f,3\n" % (x, y, x + y, x - 2 * y)
            for chance in [random.Random(5)]
            for x, y in [(chance.gauss(10, 3), chance.gauss(-1, 0.5)) for _ in range(600)]))
        spec = self.spec(table, "autoencoder", epochs=200)
        spec["model"].update(hidden=[2], activation="identity", dropout=0)
        spec["data"].pop("features", None)  # a plane in five dimensions, which two units represent
        result = self.same_bits(spec)
        validation = result["metrics"]["validation"]
        self.assertGreater(validation["r2"], 0.79)  # a constant has 0
        rows = self.predicted(result["bundle"], table, "--keep", "a,b,c,d,e")
        self.assertEqual(len(rows), 600)
        columns = ["prediction_" + c for c in "abcde"]
        squares = [(float(row[c]) - float(row["prediction_" + c])) ** 2
                   for row in rows for c in "abcde"]
        self.assertLess(math.sqrt(sum(squares) / len(squares)), 0.5)
        self.assertEqual([c for c in rows[0] if c.startswith("prediction_")], columns)
        again = self.result("evaluate", result["bundle"], table)["metrics"]
        self.assertAlmostEqual(again["rmse"], math.sqrt(sum(squares) / len(squares)), places=4)


if __name__ == "__main__":
    unittest.main()
