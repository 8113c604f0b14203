"""Copies of a model, in this process and in others: the same predictions, bit for bit."""
import copy
import hashlib
import io
import multiprocessing
import os
import pickle
import tempfile
import unittest
from concurrent.futures import ProcessPoolExecutor

import cloudpickle
import joblib
import numpy as np
import pytest

import bundles
import espalier

pytestmark = pytest.mark.covers("bundle", "model")


class Mine(espalier.Model):
    """A user's own class of models."""


class CopiesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="espalier-copies-")
        self.addCleanup(self.folder.cleanup)
        rng = np.random.default_rng(3)
        self.bundle = os.path.join(self.folder.name, "bundle")
        doc = bundles.document(5, {"precision": "float32"}, classes=("a", "b", "c"))
        bundles.write(self.bundle, doc, {
            "layers.0.weight": rng.normal(size=(4, 5)).astype("f4"),
            "layers.0.bias": rng.normal(size=4).astype("f4"),
            "layers.1.weight": rng.normal(size=(3, 4)).astype("f4"),
            "layers.1.bias": rng.normal(size=3).astype("f4")})
        self.model = espalier.load(self.bundle)
        self.rows = rng.normal(size=(100, 5))

    def check(self, other):
        self.assertIsNot(other, self.model)
        for what in ("predict_raw", "predict_proba", "predict"):
            np.testing.assert_array_equal(getattr(other, what)(self.rows),
                                          getattr(self.model, what)(self.rows))
        self.assertEqual((other.description, other.weights_sha256, other.features, other.classes),
                         (self.model.description, self.model.weights_sha256, self.model.features,
                          self.model.classes))

    def test_each_kind_of_pickle_gives_the_same_predictions(self):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            self.check(pickle.loads(pickle.dumps(self.model, protocol)))
        self.check(pickle.loads(cloudpickle.dumps(self.model)))
        for compress in (0, 3):
            raw = io.BytesIO()
            joblib.dump(self.model, raw, compress=compress)
            raw.seek(0)
            self.check(joblib.load(raw))

    def test_copies_in_this_process_give_the_same_predictions(self):
        self.check(copy.copy(self.model))
        self.check(copy.deepcopy(self.model))
        self.check(copy.deepcopy({"model": self.model})["model"])

    def test_a_copy_needs_no_bundle(self):
        raw = pickle.dumps(self.model)
        self.folder.cleanup()
        self.check(pickle.loads(raw))

    def test_a_subclass_keeps_its_class(self):
        with open(os.path.join(self.bundle, "model.json"), "rb") as f:
            document = f.read()
        with open(os.path.join(self.bundle, "weights.safetensors"), "rb") as f:
            mine = Mine.from_bytes(document, f.read())
        self.assertIs(type(pickle.loads(pickle.dumps(mine))), Mine)

    def test_a_process_pool_computes_the_same(self):
        # "spawn", because a forked process must not inherit the threads of other tests.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            found = pool.submit(self.model.predict_proba, self.rows).result(60)
        np.testing.assert_array_equal(found, self.model.predict_proba(self.rows))

    def test_a_changed_pickle_is_refused(self):
        raw = pickle.dumps(self.model)
        at = raw.index(self.model.weights_sha256.encode())
        self.assertEqual(hashlib.sha256(self.model._files[1]).hexdigest(),
                         self.model.weights_sha256)
        with self.assertRaisesRegex(espalier.DataLossError, "SHA-256"):
            pickle.loads(raw[:at] + b"0" * 64 + raw[at + 64:])


if __name__ == "__main__":
    unittest.main()
