"""The examples: each gives the result that its file and its page in docs/examples/ state."""
import csv
import os
import re
import shutil
import subprocess
import sys
import unittest

import pytest

from espalier import EspalierTest

import example_tables  # in tools/lib, which `espalier` puts on the path
import mnist
import tables

pytestmark = [pytest.mark.covers("config", "data", "model"), pytest.mark.pages]

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# Allowed difference of a result from the rounded figure.
BOUNDS = {"accuracy": 0.01, "f1_micro": 0.01, "auc": 0.01, "r2": 0.01, "rmse": 0.06}


class ExamplesTest(EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.source = tables.fetch(os.path.join(ROOT, "build", "cache"))

    def example(self, name):
        """Returns the example with its data and output here, and its text about the result."""
        with open(os.path.join(ROOT, "config", name + ".yaml")) as f:
            text = f.read()
        stated = re.search(r"^# Result, the same with any workers: (.*)$", text, re.M).group(1)
        return self.write(os.path.basename(name) + ".yaml",
                          text.replace("build/", self.path("") + "/")), stated

    def recognised(self, name, workers=2):
        """Trains config/examples/NAME.yaml. Returns its result and its text about the result. Its
        page repeats the job and this text. The figures in the text are those of the result."""
        os.makedirs(self.path("cache"), exist_ok=True)
        for package in os.listdir(os.path.join(ROOT, "build", "cache")):  # fetched before
            os.symlink(os.path.join(ROOT, "build", "cache", package), self.path("cache", package))
        if name in example_tables.NAMES:
            example_tables.write(self.path(""), name)
        job, stated = self.example("examples/" + name)
        with open(os.path.join(ROOT, "docs", "examples", name + ".md")) as f:
            page = f.read()
        with open(os.path.join(ROOT, "config", "examples", name + ".yaml")) as f:
            keys = f.read().partition("\nname: ")[2]
        self.assertIn(stated[0].upper() + stated[1:], page)
        self.assertIn("```yaml\nname: %s```" % keys, page)
        result = self.result("train", job, "--workers", workers, "--threads", 1)
        self.assertEqual(result["status"], "SUCCEEDED", result)
        metrics = result["metrics"]["validation" if stated.startswith("validation") else "test"]
        for key, figure, share in re.findall(r"(accuracy|auc|f1_micro|rmse|r2) ([\d.]+\d)( %)?",
                                             stated):
            figure = float(figure) / (100 if share else 1)
            self.assertAlmostEqual(metrics[key], figure, delta=BOUNDS[key], msg=metrics)
        return result, stated

    def predicted(self, result, name, keep):
        """Returns the rows that a model predicts of its test table."""
        scored = self.path("scored")
        self.espalier("predict", result["bundle"], self.path(name, "test.csv"), "--output", scored,
                      "--keep", keep)
        with open(os.path.join(scored, "part-00000.csv"), newline="") as f:
            return list(csv.DictReader(f))

    def table(self, name):
        names, rows = tables.table(self.source, name)
        tables.write(self.path(name), names, rows)

    def train(self, name, workers):
        self.table(name)
        job, stated = self.example(name)
        result = self.result("train", job, "--workers", workers, "--threads", 1)
        self.assertEqual(result["status"], "SUCCEEDED", result)
        self.assertIn("after %d epochs" % result["epochs"], stated)
        return result["metrics"]["test"], stated

    def test_breast_cancer(self):
        test, stated = self.train("breast_cancer", 2)
        self.assertIn("test accuracy %.2f %%" % (100 * test["accuracy"]), stated)

    def test_diabetes(self):
        test, stated = self.train("diabetes", 1)
        self.assertIn("test r2 %.4f, rmse %.2f" % (test["r2"], test["rmse"]), stated)

    def test_digits(self):
        test, stated = self.train("digits", 3)
        self.assertIn("test accuracy %.2f %%" % (100 * test["accuracy"]), stated)

    def test_iris(self):
        self.table("iris")
        sweep, stated = self.example("iris_sweep")
        table = self.result("sweep", sweep, "--workers", 2, "--threads", 1)
        self.assertEqual(table["status"], "SUCCEEDED")
        self.assertEqual("best val_accuracy %.4f, of trial %d." %
                         (table["best"]["value"], table["best"]["trial"]), stated)

    def test_churn(self):
        self.recognised("churn")

    def test_houses(self):
        self.recognised("houses")

    def test_flights(self):
        self.recognised("flights", 3)

    def test_clicks(self):
        self.recognised("clicks")
        features = self.result("check", self.path("clicks.yaml"))["features"]
        self.assertIn("hashed to 4,096, one-hot", [f["encoding"] for f in features])

    @pytest.mark.long
    def test_tags(self):
        self.recognised("tags")

    def test_counts(self):
        self.recognised("counts", 1)

    @pytest.mark.long
    def test_quantiles(self):
        result, stated = self.recognised("quantiles")
        rows = self.predicted(result, "quantiles", "minutes")
        covered = sum(float(row["minutes"]) <= float(row["prediction_minutes"]) for row in rows)
        self.assertAlmostEqual(covered / len(rows), int(stated.split()[0]) / 100, delta=0.02)

    def test_anomalies(self):
        result, stated = self.recognised("anomalies", 1)
        sensors = ["s%d" % i for i in range(10)]
        rows = self.predicted(result, "anomalies", ",".join(["fault"] + sensors))

        def error(row):
            return max(abs(float(row[s]) - float(row["prediction_" + s])) for s in sensors)
        found, faults = map(int, re.findall(r"\d+", stated))
        self.assertEqual(sum(row["fault"] == "yes" for row in rows), faults)
        largest = sorted(rows, key=error, reverse=True)[:faults]
        self.assertAlmostEqual(sum(row["fault"] == "yes" for row in largest), found, delta=2)

    def test_jobs_in_the_words_of_spark_and_sparktorch(self):
        for name, table in (("spark", "iris"), ("sparktorch", "digits")):
            self.table(table)
            self.recognised(name)
            shutil.rmtree(self.path("cache"))

    @pytest.mark.long
    def test_mnist(self):
        mnist.main(self.path(""))
        job, stated = self.example("mnist")
        result = self.result("train", job, "--workers", 2, "--threads", 1)
        accuracy = 100 * result["metrics"]["test"]["accuracy"]
        self.assertIn("test accuracy %.2f %%" % accuracy, stated)

    def test_the_tool_names_what_it_does_not_know(self):
        done = subprocess.run([sys.executable, tables.__file__, self.directory, "cars"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("breast_cancer, diabetes, digits, iris, wine", done.stderr)


if __name__ == "__main__":
    unittest.main()
