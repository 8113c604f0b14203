"""`espalier export`: ONNX Runtime computes from raw columns the same output as `espalier predict`.
"""
import csv
import json
import math
import os
import random
import subprocess
import unittest

import pytest

from espalier import EspalierTest

import private_python  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("bundle", "cli", "model")

PACKAGES = ["numpy==1.26.4", "onnxruntime==1.17.3", "safetensors==0.4.5"]

# Runs a model on a table and prints its outputs. NaN and infinity become null.
RUN = """
import calendar, csv, json, sys, time
import numpy as np
import onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
rows = list(csv.DictReader(open(sys.argv[2])))
about = session.get_modelmeta().custom_metadata_map
dates, booleans = (about.get(name, "").split("\\n") for name in ("dates", "booleans"))

def number(column, text):
    if text and column in booleans:
        return float(text == "yes")
    if text and column in dates:
        return float(calendar.timegm(time.strptime(text, "%Y-%m-%d")))
    return float(text or "nan")

feed = {}
if "numbers" in about:
    feed["numbers"] = np.array([[number(c, row[c]) for c in about["numbers"].split("\\n")]
                                for row in rows])
if "texts" in about:
    feed["texts"] = np.array([[row[c] for c in about["texts"].split("\\n")] for row in rows],
                             dtype=object)
names = [o.name for o in session.get_outputs()]
found = {n: v.tolist() for n, v in zip(names, session.run(names, feed))}
for values in found.values():
    for i, row in enumerate(values):
        if isinstance(row, list):
            values[i] = [None if x != x else x for x in row]
print(json.dumps(found | {"about": about}))
"""


