"""Jobs of three lines: the model that a preset makes from a table. Its bits depend only on the job
and the table."""
import json
import math
import os
import random
import re

import pytest

from espalier import ROOT, EspalierTest

import tables  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("data", "model", "config")


def churn(rows, seed=5):
    """Returns a table with numbers, nulls, categories, a date and an identifier, and its labels."""
    rng = random.Random(seed)
    cities = ["Rome", "Oslo", "Bern", "Kiel", "Cork", "Graz", "Metz", "Pisa", "Lund", "Bath"]
    lines, labels = ["id,age,income,city,plan,since,left"], []
    for i in range(rows):
        age, city = rng.randint(18, 80), rng.randrange(len(cities))
        income = math.exp(rng.gauss(10, 1))
        plan = rng.choice("abc")
        score = (age - 45) / 15 + (city - 4.5) / 3 + (2 if plan == "a" else -1)
        labels.append("yes" if score + rng.gauss(0, 0.2) > 0 else "no")
        lines.append("c-%06d,%s,%s,%s,%s,20%02d-0%d-1%d,%s" % (
            i * 7919 % 1000003, "" if rng.random() < 0.05 else age,
            "" if rng.random() < 0.02 else "%.2f" % income, cities[city], plan,
            rng.randint(10, 23), rng.randint(1, 9), rng.randint(0, 9), labels[-1]))
    return "\n".join(lines) + "\n", labels


def curve(rows, seed=6):
    """Returns numbers whose best line is a constant."""
    rng = random.Random(seed)
    lines = ["a,b,y"]
    for _ in range(rows):
        a, b = rng.uniform(-3, 3), rng.uniform(-3, 3)
        lines.append("%.4f,%.4f,%.4f" % (a, b, 1e6 * (math.cos(2 * a) * math.cos(b)
                                                      + rng.gauss(0, 0.05))))
    return "\n".join(lines) + "\n"


def extremes(rows, seed=7):
    """Returns by name tables of large numbers, and of numbers without a mean, with similar targets.
    """
    rng = random.Random(seed)

    def heavy():
        return math.tan(math.pi * (rng.random() - 0.5))

    makers = {
        "large": lambda a: (a, 1e30 * rng.gauss(0, 1), 1e-30 * rng.gauss(0, 1), 1e9 * (3 + a)),
        "heavy": lambda a: (heavy(), heavy() ** 3, a, 5 * a + heavy()),
        "lognormal": lambda a: (a, math.exp(10 * rng.gauss(0, 1)), 0.1 * a,
                                math.exp(3 * a + 5 * rng.gauss(0, 1))),
        "counts": lambda a: (a, rng.gauss(0, 1), a * a, int(1e9 * math.exp(a)))}
    for name, maker in makers.items():
        yield name, "a,b,c,y\n" + "".join(
            ",".join(map(repr, maker(rng.gauss(0, 1)))) + "\n" for _ in range(rows))


