"""Scoring in Spark's executors, of models made by hand: no cluster takes part."""
import os
import sys
import tempfile
import unittest

import numpy as np
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F

import sparks

import espalier
from espalier.spark import EspalierModel

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
import bundles  # noqa: E402

WIDTH = 700  # many a block's rows are computed at a time


def made(nulls="fail"):
    """A model of a vector of WIDTH numbers beside one more."""
    rng = np.random.default_rng(3)
    names = ["features[%d]" % i for i in range(WIDTH)] + ["x"]
    features = [{"name": n, "shift": 0.5, "factor": 2, "null_value": 0.25} for n in names]
    tensors = {"layers.0.weight": rng.normal(size=(4, WIDTH + 1)) / 20, "layers.0.bias": np.ones(4),
               "layers.1.weight": rng.normal(size=(3, 4)), "layers.1.bias": np.zeros(3)}
    with tempfile.TemporaryDirectory() as folder:
        bundles.write(folder, bundles.document(WIDTH + 1, {"precision": "float32"}, nulls=nulls,
                                               classes=["0", "1", "2"], features=features),
                      {name: tensor.astype("f4") for name, tensor in tensors.items()})
        model = espalier.load(folder)
        return EspalierModel._of(*(open_bytes(folder, name) for name in
                                   ("model.json", "weights.safetensors"))), model


def open_bytes(folder, name):
    with open(os.path.join(folder, name), "rb") as f:
        return f.read()


class TransformTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.spark = sparks.session(cls)
        rng = np.random.default_rng(5)
        numbers = rng.normal(size=(500, WIDTH + 1)) * (rng.random((500, 1)) < 0.9)
        numbers[:, :WIDTH] *= rng.random((500, WIDTH)) < 0.3
        cls.numbers = numbers
        rows = [(i, float(row[-1]), Vectors.dense(row[:-1]) if i % 3 == 0 else
                 Vectors.sparse(WIDTH, np.flatnonzero(row[:-1]), row[:-1][row[:-1] != 0]))
                for i, row in enumerate(numbers)]
        cls.frame = cls.spark.createDataFrame(rows, ["id", "x", "features"])

    def scored(self, frame, model):
        model._set(inputCols=["features", "x"])
        rows = sorted(model.transform(frame).collect(), key=lambda row: row.id)
        return [np.array([row[name] if name == "prediction" else row[name].toArray()
                          for row in rows]) for name in ("prediction", "probability",
                                                         "rawPrediction")]

    def test_dense_and_sparse_vectors_are_scored_as_their_numbers_are(self):
        spark_model, model = made()
        prediction, probability, raw = self.scored(self.frame, spark_model)
        np.testing.assert_array_equal(prediction, model.predict(self.numbers))
        np.testing.assert_allclose(probability, model.predict_proba(self.numbers), atol=1e-5)
        np.testing.assert_allclose(raw, model.predict_raw(self.numbers), atol=1e-4)
        self.assertGreater(len(set(prediction)), 1)

    def test_a_null_vector_is_null_in_each_of_its_elements(self):
        gap = self.frame.withColumn("features", F.when(F.col("id") != 7, F.col("features")))
        spark_model, model = made("mean")
        numbers = self.numbers.copy()
        numbers[7, :WIDTH] = np.nan
        _, probability, _ = self.scored(gap, spark_model)
        np.testing.assert_allclose(probability, model.predict_proba(numbers), atol=1e-5)
        with self.assertRaisesRegex(Exception, r"'features\[0\]' has no value"):
            self.scored(gap, made()[0])

    def test_a_vector_that_is_too_short_names_what_is_expected(self):
        short = self.spark.createDataFrame([(0, 1.0, Vectors.sparse(WIDTH - 1, {2: 1.0}))],
                                           ["id", "x", "features"])
        with self.assertRaisesRegex(Exception, "expected at least %d elements" % WIDTH):
            self.scored(short, made()[0])

    def test_each_row_is_scored_once_for_all_columns(self):
        spark_model, _ = made()
        spark_model._set(inputCols=["features", "x"])
        plan = spark_model.transform(self.frame)._jdf.queryExecution().toString()
        physical = plan[plan.index("== Physical Plan =="):]
        self.assertEqual(physical.count("ArrowEvalPython"), 1, physical)


if __name__ == "__main__":
    unittest.main()