class ExportTest(EspalierTest):
    def exported(self, name, table):
        """Returns ONNX Runtime's output for a table."""
        made = self.result("export", self.path(name + ".bundle"))
        self.assertEqual(made["file"], self.path(name + ".bundle", "model.onnx"))
        python = private_python.ensure("onnx", PACKAGES)
        self.follow_readme(python, name)
        self.python = python
        done = subprocess.run([python, "-c", RUN, made["file"], table], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def follow_readme(self, python, name):
        """The Python code in the bundle's README runs unchanged."""
        blocks = self.python_of(name)
        self.assertIn("onnxruntime", blocks[-1])
        for code in blocks:
            done = subprocess.run([python, "-c", code], cwd=self.path(name + ".bundle"),
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def python_of(self, name):
        with open(self.path(name + ".bundle", "README.md")) as f:
            return [part.split("```")[0] for part in f.read().split("```python\n")[1:]]

    def check_numpy(self, name, table, columns, expected, answers):
        """By NumPy alone, as the README says, rows of numbers give the output of predict."""
        code, _ = self.python_of(name)
        zeros = "np.zeros((1, len(features)))"
        self.assertEqual(code.count(zeros), 1)
        with open(table, newline="") as f:
            rows = [[float(row[c] or "nan") for c in columns] for row in csv.DictReader(f)]
        code = "nan = float('nan')\n" + code.replace(zeros, "np.array(%r)" % rows) + \
            "\nprint(json.dumps(answer.tolist()))"
        done = subprocess.run([self.python, "-c", code], cwd=self.path(name + ".bundle"),
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(len(found), len(expected))
        for ours, theirs in zip(expected, found):
            self.assertEqual(len(theirs), len(answers))
            for name, value in zip(answers, theirs):
                self.assertTrue(math.isclose(float(ours[name]), value, rel_tol=1e-4,
                                             abs_tol=1e-4), (name, ours, theirs))

    def predicted(self, name, table):
        self.espalier("predict", self.path(name + ".bundle"), table, "--output",
                      self.path(name + ".scored"))
        rows = []
        for part in sorted(os.listdir(self.path(name + ".scored"))):
            if part.startswith("part-"):
                with open(self.path(name + ".scored", part), newline="") as f:
                    rows += list(csv.DictReader(f))
        return rows

    def train(self, name, data, model, **train):
        spec = {"data": data, "model": model,
                "train": dict({"epochs": 4, "batch": 64,
                               "optimizer": {"adam": {"learning_rate": 0.01}}}, **train)}
        result = self.result("train", self.job(name, spec), "--workers", 1)
        self.assertEqual(result["status"], "SUCCEEDED", result)

    def mixed_csv(self, name, rows, seed, strangers=False):
        chance = random.Random(seed)
        cities = ["", "Oslo", "Rome", "Wien"] + (["Lima"] if strangers else [])
        lines = ["city,user,tag,since,income,member,score,y,z"]
        for _ in range(rows):
            city, user = chance.choice(cities), chance.randrange(20)
            income = "" if chance.random() < 0.1 else "%.2f" % chance.expovariate(1e-4)
            since = "%d-%02d-%02d" % (chance.randrange(1960, 2030), chance.randrange(1, 13),
                                      chance.randrange(1, 29))
            score = chance.gauss(0, 1)
            kind = "abc"[(score > 0.5) + (city == "Rome")]
            lines.append("%s,%d,t%d,%s,%s,%s,%.5f,%s,%.4f" % (
                city, user, chance.randrange(200), since, income, chance.choice(["yes", "no"]),
                score, kind, 3 * score + user))
        return self.write(name, "\n".join(lines) + "\n")

    def features(self):
        parts = ["year", "month", "day", "weekday", "yearday", "hour", "minute", "second", "epoch"]
        return {"columns": ["score"], "groups": [
            {"columns": "city", "type": "categorical"},
            {"columns": "user", "type": "categorical", "encode": {"embedding": 3}, "min_count": 20},
            {"columns": "tag", "type": "categorical", "hash": 30},
            {"columns": "since", "type": "date", "parts": parts},
            {"columns": "income", "log1p": True, "nulls": "mean", "null_indicator": True},
            {"columns": "member", "type": "boolean", "scale": "none"}]}

    def test_every_kind_of_column_and_layer_gives_the_classes_and_probabilities_of_predict(self):
        train = self.mixed_csv("train.csv", 700, 1)
        test = self.mixed_csv("test.csv", 300, 2, strangers=True)
        models = [{"hidden": [12, 12], "activation": ["gelu", "tanh"], "layer_norm": True,
                   "residual": True, "precision": "float64"},
                  {"hidden": [8, 8, 8, 8], "activation": ["silu", "elu", "leaky_relu", "sigmoid"]},
                  {"hidden": []}]
        for i, model in enumerate(models):
            self.train("m%d" % i, {"train": train, "label": "y", "features": self.features()},
                       model)
            found, expected = self.exported("m%d" % i, test), self.predicted("m%d" % i, test)
            self.assertEqual(found["about"]["classes"], "a\nb\nc")
            self.assertEqual(found["about"]["dates"], "since")
            self.assertEqual(found["about"]["booleans"], "member")
            self.assertEqual(found["label"], [row["prediction"] for row in expected])
            for ours, theirs in zip(expected, found["probabilities"]):
                for k, name in enumerate("abc"):
                    self.assertAlmostEqual(float(ours["probability_" + name]), theirs[k],
                                           delta=1e-5)

    def test_embedded_numbers_and_scaled_inputs_give_the_answers_of_predict(self):
        train = self.mixed_csv("train.csv", 700, 1)
        test = self.mixed_csv("test.csv", 300, 2, strangers=True)
        rare = {"type": "categorical", "encode": {"embedding": 3}, "min_count": 30,
                "one_hot_max": 8, "zero_rare": True}
        data = {"train": train, "features": {
            "columns": ["score"], "scale": "robust_smooth_clip",
            "numbers": {"embedding": "piecewise_linear", "width": 4, "bins": 12},
            "groups": [dict(rare, columns=["city", "user"]),
                       {"columns": "since", "type": "date"},
                       {"columns": "income", "log1p": True, "nulls": "mean",
                        "null_indicator": True},
                       {"columns": "member", "type": "boolean"}]}}
        model = {"hidden": [8], "activation": "silu", "parametrization": "ntp",
                 "scaling_layer": True}
        settings = {"weight_decay": 0.02, "weight_decay_schedule": "flat_cos",
                    "rate_factors": {"biases": 0.1, "scaling_layer": 6}}
        self.train("classes", dict(data, label="y"), dict(
            model, loss={"softmax_cross_entropy": {"label_smoothing": 0.1}},
            cap_label_smoothing=True), **settings)
        self.train("values", dict(data, label="z"), dict(model, task="regression",
                                                         clip_predictions=True), **settings)
        found, expected = self.exported("classes", test), self.predicted("classes", test)
        self.check_answers(found, expected, [])
        found, expected = self.exported("values", test), self.predicted("values", test)
        self.check_answers(found, expected, [])

    def test_several_fits_and_a_constant_answer_give_the_answers_of_predict(self):
        train = self.mixed_csv("train.csv", 500, 1)
        test = self.mixed_csv("test.csv", 200, 2, strangers=True)
        data = {"train": train, "features": {
            "columns": ["score"], "numbers": {"embedding": "piecewise_linear", "width": 4},
            "groups": [{"columns": ["city", "user"], "type": "categorical"},
                       {"columns": "income", "nulls": "drop"}]}}
        model = {"hidden": [6], "scaling_layer": True}
        fits = {"ensemble": {"fits": 3, "shrink": True}}
        numbers = dict(model, task="regression")
        for name, label, settings, more in (  # a member is one by chance
                ("classes", "y", dict(model), {"calibrate": True}), ("values", "z", numbers, {}),
                ("noise", "member", dict(model, loss="binary_cross_entropy"), {})):
            self.train(name, dict(data, label=label), settings, **dict(fits, **more))
            with open(self.path(name + ".bundle", "model.json")) as f:
                document = json.load(f)
            self.assertEqual(document["ensemble"]["fits"], 3)
            self.assertTrue(document["ensemble"]["constant"] or name != "noise")
            expected = self.predicted(name, test)
            rejected = [i for i, row in enumerate(expected) if row["error"]]
            self.assertTrue(rejected)  # of a null income
            self.check_answers(self.exported(name, test), expected, rejected)

    def test_plain_columns_two_classes_and_values(self):
        train, test = self.houses_csv("train.csv", 600), self.houses_csv("test.csv", 200, seed=5)
        logs = {"columns": ["age", "distance"], "log1p": True, "nulls": "fail"}
        data = {"train": train, "label": "price",
                "features": {"nulls": {"constant": 4}, "groups": [logs]}}
        self.train("houses", data, {"task": "regression", "hidden": [16]})
        found, expected = self.exported("houses", test), self.predicted("houses", test)
        for ours, theirs in zip(expected, found["values"]):
            self.assertTrue(math.isclose(float(ours["prediction_price"]), theirs[0], rel_tol=1e-5,
                                         abs_tol=1e-4))
        with open(test) as f:
            columns = [c for c in next(csv.reader(f)) if c != "price"]
        self.check_numpy("houses", test, columns, expected, ["prediction_price"])
        classes = self.classes_csv("two.csv", 400, classes=2)
        self.train("two", {"train": classes, "label": "label"},
                   {"hidden": [8], "loss": "binary_cross_entropy"})
        found, expected = self.exported("two", classes), self.predicted("two", classes)
        self.assertEqual(found["label"], [row["prediction"] for row in expected])
        with open(classes) as f:
            columns = [c for c in next(csv.reader(f)) if c != "label"]
        self.check_numpy("two", classes, columns, expected, ["probability_0", "probability_1"])

    def test_a_row_that_predict_rejects_for_a_null_has_no_answer(self):
        chance = random.Random(7)
        lines = ["city,tag,a,b,c,y,z,p,q"]
        for i in range(600):
            a, b, c = (chance.gauss(0, 1) for _ in range(3))
            city, tag = chance.choice(["Oslo", "Rome"]), "t%d" % chance.randrange(9)
            lines.append("%s,%s,%.4f,%.4f,%.4f,%s,%.4f,%d,%d" % (
                city, tag, a, b, c, "uvw"[(a > 0) + (city == "Rome")], a + b, a > 0, b > 0))
        train = self.write("train.csv", "\n".join(lines) + "\n")
        holes = [lines[0]]
        for i, line in enumerate(lines[1:201]):
            fields = line.split(",")
            if i % 3 == 0:
                fields[i // 3 % 5] = ""  # each column in turn; c may be null
            holes.append(",".join(fields))
        test = self.write("test.csv", "\n".join(holes) + "\n")
        rejected = [i for i in range(200) if i % 3 == 0 and i // 3 % 5 != 4]
        for nulls in ("fail", "drop"):
            features = {"columns": ["a", "b"], "nulls": nulls, "groups": [
                {"columns": "c", "nulls": "mean", "null_indicator": True},
                {"columns": "city", "type": "categorical", "nulls": nulls},
                {"columns": "tag", "type": "categorical", "hash": 30, "nulls": nulls}]}
            for task, label in (("classification", "y"), ("regression", "z"),
                                ("multilabel", ["p", "q"])):
                name = task + nulls
                self.train(name, {"train": train, "label": label, "features": features},
                           {"task": task, "hidden": [8]})
                found, expected = self.exported(name, test), self.predicted(name, test)
                self.assertEqual(len(expected), 200)
                self.check_answers(found, expected, rejected)

    def test_costs_decide_the_label_of_predict(self):
        train = self.mixed_csv("train.csv", 700, 1)
        test = self.mixed_csv("test.csv", 300, 2)
        close = {"c": {"a": 100000001, "b": 100000000}}  # equal in float32
        for name, costs in (("costs", {"c": {"a": 9}, "b": {"a": 4, "c": 0}}), ("close", close)):
            self.train(name, {"train": train, "label": "y", "features": self.features()},
                       {"hidden": [8], "costs": costs})
            found, expected = self.exported(name, test), self.predicted(name, test)
            self.check_answers(found, expected, [])
            best = [max("abc", key=lambda k: float(row["probability_" + k])) for row in expected]
            self.assertNotEqual(best, found["label"])

    def test_prediction_intervals_have_the_ends_of_predict(self):
        chance = random.Random(5)
        rows = [(chance.random(), chance.random(), chance.random()) for _ in range(300)]
        train = self.write("train.csv", "a,b,y,z,n\n" + "".join(
            "%.4f,%.4f,%.4f,%.4f,%d\n" % (a, b, a + noise, 9 - b + noise, 10 * (noise > 0.8))
            for a, b, noise in rows))
        test = self.write("test.csv", "a,b,y,z,n\n0.1,0.2,0,0,0\n,1,0,0,0\n0.9,0.8,1,1,1\n")
        features = {"columns": ["a", "b"], "nulls": "drop"}
        for name, labels, loss in (("two", ["y", "z"], "mse"), ("counts", ["n"], "poisson")):
            self.train(name, {"train": train, "label": labels, "features": features,
                              "validation": {"fraction": 0.2}},
                       {"task": "regression", "hidden": [4], "loss": loss}, intervals=0.9)
            found, expected = self.exported(name, test), self.predicted(name, test)
            self.assertEqual(found["about"]["interval_level"], "0.9")
            self.check_answers(found, expected, [1])
            for end in ("lower", "upper"):
                for ours, row in zip(found[end], expected, strict=True):
                    wanted = [row[end + "_" + label] for label in labels]
                    for a, b in zip(ours, wanted, strict=True):
                        self.assertEqual(a is None, b == "")
                        self.assertTrue(a is None or math.isclose(float(b), a, abs_tol=1e-4))
        self.assertIn(0.0, [row[0] for row in found["lower"]])  # a count is not negative

    @pytest.mark.long
    def test_a_row_that_predict_rejects_for_a_logarithm_has_no_answer(self):
        chance = random.Random(9)
        rows = [(chance.expovariate(1), chance.gauss(0, 1)) for _ in range(300)]
        train = self.write("train.csv", "a,b,y\n" + "".join(
            "%.4f,%.4f,%.4f\n" % (a, b, a + b) for a, b in rows))
        test = self.write("test.csv", "a,b,y\n3,1,4\n-5,1,0\n-1,1,0\n,1,2\n-0.5,1,0\n")
        features = {"groups": [{"columns": "a", "log1p": True, "nulls": "mean"}]}
        self.train("logs", {"train": train, "label": "y", "features": features},
                   {"task": "regression", "hidden": [4]})
        found, expected = self.exported("logs", test), self.predicted("logs", test)
        self.assertEqual(len(expected), 5)
        self.check_answers(found, expected, [1, 2])

    def check_answers(self, found, expected, rejected):
        """ONNX Runtime's answers are those of predict, and none if predict rejects the row."""
        scores = found.get("values") or found["probabilities"]
        names = [n for n in expected[0] if n.startswith("probability_")] or \
            [n for n in expected[0] if n.startswith("prediction_")]
        words = found.get("label") or found.get("labels")
        for i, (score, row) in enumerate(zip(scores, expected, strict=True)):
            if i in rejected:
                self.assertEqual({row[name] for name in names}, {""})
                self.assertEqual(set(score), {None})
                if words:
                    self.assertIn(words[i], ["", [-1, -1]])
                continue
            for ours, name in zip(score, names):
                self.assertAlmostEqual(float(row[name]), ours, delta=1e-4)
            if "label" in found:
                self.assertEqual(words[i], row["prediction"])

    def test_counts_are_exponentials(self):
        chance = random.Random(11)
        rows = [(chance.gauss(0, 1), chance.gauss(0, 1)) for _ in range(400)]
        table = self.write("t.csv", "a,b,y\n" + "".join(
            "%.4f,%.4f,%d\n" % (a, b, math.exp(1 + a - b / 2)) for a, b in rows))
        self.train("counts", {"train": table, "label": "y"},
                   {"task": "regression", "loss": "poisson", "hidden": [6]})
        found, expected = self.exported("counts", table), self.predicted("counts", table)
        self.assertGreater(min(v for v, in found["values"]), 0)
        self.assertEqual(len(found["values"]), len(expected))
        for ours, theirs in zip(expected, found["values"]):
            self.assertTrue(math.isclose(float(ours["prediction_y"]), theirs[0], rel_tol=1e-5))
        self.check_numpy("counts", table, "ab", expected, ["prediction_y"])

    def test_thresholds_of_spark_choose_the_class(self):
        table = self.classes_csv("c.csv", 400, features=4)
        spark = {"layers": [4, 6, 3], "maxIter": 20, "thresholds": [0.7, 0.1, 0.2]}
        self.trained_here("spark", {"data": {"train": table, "label": "label"},
                                    "compat": {"spark-mlp": spark}})
        found, expected = self.exported("spark", table), self.predicted("spark", table)
        self.assertEqual(found["label"], [row["prediction"] for row in expected])
        likely = ["012"[p.index(max(p))] for p in found["probabilities"]]
        self.assertNotEqual(found["label"], likely)  # 0 is chosen where it is seven times 1

    def test_labels_and_an_autoencoders_numbers(self):
        chance = random.Random(3)
        lines = ["a,b,c,p,q"]
        for _ in range(400):
            a, b, c = (chance.gauss(0, 1) for _ in range(3))
            lines.append("%.5f,%.5f,%.5f,%d,%d" % (a, b, c, a + b > 0, c > 0.5))
        table = self.write("t.csv", "\n".join(lines) + "\n")
        features = {"columns": ["a", "b", "c"]}
        model = {"task": "multilabel", "hidden": [8, 8, 8, 8], "layer_norm": True,
                 "residual": True, "activation": ["gelu", "silu", "elu", "leaky_relu"]}
        self.train("labels", {"train": table, "label": ["p", "q"], "features": features}, model)
        found, expected = self.exported("labels", table), self.predicted("labels", table)
        self.check_numpy("labels", table, "abc", expected, ["probability_p", "probability_q"])
        for k, name in enumerate("pq"):
            for ours, labels, theirs in zip(expected, found["labels"], found["probabilities"]):
                self.assertEqual(int(ours["prediction_" + name]), labels[k])
                self.assertAlmostEqual(float(ours["probability_" + name]), theirs[k], delta=1e-5)
        self.train("same", {"train": table, "features": features},
                   {"task": "autoencoder", "hidden": [4], "activation": "tanh"})
        found, expected = self.exported("same", table), self.predicted("same", table)
        self.check_numpy("same", table, "abc", expected, ["prediction_" + c for c in "abc"])
        for ours, theirs in zip(expected, found["values"]):
            for k, name in enumerate("abc"):
                self.assertAlmostEqual(float(ours["prediction_" + name]), theirs[k], delta=1e-5)

    def test_what_is_no_bundle_or_cannot_be_written_is_one_error(self):
        _, err = self.espalier("export", self.path("nowhere"), code=None)
        self.assertIn("does not exist; expected the directory of a model", err)
        train = self.classes_csv("c.csv", 100)
        self.train("c", {"train": train, "label": "label"}, {"hidden": []})
        _, err = self.espalier("export", self.path("c.bundle"), "--output",
                               self.path("no", "such", "place", "m.onnx"), code=None)
        self.assertTrue(err.startswith("error") or "no/such/place" in err, err)


if __name__ == "__main__":
    unittest.main()
