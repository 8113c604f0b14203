"""Options of `model` and `train` beyond the defaults, through real daemons: the same bits for any
number of workers, weights that other programs can compute with, earlier models as start."""
import json
import math
import os
import random
import signal
import subprocess
import unittest

import pytest

from espalier import EspalierTest, await_step, children_of, command_line_of, json_lines

import private_python  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("model", "training")

PACKAGES = ["numpy==1.26.4", "safetensors==0.4.5"]

# Computes a table's loss as the bundle's README describes: layer norms, residual links, exp for
# counts.
PREDICT = """
import csv, json, sys
import numpy as np
from safetensors.numpy import load_file
weights, table = load_file(sys.argv[1]), list(csv.reader(open(sys.argv[2])))[1:]
task, residual = sys.argv[3], sys.argv[4] == "residual"
weights = {k: v.astype(np.float64) for k, v in weights.items()}
x = np.array([[float(v) for v in row[1:]] for row in table])
y = np.array([float(row[0]) for row in table])
count = 1 + max(int(k.split(".")[1]) for k in weights)
for i in range(count):
    s = x @ weights["layers.%d.weight" % i].T + weights["layers.%d.bias" % i]
    if i + 1 < count:
        if "layers.%d.norm.weight" % i in weights:
            s = (s - s.mean(1, keepdims=True)) / np.sqrt(s.var(1, keepdims=True) + 1e-5)
            s = s * weights["layers.%d.norm.weight" % i] + weights["layers.%d.norm.bias" % i]
        s = np.maximum(s, 0)
        s = s + x if residual and i > 0 and s.shape == x.shape else s
    x = s
if task == "poisson":
    mean = np.exp(x[:, 0])
    loss, rmse = (mean - y * x[:, 0]).mean(), np.sqrt(((mean - y) ** 2).mean())
    print(json.dumps({"loss": loss, "rmse": rmse}))
else:
    x = x - x.max(axis=1, keepdims=True)
    log_p = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
    print(json.dumps({"loss": -log_p[np.arange(len(y)), y.astype(int)].mean(),
                      "accuracy": (log_p.argmax(axis=1) == y).mean()}))
"""


