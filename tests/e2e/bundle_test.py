"""The bundle: its content, other programs that read it, and results equal to the reported ones."""
import csv
import json
import os
import re
import socket
import subprocess
import unittest

import pytest

from espalier import EspalierTest

import private_python  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("bundle")

PACKAGES = ["numpy==1.26.4", "safetensors==0.4.5"]

# Opens the weights with the package and predicts the rows of a table by itself. With
# `scale: none`, integer labels and relu, it needs no other information.
PREDICT = """
import csv, json, sys
import numpy as np
from safetensors.numpy import load_file
weights, table = load_file(sys.argv[1]), list(csv.reader(open(sys.argv[2])))[1:]
x = np.array([[float(v) for v in row[1:]] for row in table])
y = np.array([int(row[0]) for row in table])
count = len(weights) // 2
for i in range(count):
    w, b = weights["layers.%d.weight" % i], weights["layers.%d.bias" % i]
    x = x @ w.T.astype(np.float64) + b
    if i + 1 < count:
        x = np.maximum(x, 0)
x -= x.max(axis=1, keepdims=True)
log_p = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
print(json.dumps({
    "shapes": {k: list(v.shape) for k, v in weights.items()},
    "types": sorted({str(v.dtype) for v in weights.values()}),
    "loss": float(-log_p[np.arange(len(y)), y].mean()),
    "accuracy": float((log_p.argmax(axis=1) == y).mean()),
}))
"""


class BundleTest(EspalierTest):
    def setUp(self):
        super().setUp()
        csv_path = self.classes_csv("train.csv", 600)
        self.test_csv = self.classes_csv("test.csv", 200, seed=9)
        spec = self.classes_spec(csv_path, epochs=5)
        spec["data"].update(test=self.test_csv, features={"scale": "none"})
        self.trained = self.result("train", self.job("job", spec), "--workers", 2)
        self.bundle = self.trained["bundle"]

    def read(self, name, mode="r"):
        with open(os.path.join(self.bundle, name), mode) as f:
            return f.read()

    def test_the_python_package_opens_the_weights_and_finds_the_reported_metrics(self):
        python = private_python.ensure("e2e", PACKAGES)
        weights = os.path.join(self.bundle, "weights.safetensors")
        done = subprocess.run([python, "-c", PREDICT, weights, self.test_csv],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["shapes"], {
            "layers.0.weight": [16, 12], "layers.0.bias": [16], "layers.1.weight": [8, 16],
            "layers.1.bias": [8], "layers.2.weight": [3, 8], "layers.2.bias": [3]})
        self.assertEqual(found["types"], ["float32"])
        test = self.trained["metrics"]["test"]
        self.assertAlmostEqual(found["loss"], test["loss"], places=4)
        self.assertAlmostEqual(found["accuracy"], test["accuracy"], places=6)

    def test_the_weights_hold_no_time_job_host_or_path(self):
        content = self.read("weights.safetensors", "rb")
        length = int.from_bytes(content[:8], "little")
        header = content[8:8 + length].decode()
        for word in (self.trained["job"], socket.gethostname(), self.directory, "/"):
            self.assertNotIn(word, header)
        self.assertIsNone(re.search(r"20\d\d-\d\d|\d{9,}", header), header)

    def test_the_bundle_holds_model_history_and_readme(self):
        self.assertEqual(sorted(os.listdir(self.bundle)), [
            ".writer.json", "README.md", "history.csv", "model.json", "weights.safetensors"])
        model = json.loads(self.read("model.json"))
        text = json.dumps(model)
        for word in ("spec", "schema", "preprocessing", "metrics", "fingerprint", "arithmetic"):
            self.assertIn(word, text)
        rows = list(csv.DictReader(self.read("history.csv").splitlines()))
        self.assertEqual(len(rows), 5)
        self.assertIn("val_loss", rows[0])
        self.assertIn("val_accuracy", rows[0])
        self.assertAlmostEqual(float(rows[-1]["val_loss"]),
                               self.trained["metrics"]["validation"]["loss"], places=4)
        self.assertGreater(len(self.read("README.md")), 100)

    def test_nothing_temporary_is_left_beside_the_bundle(self):
        beside = [n for n in os.listdir(self.directory) if "bundle" in n]
        self.assertEqual(beside, ["job.bundle"])


if __name__ == "__main__":
    unittest.main()
