"""Columns that are not plain numbers, through real daemons: the same bits for any number of
workers, from CSV and from Parquet, and a model that reproduces the reported result elsewhere."""
import csv
import json
import os
import random
import re
import signal
import subprocess
import unittest

import pytest

from espalier import (Cluster, EspalierTest, await_step, children_of, command_line_of, json_lines,
                      wait_for)

import parquet_file  # in tools/lib, which `espalier` puts on the path
import private_python

pytestmark = pytest.mark.covers("data")

PACKAGES = ["numpy==1.26.4", "safetensors==0.4.5"]
NAMES = ["city", "user", "since", "income", "member", "score", "w", "y"]

# Computes a table's accuracy as the bundle's README describes, except dates and hashes.
PREDICT = """
import csv, json, sys
import numpy as np
from safetensors.numpy import load_file
bundle, table = sys.argv[1], list(csv.DictReader(open(sys.argv[2])))
model = json.load(open(bundle + "/model.json"))
weights = {k: v.astype(np.float64) for k, v in load_file(bundle + "/weights.safetensors").items()}
fitted, coded = model["preprocessing"]["features"], 0
numbers, embeddings, sums = [], [], 0
for f in fitted:
    texts = [row[f["name"]] for row in table]
    if f["codes"]:
        codes = [f["vocabulary"].index(t) if t in f["vocabulary"] else len(f["vocabulary"])
                 for t in texts]
        kind = "embeddings" if f["embedding"] else "one_hot"
        rows = weights["layers.0.%s.%d.weight" % (kind, coded)]
        coded += 1
        rows = np.vstack([rows, np.zeros((2, rows.shape[1]))])[codes]
        if f["embedding"]:
            embeddings.append(rows)
        else:
            sums = sums + rows
        continue
    x = np.array([float(t) if t else np.nan for t in texts])
    if f["name"] == "income":
        x = np.log1p(x)
    null = np.isnan(x)
    numbers.append(((np.where(null, f["null_value"], x) - f["shift"]) * f["factor"])[:, None])
    if f["null_indicator"]:
        numbers.append(null.astype(float)[:, None])
x = np.hstack(numbers + embeddings)
x = np.maximum(x @ weights["layers.0.weight"].T + sums + weights["layers.0.bias"], 0)
x = x @ weights["layers.1.weight"].T + weights["layers.1.bias"]
y = [model["preprocessing"]["classes"].index(row["y"]) for row in table]
x = x - x.max(axis=1, keepdims=True)
log_p = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
print(json.dumps({"loss": -log_p[np.arange(len(y)), y].mean(),
                  "accuracy": float((log_p.argmax(axis=1) == y).mean())}))
"""


def rows_of(count, seed, strangers=False):
    chance, weights = random.Random(seed), random.Random("weights %d" % seed)
    cities = ["", "Bern", "Oslo", "Rome", "Wien"] + (["Lima"] if strangers else [])
    rows = []
    for _ in range(count):
        city, user = chance.choice(cities), chance.randrange(40)
        income = "" if chance.random() < 0.1 else "%.2f" % chance.expovariate(1e-4)
        since = "20%02d-%02d-%02d" % (chance.randrange(10, 25), chance.randrange(1, 13),
                                      chance.randrange(1, 29))
        score = chance.uniform(-1, 1)
        good = score + (city in ("Oslo", "Rome")) + (user % 3 == 0) - (income == "") - 0.8
        rows.append([city, str(user), since, income, chance.choice(["yes", "no"]), "%.4f" % score,
                     "%.3f" % weights.expovariate(1), "good" if good > 0 else "bad"])
    return rows


