"""Thresholds and prediction intervals: chosen by the held-out rows, used by every command."""
import csv
import glob
import json
import math
import random
import unittest

import pytest

from espalier import EspalierTest

pytestmark = pytest.mark.covers("model", "training", "scoring", "bundle")

ROWS = 3000


def rows_of(directory):
    rows = []
    for part in sorted(glob.glob(directory + "/part-*.csv")):
        with open(part) as f:
            rows += list(csv.DictReader(f))
    return rows


class DecisionTest(EspalierTest):
    def classes(self, rows=ROWS, seed=3):
        """One row in eight is `bad`, which comes before `fine`."""
        chance = random.Random(seed)
        text = "x,z,y\n"
        for _ in range(rows):
            x, z = chance.gauss(0, 1), chance.gauss(0, 1)
            bad = x + 0.5 * z + chance.gauss(0, 1) > 1.75
            text += "%.4f,%.4f,%s\n" % (x, z, "bad" if bad else "fine")
        return self.write("classes-%d.csv" % seed, text)

    def numbers(self, rows=ROWS, seed=3, targets=1):
        chance = random.Random(seed)
        text = "x," + ",".join("y%d" % t for t in range(targets)) + "\n"
        for _ in range(rows):
            x = chance.uniform(-2, 2)
            text += "%.4f,%s\n" % (x, ",".join(
                "%.4f" % (1000 + 100 * (t + 1) * (math.sin(x) + chance.gauss(0, 0.2)))
                for t in range(targets)))
        return self.write("numbers-%d-%d.csv" % (targets, seed), text)

    def spec(self, table, **train):
        return {"data": {"train": table, "label": "y", "validation": {"fraction": 0.3}},
                "model": {"positive": "bad"},
                "train": {"epochs": 4, "optimizer": {"adam": {"learning_rate": 0.05}}, **train}}

    def f1(self, rows, table):
        with open(table) as f:
            truth = [row["y"] for row in csv.DictReader(f)]
        said = [row["prediction"] for row in rows]
        hits = sum(s == t == "bad" for s, t in zip(said, truth))
        return 2 * hits / (said.count("bad") + truth.count("bad"))

    def test_a_threshold_is_chosen_and_used(self):
        table, other = self.classes(), self.classes(seed=4)
        plain = self.result("train", self.job("plain", self.spec(table)), "--workers", 1)
        self.assertNotIn("threshold", plain)
        spec = self.spec(table, threshold="f1")
        self.same_bits(spec, others=((3, 1),))
        job = self.job("tuned", spec)
        tuned = self.result("train", job, "--workers", 1)
        self.assertEqual(tuned["weights_sha256"], plain["weights_sha256"])
        chosen = tuned["threshold"]
        self.assertEqual((chosen["class"], chosen["metric"]), ("bad", "f1"))
        self.assertLess(chosen["threshold"], 0.5)
        self.assertGreater(chosen["value"], chosen["value_at_half"])
        of_bad = {c["class"]: c for c in tuned["metrics"]["validation"]["per_class"]}["bad"]
        self.assertAlmostEqual(of_bad["f1"], chosen["value"], places=9)
        found = []
        for name, result in (("plain", plain), ("tuned", tuned)):
            out = self.path(name + "-scored")
            self.result("predict", result["bundle"], other, "--output", out)
            found.append(self.f1(rows_of(out), other))
            probability = [float(row["probability_bad"]) for row in rows_of(out)]
            threshold = chosen["threshold"] if name == "tuned" else 0.5
            self.assertEqual([row["prediction"] == "bad" for row in rows_of(out)],
                             [p > threshold for p in probability])
        self.assertGreater(found[1], found[0])
        report = self.path("report.html")
        evaluated = self.result("evaluate", tuned["bundle"], other, "--report", report)
        metrics = evaluated["metrics"]
        self.assertAlmostEqual({c["class"]: c for c in metrics["per_class"]}["bad"]["f1"],
                               found[1], places=9)
        self.assertGreater(metrics["auc"], metrics["average_precision"])
        with open(report) as f:
            page = f.read()
        self.assertIn("Precision, recall and F1 by threshold", page)
        self.assertIn("Positive is the class bad", page)
        out, _ = self.espalier("train", self.job("shown", spec))
        self.assertIn("the threshold of 'bad' is 0.", out)

    def test_each_way_to_choose_a_threshold(self):
        table = self.classes()
        found = {}
        for name, threshold in (("recall", {"recall": {"min_precision": 0.8}}),
                                ("precision", {"precision": {"min_recall": 0.8}}),
                                ("cost", {"cost": {"false_negative": 20}}),
                                ("accuracy", "accuracy")):
            result = self.result("train", self.job(name, self.spec(table, threshold=threshold)))
            of_bad = result["metrics"]["validation"]["per_class"][0]
            self.assertEqual(of_bad["class"], "bad")
            found[name] = result["threshold"]["threshold"], of_bad
            self.assertTrue(result["threshold"]["reached"])
        self.assertGreaterEqual(found["recall"][1]["precision"], 0.8)
        self.assertGreaterEqual(found["precision"][1]["recall"], 0.8)
        self.assertLess(found["cost"][0], 0.2)
        self.assertGreater(found["recall"][0], found["precision"][0])

    def test_costs_of_mistakes_decide_between_three_classes(self):
        chance, lines = random.Random(5), ["x,y"]
        for _ in range(900):
            x = chance.gauss(0, 1)
            place = round(x + chance.gauss(0, 0.7) + 1)
            lines.append("%.4f,%s" % (x, "abc"[min(2, max(0, place))]))
        table = self.write("three.csv", "\n".join(lines) + "\n")
        spec = {"data": {"train": table, "label": "y", "validation": {"fraction": 0.3}},
                "model": {"costs": {"a": {"b": 6}, "c": {"b": 0.1, "a": 2}}}, "preset": "fast"}
        self.same_bits(spec, others=((3, 1),))
        result = self.result("train", self.job("costs", spec))
        out = self.path("scored")
        self.espalier("predict", result["bundle"], table, "--output", out)
        matrix = [[0, 6, 1], [1, 0, 1], [2, 0.1, 0]]
        plain, right = 0, []
        for row, line in zip(rows_of(out), lines[1:], strict=True):
            shares = [float(row["probability_" + name]) for name in "abc"]
            costs = [sum(p * matrix[i][k] for i, p in enumerate(shares)) for k in range(3)]
            best = sorted(costs)
            if best[1] - best[0] > 1e-6:
                self.assertEqual(row["prediction"], "abc"[costs.index(best[0])])
            plain += row["prediction"] == "abc"[shares.index(max(shares))]
            right.append(row["prediction"] == line[-1])
        self.assertLess(plain, 870)
        metrics = self.result("evaluate", result["bundle"], table)["metrics"]
        self.assertAlmostEqual(metrics["accuracy"], sum(right) / len(right), places=9)
        with open(result["bundle"] + "/model.json") as f:
            self.assertIn({"label": "a", "predicted": "b", "cost": 6}, json.load(f)["costs"])
        two = dict(spec, model={}, train={"threshold": {"cost": {"false_negative": 2}}})
        _, err = self.espalier("train", self.job("two", two), code=1)
        self.assertIn("expected two. Set model.costs", err)
        spec["model"]["costs"]["d"] = {"a": 3}
        _, err = self.espalier("train", self.job("unknown", spec), code=1)
        self.assertIn("model.costs: found 'd'", err)

    def test_the_epoch_is_chosen_by_average_precision(self):
        spec = self.spec(self.classes(), early_stopping={"metric": "val_average_precision",
                                                         "patience": 2})
        result = self.result("train", self.job("epoch", spec))
        with open(result["bundle"] + "/history.csv") as f:
            history = [float(row["val_average_precision"]) for row in csv.DictReader(f)]
        best = history.index(max(history)) + 1
        self.assertEqual(result["best_epoch"], best)
        self.assertAlmostEqual(result["metrics"]["validation"]["average_precision"], max(history))

    def test_intervals_contain_the_share_that_they_are_for(self):
        table, other = self.numbers(), self.numbers(seed=4)
        spec = {"data": {"train": table, "label": "y0", "validation": {"fraction": 0.3}},
                "train": {"intervals": 0.8}, "preset": "fast"}
        self.same_bits(spec, others=((3, 1),))
        job = self.job("numbers", dict(spec, data=dict(spec["data"], test=other)))
        result = self.result("train", job)
        width, = result["intervals"]["half_widths"]
        self.assertEqual(result["intervals"]["level"], 0.8)
        metrics = result["metrics"]
        self.assertAlmostEqual(metrics["validation"]["coverage"], 0.8, delta=0.02)
        self.assertAlmostEqual(metrics["test"]["coverage"], 0.8, delta=0.04)
        out = self.path("scored")
        self.result("predict", result["bundle"], other, "--output", out)
        with open(other) as f:
            truth = [float(row["y0"]) for row in csv.DictReader(f)]
        inside = 0
        for row, y in zip(rows_of(out), truth):
            predicted = float(row["prediction_y0"])
            self.assertAlmostEqual(float(row["lower_y0"]), predicted - width, places=6)
            self.assertAlmostEqual(float(row["upper_y0"]), predicted + width, places=6)
            inside += float(row["lower_y0"]) <= y <= float(row["upper_y0"])
        evaluated = self.result("evaluate", result["bundle"], other)
        self.assertAlmostEqual(evaluated["metrics"]["coverage"], inside / ROWS, places=3)
        shown, _ = self.espalier("train", self.job("shown", spec))
        self.assertIn("prediction intervals for 80.00 %", shown)
        self.assertIn("coverage", shown)

    def test_intervals_of_several_targets_and_fits(self):
        """The histograms of residuals are larger than the network."""
        table = self.numbers(targets=4)
        spec = {"data": {"train": table, "label": ["y0", "y1", "y2", "y3"]},
                "train": {"epochs": 30, "batch": 64, "leaves": 8, "intervals": 0.9,
                          "optimizer": {"adam": {"learning_rate": 0.01}},
                          "ensemble": {"fits": 2, "folds": 4}},
                "model": {"hidden": [16], "task": "regression"}}
        result = self.same_bits(spec, others=((2, 1), (3, 2)))
        widths = result["intervals"]["half_widths"]
        self.assertAlmostEqual(widths[3] / widths[1], 2, delta=0.3)
        for of_target in result["metrics"]["validation"]["per_target"]:
            self.assertAlmostEqual(of_target["coverage"], 0.9, delta=0.02)

    def test_what_cannot_be_chosen_is_refused(self):
        classes, numbers = self.classes(rows=60), self.numbers(rows=60)
        three = self.write("three.csv", "x,y\n" + "".join(
            "%d,%s\n" % (i, "abc"[i % 3]) for i in range(60)))
        refused = (
            ({"data": {"train": classes, "label": "y"}, "preset": "none",
              "train": {"threshold": "f1"}}, "train.threshold"),
            ({"data": {"train": three, "label": "y", "validation": {"fraction": 0.3}},
              "train": {"threshold": "f1"}}, "expected two"),
            ({"data": {"train": classes, "label": "y"}, "model": {"positive": "worst"}},
             "model.positive"),
            ({"data": {"train": numbers, "label": "y0", "validation": {"fraction": 0.1}},
              "train": {"intervals": 0.99}, "model": {"task": "regression"}},
             "requires at least 99 held-out rows"),
            ({"data": {"train": classes, "label": "y"}, "model": {"task": "classification"},
              "train": {"intervals": 0.9}}, "train.intervals"),
            ({"data": {"train": classes, "label": "y", "validation": {"fraction": 0.3}},
              "model": {"thresholds": [0.5, 0.5]}, "train": {"threshold": "f1"}},
             "train.threshold"))
        for i, (spec, words) in enumerate(refused):
            _, error = self.espalier("train", self.job("refused-%d" % i, spec), code=None)
            self.assertIn(words, error)

    def test_a_model_that_lies_about_its_choices_is_refused(self):
        result = self.result("train", self.job("lies", self.spec(self.classes(rows=300),
                                                                 threshold="f1")))
        path = result["bundle"] + "/model.json"
        with open(path) as f:
            document = json.load(f)
        intervals = {"level": 0.9, "half_widths": [1]}
        for key, lie in (("thresholds", [0.5]), ("thresholds", [0, 1]), ("thresholds", ["a", "b"]),
                         ("thresholds", [0.2, 0.3, 0.5]), ("intervals", intervals)):
            with open(path, "w") as f:
                json.dump(dict(document, **{key: lie}), f)
            _, error = self.espalier("predict", result["bundle"], self.classes(rows=5),
                                     "--output", self.path("none"), code=None)
            self.assertIn(key, error)


if __name__ == "__main__":
    unittest.main()
