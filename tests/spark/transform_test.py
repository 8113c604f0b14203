"""Tests scoring in Spark's executors with handmade models, without a cluster."""
import os
import sys
import tempfile
import unittest

import numpy as np
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F

import sparks

import espalier
from espalier.spark import EspalierModel

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
import bundles  # noqa: E402

WIDTH = 700  # wide enough that 500 rows are computed in several blocks


def made(nulls="fail", classes=("0", "1", "2"), width=WIDTH, name="features[%d]", more=("x",),
         shift=0.5, told=False, large=1.0):
    """Returns a model of a vector of `width` numbers and one more column. If `told` is true, the
    model has the column names of its table."""
    rng = np.random.default_rng(3)
    names = [name % i for i in range(width)] + list(more)
    features = [{"name": n, "shift": shift, "factor": 2, "null_value": 0.25} for n in names]
    tensors = {"layers.0.weight": large * rng.normal(size=(4, len(names))) / 20,
               "layers.0.bias": np.ones(4), "layers.1.bias": np.zeros(len(classes)),
               "layers.1.weight": large * rng.normal(size=(len(classes), 4))}
    document = bundles.document(len(names), {"precision": "float32"}, nulls=nulls,
                                classes=classes, features=features)
    if told:
        document["schema"]["names"] = names + ["label"]
    with tempfile.TemporaryDirectory() as folder:
        bundles.write(folder, document,
                      {name: tensor.astype("f4") for name, tensor in tensors.items()})
        model = espalier.load(folder)
        return EspalierModel._of(*(open_bytes(folder, name) for name in
                                   ("model.json", "weights.safetensors"))), model


def open_bytes(folder, name):
    with open(os.path.join(folder, name), "rb") as f:
        return f.read()