class ColumnsTest(EspalierTest):
    def table(self, name, rows):
        with open(self.path(name), "w", newline="") as f:
            csv.writer(f).writerows([NAMES] + rows)
        return self.path(name)

    def spec(self, data, *, all_kinds=True, **train):
        groups = [{"columns": "city", "type": "categorical"},
                  {"columns": "user", "type": "categorical", "encode": {"embedding": 3},
                   "min_count": 3},
                  {"columns": "income", "log1p": True, "nulls": "mean", "null_indicator": True}]
        if all_kinds:
            groups += [{"columns": "since", "type": "date", "parts": ["year", "weekday"]},
                       {"columns": "member", "type": "boolean"}]
        features = {"columns": ["score"], "groups": groups}
        weight = {"weight": "w"} if all_kinds else {}
        return {"data": {**weight, "train": data, "label": "y", "features": features,
                         "validation": {"fraction": 0.2}},
                "model": {"hidden": [12]},
                "train": dict({"batch": 50, "leaves": 8, "epochs": 12, "optimizer": {
                    "adam": {"learning_rate": 0.01}}}, **train)}

    def test_all_kinds_have_the_same_bits_from_csv_and_parquet_on_any_number_of_workers(self):
        rows = rows_of(900, 1)
        spec = self.spec(self.table("a.csv", rows))
        # The validation fraction is drawn by a row's place, which differs between the formats.
        spec["data"]["validation"] = {"files": self.table("v.csv", rows_of(200, 2, strangers=True))}
        spec["model"]["dropout"] = 0.2
        first = self.same_bits(spec, ((1, 2), (2, 1), (3, 2), (5, 1)))
        for name, table in (("a", rows), ("v", rows_of(200, 2, strangers=True))):
            columns = []
            for i, column in enumerate(NAMES):
                values = [row[i] for row in table]
                if column in ("income", "score", "w"):
                    values = [float(v or "nan") for v in values]
                elif column == "user":
                    values = [int(v) for v in values]
                columns.append((column, values))
            parquet_file.write(self.path(name + ".parquet"), columns, 250)
        spec["data"].update(train=self.path("a.parquet"),
                            validation={"files": self.path("v.parquet")})
        parquet = self.trained_here("parquet", spec, 2)
        self.assertEqual(parquet["weights_sha256"], first["weights_sha256"])

    def test_the_bundle_computes_what_was_reported(self):
        spec = self.spec(self.table("a.csv", rows_of(900, 1)), all_kinds=False)
        spec["data"]["test"] = self.table("t.csv", rows_of(300, 3, strangers=True))
        result = self.trained_here("model", spec, 2)
        python = private_python.ensure("e2e", PACKAGES)
        done = subprocess.run([python, "-c", PREDICT, result["bundle"], spec["data"]["test"]],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        found, test = json.loads(done.stdout), result["metrics"]["test"]
        self.assertAlmostEqual(found["loss"], test["loss"], places=4)
        self.assertAlmostEqual(found["accuracy"], test["accuracy"], places=6)
        self.assertGreater(test["accuracy"], 0.85)
        again = self.result("evaluate", result["bundle"], spec["data"]["test"])
        self.assertAlmostEqual(again["metrics"]["loss"], test["loss"], places=6)
        for name in ("accuracy", "precision", "recall", "f1", "confusion_matrix"):
            self.assertEqual(again["metrics"][name], test[name])
        with open(os.path.join(result["bundle"], "README.md")) as f:
            text = f.read()
        for words in ("layers.0.one_hot.k.weight", "layers.0.embeddings.k.weight"):
            self.assertIn(words, text)
        layers = self.result("check", self.job("checked", spec))["layers"]
        self.assertIn(" %s units" % " - ".join(map(str, layers)), text)

    def test_a_killed_worker_changes_no_bit(self):
        spec = self.spec(self.table("a.csv", rows_of(1500, 1)), epochs=400)
        quiet = self.trained_here("quiet", spec, 2)
        process = self.start("train", self.job("disturbed", spec), "--workers", 3, "--json")
        await_step(process)
        workers = [pid for pid in children_of(process.pid)
                   if os.path.basename(command_line_of(pid)[0]) == "espalier-worker"]
        os.kill(workers[1], signal.SIGKILL)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(json_lines(out)[-1]["weights_sha256"], quiet["weights_sha256"])

    @pytest.mark.long
    def test_a_worker_killed_and_one_that_comes_for_it_change_no_bit(self):
        spec = self.spec(self.table("a.csv", rows_of(1500, 1)), epochs=3000)
        spec["model"]["dropout"] = 0.2
        quiet = self.trained_here("quiet", spec)
        cluster = Cluster(self, workers=2)
        job = cluster.submit(self.job("disturbed", dict(spec, workers={"min": 1, "max": 2})))
        cluster.wait_for_training(job)
        cluster.start_worker("node-3")
        cluster.wait_for_workers(3)
        cluster.workers["node-1"].kill()
        wait_for("a generation with the new one", lambda: re.search(
            r"%s generation 2: 2 workers" % job, cluster.log("coordinator")))
        done = cluster.result("watch", job)
        self.assertEqual(done["status"], "SUCCEEDED", done)
        self.assertEqual(done["weights_sha256"], quiet["weights_sha256"])

    def test_check_shows_what_becomes_of_the_columns(self):
        job = self.job("shown", self.spec(self.table("a.csv", rows_of(300, 1))))
        out, _ = self.espalier("check", job)
        for words in ("city: 5 values, one-hot", "values and others, embedding of 3",
                      "since.weekday"):
            self.assertIn(words, out)

    def test_auto_takes_columns_for_what_they_hold_and_says_so(self):
        data = self.table("a.csv", rows_of(900, 1))
        spec = self.spec(data)
        spec["data"]["features"] = {"nulls": "mean", "groups": [
            {"columns": "city", "type": "categorical"}, {"columns": "since", "type": "date"},
            {"columns": "member", "type": "boolean"}]}
        told = self.trained_here("told", spec)
        spec["data"]["features"] = {"nulls": "mean"}
        for workers in (1, 2, 3, 5):
            found = self.trained_here("found-%d" % workers, spec, workers)
            self.assertEqual(found["weights_sha256"], told["weights_sha256"])
        words = "categorical: city; date: since; boolean: member; numeric: 3 others"
        job = self.job("shown", spec)
        for command in (["check", job], ["train", job, "--workers", 1]):
            out, _ = self.espalier(*command)
            self.assertIn("features: auto: " + words, out)
            if command[0] == "check":
                for column, kind in (("city", "category"), ("since", "date"),
                                     ("member", "boolean"), ("income", "number")):
                    self.assertRegex(out, r"\n  %s +%s +feature\n" % (column, kind))
        with open(self.path("shown.bundle", "model.json")) as f:
            schema = json.load(f)["schema"]
        self.assertEqual([rule["type"] for rule in schema["rules"]],
                         ["categorical", "numeric"] + ["date"] * 4 +
                         ["numeric", "boolean", "numeric"])
        metrics = self.result("evaluate", self.path("shown.bundle"), data)["metrics"]
        self.assertGreater(metrics["accuracy"], 0.7)

    def test_quartiles_and_validation_by_class_have_the_same_bits_on_any_number_of_workers(self):
        spec = self.spec(self.table("a.csv", rows_of(900, 1)))
        del spec["data"]["weight"]  # rows are counted below
        spec["data"]["features"]["scale"] = "robust"
        spec["data"]["validation"] = {"fraction": 0.25, "stratify": True}
        spec["data"]["shard_bytes"] = 4096
        first = self.same_bits(spec)
        with open(self.path("a.csv"), newline="") as f:
            labels = [row["y"] for row in csv.DictReader(f)]
        confusion = first["metrics"]["validation"]["confusion_matrix"]
        for name, row in zip(("bad", "good"), confusion):
            self.assertLessEqual(abs(sum(row) - labels.count(name) / 4), 1)

    def test_min_count_makes_a_vocabulary_of_a_column_of_any_number_of_values(self):
        chance = random.Random(5)
        users = [u for u in range(2000) for _ in range(5)] + list(range(2000, 32_000))
        chance.shuffle(users)
        with open(self.path("users.csv"), "w") as f:
            f.write("user,x,y\n")
            for user in users:
                f.write("u%d,%.3f,%d\n" % (user, chance.uniform(-1, 1), user < 2000 and user % 2))
        spec = self.spec(self.path("users.csv"), epochs=2, batch=500)
        spec["data"].pop("weight")
        group = {"columns": "user", "type": "categorical", "min_count": 4}
        spec["data"]["features"] = {"columns": ["x"], "groups": [group]}
        spec["data"]["shard_bytes"] = 64 << 10
        self.same_bits(spec, ((3, 1),))
        with open(self.path("first.bundle", "model.json")) as f:
            user = json.load(f)["preprocessing"]["features"][1]
        self.assertEqual(user["codes"], len(user["vocabulary"]) + 1)
        for name in user["vocabulary"]:
            self.assertLess(int(name[1:]), 2000)
        # A fifth of the rows are for validation, so some values have fewer than four rows left.
        self.assertGreater(len(user["vocabulary"]), 1200)
        out, _ = self.espalier("check", self.job("shown", spec))
        self.assertIn("{:,} values and others, one-hot".format(len(user["vocabulary"])), out)
        group["min_count"] = 1
        _, err = self.espalier("train", self.job("many", spec), "--workers", 1, code=None)
        self.assertIn("more than 10,000 different values", err)
        self.assertIn("min_count: 5", err)

    def test_unfit_columns_are_one_error_each(self):
        data = self.table("a.csv", rows_of(50, 1))
        cases = [
            ({"columns": "town", "type": "categorical"},
             "data.features.groups[0].columns: column 'town' does not exist"),
            ({"columns": "city", "type": "boolean"}, "neither true nor false"),
            ({"columns": "city", "type": "date"}, "is not a date"),
            ({"columns": "city"}, "is not a number"),
            ({"columns": "city", "type": "categorical", "encode": {"embedding": 0}},
             "groups[0].encode.embedding: found 0"),
            ({"columns": "city", "type": "categorical", "nulls": "mean"},
             "category, fail or drop"),
            ({"columns": "city", "typ": "categorical"}, "did you mean 'type'?")]
        for group, words in cases:
            spec = self.spec(data)
            spec["data"]["features"]["groups"] = [group]
            _, err = self.espalier("train", self.job("unfit", spec), "--workers", 1, code=None)
            self.assertIn(words, err)
            self.assertNotIn("Traceback", err)


if __name__ == "__main__":
    unittest.main()
