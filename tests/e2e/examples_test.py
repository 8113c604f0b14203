"""The examples of small real tables: each gives the result that its file tells."""
import os
import re
import subprocess
import sys
import unittest

import pytest

from espalier import EspalierTest

import tables  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("data", "model")

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class ExamplesTest(EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.source = tables.fetch(os.path.join(ROOT, "build", "cache"))

    def example(self, name):
        """The example with its data and output here, and what it says of its result."""
        with open(os.path.join(ROOT, "config", name + ".yaml")) as f:
            text = f.read()
        told = re.search(r"^# Result, the same with any workers: (.*)$", text, re.M).group(1)
        return self.write(name + ".yaml", text.replace("build/", self.path("") + "/")), told

    def table(self, name):
        names, rows = tables.table(self.source, name)
        tables.write(self.path(name), names, rows)

    def train(self, name, workers):
        self.table(name)
        job, told = self.example(name)
        result = self.result("train", job, "--workers", workers, "--threads", 1)
        self.assertEqual(result["status"], "SUCCEEDED", result)
        self.assertIn("after %d epochs" % result["epochs"], told)
        return result["metrics"]["test"], told

    def test_breast_cancer(self):
        test, told = self.train("breast_cancer", 2)
        self.assertIn("test accuracy %.2f %%" % (100 * test["accuracy"]), told)

    def test_diabetes(self):
        test, told = self.train("diabetes", 1)
        self.assertIn("test r2 %.4f, rmse %.2f" % (test["r2"], test["rmse"]), told)

    def test_digits(self):
        test, told = self.train("digits", 3)
        self.assertIn("test accuracy %.2f %%" % (100 * test["accuracy"]), told)

    def test_iris(self):
        self.table("iris")
        sweep, told = self.example("iris_sweep")
        table = self.result("sweep", sweep, "--workers", 2, "--threads", 1)
        self.assertEqual(table["status"], "SUCCEEDED")
        self.assertEqual("best val_accuracy %.4f, of trial %d." %
                         (table["best"]["value"], table["best"]["trial"]), told)

    def test_the_tool_names_what_it_does_not_know(self):
        done = subprocess.run([sys.executable, tables.__file__, self.directory, "cars"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("breast_cancer, diabetes, digits, iris, wine", done.stderr)


if __name__ == "__main__":
    unittest.main()