class TrainingTest(EspalierTest):
    def train(self, name, spec, workers=1, threads=1):
        result = self.result("train", self.job(name, spec), "--workers", workers,
                             "--threads", threads)
        self.assertEqual(result["status"], "SUCCEEDED", result)
        return result

    def read(self, result, name):
        with open(os.path.join(result["bundle"], name)) as f:
            return f.read()

    def weights(self, result):
        """Returns the bytes of each tensor, by name."""
        with open(os.path.join(result["bundle"], "weights.safetensors"), "rb") as f:
            content = f.read()
        end = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:end])
        return {name: content[end + t["data_offsets"][0]:end + t["data_offsets"][1]]
                for name, t in header.items()}

    def computed(self, result, table, task, *words):
        python = private_python.ensure("e2e", PACKAGES)
        done = subprocess.run([python, "-c", PREDICT,
                               os.path.join(result["bundle"], "weights.safetensors"), table, task,
                               *(words or [""])], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def rich_spec(self, csv, **train):
        """Uses most of the options at once."""
        spec = self.classes_spec(csv, **dict({
            "optimizer": {"rmsprop": {"learning_rate": 3e-3, "momentum": 0.5, "centered": True}},
            "schedule": {"plateau": {"patience": 1, "factor": 0.5, "warmup": "1 epoch"}},
            "accumulate_steps": 3, "averaging": {"ema": {"decay": 0.9, "start": "1 epoch"}},
            "class_weight": "balanced", "clip_value": 0.5, "l1": 1e-4, "epochs": 6}, **train))
        spec["data"]["features"] = {"scale": "none"}
        spec["model"].update(hidden=[16, 16, 8], dropout=[0.2, 0, 0.1], layer_norm=True,
                             residual=True)
        return spec

    def test_all_at_once_has_the_same_bits_and_computes_what_was_reported(self):
        csv = self.classes_csv("a.csv", 777)
        spec = self.rich_spec(csv)
        spec["data"]["test"] = self.classes_csv("t.csv", 300, seed=9)
        first = self.train("first", spec)
        for workers, threads in ((1, 2), (2, 1), (3, 2), (5, 1)):
            other = self.train("other-%dx%d" % (workers, threads), spec, workers, threads)
            self.assertEqual(other["weights_sha256"], first["weights_sha256"])
            self.assertEqual(other["metrics"], first["metrics"])
        found = self.computed(first, spec["data"]["test"], "classes", "residual")
        test = first["metrics"]["test"]
        self.assertAlmostEqual(found["loss"], test["loss"], places=4)
        self.assertAlmostEqual(found["accuracy"], test["accuracy"], places=6)
        weights = json.loads(self.read(first, "model.json"))["preprocessing"]["class_weights"]
        self.assertEqual(len(weights), 3)
        readme = self.read(first, "README.md")
        for words in ("norm.weight", "adds that one's output", "moving average"):
            self.assertIn(words, readme)

    @pytest.mark.long
    def test_accumulated_and_averaged_state_survives_a_kill(self):
        csv = self.classes_csv("k.csv", 2000)
        spec = self.rich_spec(csv, epochs=1500)
        quiet = self.train("quiet", spec, 2)
        process = self.start("train", self.job("disturbed", spec), "--workers", 2, "--json")
        await_step(process)
        workers = [pid for pid in children_of(process.pid)
                   if os.path.basename(command_line_of(pid)[0]) == "espalier-worker"]
        os.kill(workers[0], signal.SIGKILL)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(json_lines(out)[-1]["weights_sha256"], quiet["weights_sha256"])

    def test_a_run_that_is_resumed_goes_on_with_its_averages(self):
        csv = self.classes_csv("r.csv", 500)
        spec = self.rich_spec(csv, steps=70, checkpoint={"every_steps": 25})
        del spec["train"]["epochs"]
        whole = self.train("whole", spec)
        spec["resume"] = whole["bundle"]
        again = self.train("again", spec, 2)
        self.assertEqual(again["weights_sha256"], whole["weights_sha256"])
        self.assertEqual(again["metrics"], whole["metrics"])

    def test_gradient_descent_ignores_how_many_rows_are_worked_at_a_time(self):
        csv = self.classes_csv("g.csv", 600)
        losses = []
        for batch in (50, 200):
            spec = self.classes_spec(csv, batch=batch, leaves=4, epochs=8,
                                     optimizer={"gd": {"learning_rate": 0.5}})
            spec["model"] = {"hidden": [8], "activation": "tanh", "precision": "float64"}
            losses.append(self.train("gd-%d" % batch, spec)["metrics"]["validation"]["loss"])
        self.assertAlmostEqual(losses[0], losses[1], places=12)
        self.assertLess(losses[0], math.log(3))

    def test_counts_by_poisson_are_predicted_better_than_by_their_mean(self):
        chance = random.Random(3)

        def table(name, rows):
            lines = ["y,a,b"]
            for _ in range(rows):
                a, b = chance.uniform(-1, 1), chance.uniform(-1, 1)
                rate, count, product = math.exp(1 + a - 0.5 * b), 0, chance.random()
                while product > math.exp(-rate):
                    product *= chance.random()
                    count += 1
                lines.append("%d,%.6f,%.6f" % (count, a, b))
            return self.write(name, "\n".join(lines) + "\n")

        spec = {"data": {"train": table("p.csv", 1500), "test": table("pt.csv", 500), "label": "y",
                         "features": {"scale": "none"}},
                "model": {"task": "regression", "loss": "poisson", "hidden": [16]},
                "train": {"batch": 64, "epochs": 15, "schedule": {"polynomial": {"power": 2}},
                          "optimizer": {"adagrad": {"learning_rate": 0.05}}}}
        result = self.train("poisson", spec, 2)
        test = result["metrics"]["test"]
        self.assertGreater(test["r2"], 0.3)  # for the means themselves, about 0.4
        found = self.computed(result, spec["data"]["test"], "poisson")
        self.assertAlmostEqual(found["loss"], test["loss"], places=4)
        self.assertAlmostEqual(found["rmse"], test["rmse"], places=4)
        self.assertIn("exp(y)", self.read(result, "README.md"))

    def test_the_quantile_that_is_asked_for_is_predicted(self):
        chance = random.Random(4)
        csv = self.write("q.csv", "x,y\n" + "".join(
            "%.5f,%.5f\n" % (x, 10 * x + chance.uniform(-1, 1))
            for x in (chance.uniform(-1, 1) for _ in range(1000))))
        medians = []
        for quantile in (0.1, 0.9):
            spec = {"data": {"train": csv, "label": "y", "features": {"scale": "none"}},
                    "model": {"task": "regression", "loss": {"quantile": {"quantile": quantile}},
                              "target_scale": "none"},
                    "train": {"epochs": 40, "batch": 50, "optimizer": {"adam": {
                        "learning_rate": 0.05}}, "averaging": {"mean": {"start": "20 epochs"}}}}
            result = self.train("q%d" % (10 * quantile), spec)
            bias = self.weights(result)["layers.0.bias"]
            medians.append(memoryview(bias).cast("f")[0])
        self.assertAlmostEqual(medians[0], -0.8, delta=0.1)
        self.assertAlmostEqual(medians[1], 0.8, delta=0.1)

    def test_an_earlier_model_is_begun_with_and_its_frozen_layers_stay(self):
        csv = self.classes_csv("w.csv", 600)
        spec = self.classes_spec(csv, epochs=5)
        first = self.train("first", spec)
        spec["train"].update(initial=first["bundle"], frozen=[0, 1], epochs=1)
        second = self.train("second", spec, 2)
        before, after = self.weights(first), self.weights(second)
        for name in before:
            self.assertEqual(before[name] == after[name], not name.startswith("layers.2."), name)
        # Fewer classes: the absent classes stay. Their rows are still understood.
        spec["data"]["train"] = self.classes_csv("two.csv", 600, classes=2)
        fewer = self.train("fewer", spec)
        self.assertEqual(len(self.weights(fewer)["layers.2.bias"]), 12)
        spec["train"]["initial"] = {"from": first["bundle"], "refit_preprocessing": True}
        error = self.result("train", self.job("unfit", spec), "--workers", 1, code=1)
        self.assertIn("other classes or targets", json.dumps(error))
        spec["train"]["initial"] = {"from": os.path.join(first["bundle"], "weights.safetensors"),
                                    "layers": [0, 1]}
        third = self.weights(self.train("third", spec))
        self.assertEqual(third["layers.0.weight"], before["layers.0.weight"])
        self.assertEqual(len(third["layers.2.bias"]), 8)

    def cities(self, name, rows, scale, cities, classes):
        chance, lines = random.Random(rows), ["x,city,y"]
        for i in range(rows):
            city, x = chance.choice(cities), chance.gauss(0, 1)
            label = classes[i % len(classes) if i < 9 else int(x + len(city) > 5)]
            lines.append("%.6f,%s,%s" % (x * scale, city, label))
        return self.write(name, "\n".join(lines) + "\n")

    def test_a_step_of_size_zero_leaves_the_earlier_model_as_good_as_it_was(self):
        """Trains on rows of another scale, with a new category and without an earlier one."""
        old = self.cities("old.csv", 400, 1, ["Oslo", "Lima", "Rome"], ["a", "b"])
        new = self.cities("new.csv", 300, 50, ["Oslo", "Rome", "Ankara"], ["a", "b"])
        third = self.cities("third.csv", 200, 50, ["Oslo", "Lima"], ["a", "b", "aa"])
        train = {"epochs": 4, "seed": 3, "optimizer": {"adam": {"learning_rate": 0.05}}}
        specs = {
            "plain": {"preset": "none", "model": {"hidden": [8]}, "train": train, "data": {
                "label": "y", "features": {"groups": [{"columns": ["city"],
                                                       "type": "categorical"}]}}},
            "good": {"preset": "good", "data": {"label": "y"},
                     "model": {"hidden": [8], "parametrization": "ntp", "scaling_layer": True},
                     "train": dict(train, calibrate=False, ensemble={"fits": 1})}}
        for name, spec in specs.items():
            def job(table, **train):
                made = json.loads(json.dumps(spec))
                made["data"]["train"] = table
                made["train"].update(train)
                return made
            first = self.train(name, job(old))
            loss = self.result("evaluate", first["bundle"], old)["metrics"]["loss"]
            still = {"adam": {"learning_rate": 1e-30}}
            for workers in (1, 3):
                after = self.train("%s-%d" % (name, workers), job(
                    new, initial=first["bundle"], optimizer=still, epochs=1, seed=9), workers)
                same = self.result("evaluate", after["bundle"], old)["metrics"]["loss"]
                self.assertAlmostEqual(same, loss, delta=1e-6)
            more = self.train(name + "-more", job(third, initial=after["bundle"], epochs=1))
            with open(os.path.join(more["bundle"], "model.json")) as f:
                fitted = json.load(f)["preprocessing"]
            self.assertEqual(fitted["classes"], ["a", "aa", "b"])
            self.assertEqual(fitted["features"][1]["vocabulary"],
                             ["Ankara", "Lima", "Oslo", "Rome"])
            self.espalier("check", self.job("again", job(third, initial=first["bundle"])))

    def test_a_warm_start_keeps_columns_that_are_constant_in_the_new_rows(self):
        chance = random.Random(4)
        rows = [(chance.random(), chance.gauss(0, 1), chance.choice("uvw")) for _ in range(400)]
        def table(name, change):
            lines = ["a,b,c,y"]
            for i, row in enumerate(rows):
                a, b, c = change(i, *row)
                lines.append("%s,%s,%s,%s" % (a, b, c, "pq"[row[0] + row[1] > 0.5]))
            return self.write(name, "\n".join(lines) + "\n")
        old = table("old.csv", lambda i, a, b, c: ("%.4f" % a, "%.4f" % b, c))
        job = {"preset": "good", "data": {"train": old, "label": "y"},
               "model": {"parametrization": "ntp", "scaling_layer": True},
               "train": {"epochs": 4, "seed": 3, "calibrate": False, "ensemble": {"fits": 1}}}
        first = self.train("old", job)
        loss = self.result("evaluate", first["bundle"], old)["metrics"]["loss"]
        job["train"].update(initial=first["bundle"], epochs=1,
                            optimizer={"adam": {"learning_rate": 1e-30}})
        for name, change, column in (
                ("number", lambda i, a, b, c: ("%.4f" % a, "2.5", c), "b"),
                ("category", lambda i, a, b, c: ("%.4f" % a, "%.4f" % b, "v"), "c"),
                ("empty", lambda i, a, b, c: ("%.4f" % a, "", c), "b"),
                ("digits", lambda i, a, b, c: ("%.4f" % a, "%.4f" % b, i % 3), "c")):
            job["data"]["train"] = table(name + ".csv", change)
            for workers in (1, 3):
                after = self.train("%s-%d" % (name, workers), job, workers)
                same = self.result("evaluate", after["bundle"], old)["metrics"]["loss"]
                self.assertAlmostEqual(same, loss, delta=1e-6)
            with open(os.path.join(after["bundle"], "model.json")) as f:
                notes = json.load(f).get("notes", [])
            self.assertEqual(any("'%s' is a feature as in the model" % column in note
                                 for note in notes), name != "digits", notes)
            self.espalier("check", self.job(name, job))

    def test_early_stopping_by_the_training_rows_needs_no_validation(self):
        spec = self.classes_spec(self.classes_csv("e.csv", 600), epochs=50)
        del spec["data"]["validation"]
        spec["train"]["early_stopping"] = {"metric": "loss", "patience": 2, "min_delta": 10}
        weights = []
        for workers in (1, 2):
            result = self.train("stopped%d" % workers, spec, workers)
            self.assertEqual((result["stopped_because"], result["epochs"]), ("early stopping", 3))
            weights.append(self.weights(result))
        self.assertEqual(weights[0], weights[1])
        spec["train"].pop("early_stopping")
        spec["train"]["epochs"] = result["best_epoch"]
        self.assertEqual(self.weights(self.train("one", spec)), weights[0])

    def test_check_tells_a_model_that_does_not_fit(self):
        spec = self.classes_spec(self.classes_csv("c.csv", 200), initial="no/such/model")
        _, err = self.espalier("check", self.job("missing", spec), code=2)
        self.assertIn("no/such/model/weights.safetensors", err)
        spec["train"] = {"class_weight": {"7": 2}}
        _, err = self.espalier("check", self.job("label", spec), code=2)
        self.assertIn("train.class_weight: found '7'", err)


if __name__ == "__main__":
    unittest.main()