class TransformTest(unittest.TestCase):
    """Queries that fail have one partition. When a task fails, Spark 3.5 kills the other tasks, and
    a killed task may leave a closed socket to a task of the next query."""

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
            self.scored(gap.coalesce(1), made()[0])

    def test_a_vector_that_is_too_short_names_what_is_expected(self):
        short = self.spark.createDataFrame([(0, 1.0, Vectors.sparse(WIDTH - 1, {2: 1.0}))],
                                           ["id", "x", "features"])
        with self.assertRaisesRegex(Exception, "expected at least %d elements" % WIDTH):
            self.scored(short.coalesce(1), made()[0])

    def test_a_vector_of_another_length_than_in_training_is_refused(self):
        rows = [(0, 1.0, Vectors.sparse(WIDTH + 1, {2: 1.0})),
                (1, 1.0, Vectors.dense([1.0] * (WIDTH + 1)))]
        for row in rows:
            longer = self.spark.createDataFrame([row], ["id", "x", "features"])
            with self.assertRaisesRegex(Exception, r"shape \[701\], expected the model's 700 elem"):
                self.scored(longer.coalesce(1), made(told=True)[0])
        self.scored(self.frame.limit(5), made(told=True)[0])

    def test_a_vector_of_another_name_stands_for_the_models(self):
        other = self.frame.withColumnRenamed("features", "scaled")
        numbers = self.numbers[:, :WIDTH]
        for name in ("features[%d]", "%d"):
            spark_model, model = made(name=name, more=())
            renamed = spark_model.transform(other, {spark_model.featuresCol: "scaled"})
            rows = sorted(renamed.collect(), key=lambda row: row.id)
            np.testing.assert_array_equal([row.prediction for row in rows], model.predict(numbers))
            arrays = other.withColumn("scaled", vector_to_array("scaled"))
            rows = sorted(spark_model.setFeaturesCol("scaled").transform(arrays).collect(),
                          key=lambda row: row.id)
            np.testing.assert_array_equal([row.prediction for row in rows], model.predict(numbers))
        beside = made()[0]._set(featuresCol="scaled", categoricalCols=["x"])
        self.assertEqual(beside.transform(other).filter("prediction is null").count(), 0)

    def test_columns_that_are_missing_are_told_before_anything_runs(self):
        spark_model, _ = made()
        for columns in (dict(inputCols=["x"]), dict(inputCols=["id", "x"]),
                        dict(featuresCol="x")):
            with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                        "the table does not have 700 of the model's 701 features"):
                spark_model.copy()._set(**columns).transform(self.frame)

    def test_wide_sparse_vectors_are_scored_as_their_numbers_are(self):
        width = 1 << 15
        places = np.random.default_rng(8).integers(0, width, (50, 6))
        numbers = np.zeros((50, width))
        for row, columns in enumerate(places):
            numbers[row, columns] = row / 10.0
        rows = [(i, 1.0, Vectors.sparse(width, np.flatnonzero(v), v[v != 0]))
                for i, v in enumerate(numbers)]
        frame = self.spark.createDataFrame(rows, ["id", "x", "features"])
        for shift in (0.5, 0.0):
            spark_model, model = made(width=width, shift=shift, told=True)
            prediction, probability, raw = self.scored(frame, spark_model)
            dense = np.hstack([numbers, np.ones((50, 1))])
            np.testing.assert_array_equal(prediction, model.predict(dense))
            np.testing.assert_allclose(probability, model.predict_proba(dense), atol=1e-5)

    def test_many_classes_and_classes_that_leave_numbers_out_have_their_places(self):
        for labels in ([str(3 * i) for i in range(5)], [str(3 * i) for i in range(70)],
                       ["%03d" % i for i in range(5)], ["%03d" % i for i in range(70)]):
            spark_model, model = made(classes=labels)
            prediction, probability, raw = self.scored(self.frame.limit(40), spark_model)
            expected = model.predict_proba(self.numbers[:40])
            places = np.arange(len(labels)) * (1 if labels[1] == "001" else 3)
            self.assertEqual(probability.shape, (40, places[-1] + 1))
            np.testing.assert_allclose(probability[:, places], expected, atol=1e-5)
            self.assertEqual(prediction.tolist(),
                             [type(prediction.tolist()[0])(p) for p in
                              model.predict(self.numbers[:40])])
            gaps = np.setdiff1d(np.arange(places[-1] + 1), places)
            self.assertTrue((probability[:, gaps] == 0).all() and
                            (raw[:, gaps] == -np.inf).all())

    def test_what_the_network_cannot_hold_is_not_a_number_and_no_null(self):
        spark_model, model = made(large=1e30)
        _, probability, raw = self.scored(self.frame, spark_model)
        expected = model.predict_proba(self.numbers)
        self.assertTrue(np.isnan(expected).any() and not np.isnan(expected).all())
        np.testing.assert_array_equal(probability, expected)
        np.testing.assert_array_equal(raw, model.predict_raw(self.numbers))

    def test_each_row_is_scored_once_and_only_where_other_columns_let_it_through(self):
        spark_model, _ = made()
        spark_model._set(inputCols=["features", "x"])
        scored = spark_model.transform(self.frame)
        for frame in (scored, scored.filter("id < 3"), scored.groupBy("prediction").count()):
            plan = frame._jdf.queryExecution().toString()
            physical = plan[plan.index("== Physical Plan =="):]
            self.assertEqual(physical.count("ArrowEvalPython"), 1, physical)
            if " < 3" in physical:  # the plan lists the first operator last
                self.assertGreater(physical.rindex(" < 3"), physical.rindex("ArrowEvalPython"))
        self.assertEqual(scored.filter("prediction = 1").count(),
                         [r.prediction for r in scored.collect()].count(1.0))

    def test_answers_without_a_name_are_neither_computed_nor_sent(self):
        spark_model, model = made()
        spark_model._set(inputCols=["features", "x"])
        for names, fields in (
                (("p", "", ""), "prediction"), (("", "q", ""), "probability0"),
                (("", "", "r"), "raw0"), (("p", "", "r"), "prediction")):
            part = spark_model.copy()._set(predictionCol=names[0], probabilityCol=names[1],
                                           rawPredictionCol=names[2])
            frame = part.transform(self.frame)
            self.assertEqual(frame.columns, self.frame.columns + [n for n in names if n])
            plan = frame._jdf.queryExecution().analyzed().toString()
            for kind, name in zip(("prediction", "probability0", "raw0"), names):
                self.assertEqual(kind in plan, bool(name), (kind, plan))
            self.assertEqual(frame.count(), 500)
        none = spark_model.copy()._set(predictionCol="", probabilityCol="", rawPredictionCol="")
        self.assertEqual(none.transform(self.frame).columns, self.frame.columns)

    def test_a_model_outlives_the_spark_that_it_has_scored_in(self):
        first, model = made()
        second, other = made(classes=("2", "1", "0"))
        for spark_model, plain in ((first, model), (second, other)):
            np.testing.assert_array_equal(self.scored(self.frame, spark_model)[0],
                                          plain.predict(self.numbers))
        rows, schema = self.frame.collect(), self.frame.schema
        self.spark.stop()
        type(self).spark = sparks.session(type(self))
        type(self).frame = self.spark.createDataFrame(rows, schema)
        for spark_model, plain in ((second, other), (first, model)):  # in the other order
            np.testing.assert_array_equal(self.scored(self.frame, spark_model)[0],
                                          plain.predict(self.numbers))


if __name__ == "__main__":
    unittest.main()