class PresetTest(EspalierTest):
    def minimal(self, name, csv, label, **more):
        return self.job(name, dict({"preset": "good", "data": {
            "train": self.write(name + ".csv", csv), "label": label}}, **more))

    def text(self, command, job, *more):
        out, _ = self.espalier(command, job, *more)
        return out

    def model(self, name):
        with open(os.path.join(self.path(name + ".bundle"), "model.json")) as f:
            return json.load(f)

    def test_extreme_numbers_give_finite_models(self):
        for name, csv in extremes(300):
            for loss in ("mse", "mae"):
                job = self.minimal(name, csv, "y", preset="fast", model={"loss": loss},
                                   output={"path": self.path(name), "overwrite": True})
                metrics = self.result("train", job)["metrics"]
                for part in ("train", "validation"):
                    values = [metrics[part][key] for key in ("loss", "rmse", "mae", "r2")]
                    self.assertTrue(all(v is not None for v in values), (name, loss, metrics))
                if name in ("large", "counts"):
                    self.assertGreater(metrics["validation"]["r2"], 0.9, (name, loss))

    def test_a_table_with_nulls_and_categories_is_learnt(self):
        csv, _ = churn(3000)
        job = self.minimal("churn", csv, "left")
        checked = self.text("check", job)
        self.assertIn("classification (the label holds text)", checked)
        self.assertRegex(checked, r"preset +good")
        self.assertIn("left out: id (different in nearly every row)", checked)
        result = self.result("train", job, "--workers", 1, "--threads", 1)
        self.assertEqual(result["status"], "SUCCEEDED", result)
        self.assertGreater(result["metrics"]["validation"]["accuracy"], 0.9)
        self.assertEqual(result["metrics"]["validation"]["rows"], 3000)  # each by one of the fits
        self.assertEqual(result["fits"], 5)
        model = self.model("churn")
        self.assertEqual(model["ensemble"], {"fits": 5, "constant": False})
        self.assertEqual(model["spec"]["train"]["batch"], 128)
        self.assertEqual(model["spec"]["train"]["epochs"], 24)
        self.assertEqual(len(model["training"]["best_epochs"]), 5)
        self.assertLess(0.25, model["training"].get("temperature", 1))

    def test_a_curve_is_learnt_as_a_regression(self):
        job = self.minimal("curve", curve(4000), "y")
        self.assertIn("regression (the label has numbers with fractions)", self.text("check", job))
        result = self.result("train", job, "--workers", 1, "--threads", 1)
        self.assertEqual(result["status"], "SUCCEEDED", result)
        self.assertGreater(result["metrics"]["validation"]["r2"], 0.95)

    def real(self, table, label, preset):
        """Returns the metrics of the test rows of a table of tools/lib/tables.py."""
        names, rows = tables.table(tables.fetch(os.path.join(ROOT, "build", "cache")), table)
        tables.write(self.path(table), names, rows)
        job = self.job("%s-%s" % (table, preset), {"preset": preset, "data": {
            "train": self.path(table, "train.csv"), "test": self.path(table, "test.csv"),
            "label": label}})
        result = self.result("train", job, "--workers", 1, "--threads", 1)
        self.assertEqual(result["status"], "SUCCEEDED", result)
        return result["metrics"]["test"]

    def test_digits_are_learnt_fast(self):
        """tests/e2e/examples_test.py has the accuracy of `good`. Seeds change that of `fast` from
        98.3 to 98.9 %. Without hidden layers it is 95.8 %."""
        test = self.real("digits", "digit", "fast")
        self.assertGreater(test["accuracy"], 0.975)
        self.assertLess(test["loss"], 0.1)

    def test_diabetes_is_learnt_by_each_preset(self):
        """The r2 of the mean is 0. Seeds change that of the presets from 0.33 to 0.43. Without
        held-out rows it is 0.29."""
        for preset in ("good", "fast"):
            self.assertGreater(self.real("diabetes", "progression", preset)["r2"], 0.3)

    def test_the_bits_depend_on_no_worker_or_thread(self):
        csv, _ = churn(9000)
        self.same_bits({"preset": "fast", "data": {
            "train": self.write("t.csv", csv), "label": "left"}}, ((3, 1), (2, 2)))

    def test_the_bits_of_several_fits_depend_on_no_worker_or_thread(self):
        csv, _ = churn(900)
        self.same_bits({"preset": "good", "train": {"epochs": 4}, "data": {
            "train": self.write("t.csv", csv), "label": "left"}}, ((3, 1), (2, 2)))

    def test_the_lines_of_several_fits_name_the_fit(self):
        csv, _ = churn(600)
        job = self.minimal("fits", csv, "left", train={"epochs": 2})
        out, _ = self.espalier("train", job, "--workers", 1)
        lines = [line for line in out.splitlines() if line.startswith("fit ")]
        self.assertEqual([line.partition("  ")[0] for line in lines],
                         ["fit %d/5 epoch %d/2" % (fit, epoch)
                          for fit in range(1, 6) for epoch in (1, 2)], out)
        self.assertLess(max(map(len, lines)), 80, out)

    def test_noise_is_answered_no_worse_than_by_a_constant(self):
        rng = random.Random(3)
        for name, label in (("numbers", lambda: "%.4f" % rng.gauss(5, 1)),
                            ("classes", lambda: "ny"[rng.random() < 0.2])):
            rows = ["%.3f,%.3f,%s" % (rng.gauss(0, 1), rng.gauss(0, 1), label())
                    for _ in range(400)]
            train = self.write(name + ".csv", "a,b,y\n" + "\n".join(rows[:200]) + "\n")
            test = self.write(name + "-test.csv", "a,b,y\n" + "\n".join(rows[200:]) + "\n")
            result = self.result("train", self.job(name, {"preset": "good", "data": {
                "train": train, "test": test, "label": "y"}}), "--workers", 1)
            metrics = result["metrics"]["test"]
            if name == "numbers":
                self.assertGreater(metrics["r2"], -0.06, metrics)
            else:
                constant = -0.2 * math.log(0.2) - 0.8 * math.log(0.8)
                self.assertLess(metrics["loss"], 1.1 * constant, metrics)
            self.assertTrue(self.model(name)["ensemble"]["constant"])

    def test_a_model_of_several_fits_begins_another(self):
        csv, _ = churn(600)
        first = self.result("train", self.minimal("first", csv, "left",
                                                  train={"epochs": 10}), "--workers", 1)
        more = self.result("train", self.minimal("more", csv, "left", train={
            "epochs": 1, "initial": self.path("first.bundle"), "seed": 2}), "--workers", 1)
        plain = self.result("train", self.minimal("plain", csv, "left", train={
            "epochs": 1, "seed": 2}), "--workers", 1)
        losses = [r["metrics"]["validation"]["loss"] for r in (first, more, plain)]
        self.assertLess(losses[1], (losses[0] + losses[2]) / 2, losses)

    def test_a_model_of_several_fits_is_trained_for_more_epochs(self):
        csv, _ = churn(600)
        def job(epochs):
            return self.minimal("first", csv, "left", output={
                "path": self.path("first.bundle"), "overwrite": True}, train={
                    "epochs": epochs, "checkpoint": {"every_steps": 16}})
        short = self.result("train", job(3), "--workers", 1)
        digests = []
        for workers in (1, 3):
            longer = self.result("train", job(9), "--resume", self.path("first.bundle"),
                                 "--output", self.path("more-%d" % workers), "--workers", workers)
            digests.append(longer["weights_sha256"])
            self.assertEqual(longer["fits"], 5)
            self.assertGreater(longer["steps"], short["steps"])
            self.assertTrue(all(3 < epoch <= 9 for epoch in longer["best_epochs"]),
                            longer["best_epochs"])
            self.assertLess(longer["metrics"]["validation"]["loss"],
                            short["metrics"]["validation"]["loss"] + 0.02)
        self.assertEqual(digests[0], digests[1])

    def test_the_complete_job_gives_the_same_model(self):
        csv, _ = churn(700)
        job = self.minimal("first", csv, "left", train={"epochs": 5})
        complete = self.text("check", job, "--effective")
        self.assertIn("preset: none", complete)
        self.assertNotRegex(complete, r"(batch|epochs): auto")
        again = self.write("again.yaml", re.sub(r'path: ".*first\.bundle"',
                                                'path: "%s"' % self.path("again.bundle"),
                                                complete))
        digests = [self.result("train", path, "--workers", 1, "--threads", 1)["weights_sha256"]
                   for path in (job, again)]
        self.assertEqual(digests[0], digests[1])

    def test_ten_rows_are_enough_for_a_model(self):
        csv = "x,y\n" + "".join("%d,%s\n" % (i, "ab"[i > 4]) for i in range(10))
        result = self.result("train", self.minimal("tiny", csv, "y"), "--workers", 1)
        self.assertEqual(result["status"], "SUCCEEDED", result)
        self.assertIsNone(result["metrics"]["validation"])
