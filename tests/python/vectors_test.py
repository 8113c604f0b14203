"""Columns of Spark's vectors, as its Python workers get them."""
import tempfile
import unittest
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import bundles
import espalier
from espalier._network import WIDE, Entries
from espalier._tables import Columns
from espalier._vectors import Vectors

pytestmark = pytest.mark.covers("data")

DENSE = {"type": 1, "size": None, "indices": None, "values": [2.0, 6.0]}
SPARSE = {"type": 0, "size": 2, "indices": [1], "values": [5.0]}


def column(structs):
    parts = {field: [None if s is None else s[field] for s in structs]
             for field in ("type", "size", "indices", "values")}
    for field, kind in (("indices", np.int32), ("values", np.float64)):
        parts[field] = [None if v is None else np.array(v, kind) for v in parts[field]]
    return Vectors.of_frame(pd.DataFrame({
        field: pd.Series(part, dtype=float if field == "type" else object)
        for field, part in parts.items()}))


def linear(weights, names, all_names=(), more=(), nulls="fail", rules=None, tensors=None,
           **model):
    """Writes a regression: the sum of weights times numbers. `more` is in each feature, or one for
    each. `all_names` has the columns of the table that it was made with."""
    more = [dict(more)] * len(names) if isinstance(more, (dict, tuple)) else more
    features = [dict({"name": name, "shift": 0, "factor": 1, "null_value": 0}, **m)
                for name, m in zip(names, more)]
    document = bundles.document(len(names), dict({"hidden": [], "task": "regression",
                                                  "loss": "mse"}, **model), nulls=nulls,
                                targets=[{"name": "y", "shift": 0, "factor": 1}], features=features)
    document["spec"]["data"]["features"]["groups"] = []
    if all_names:
        places = {name: i for i, name in enumerate(all_names)}
        document["schema"].update(names=list(all_names), features=[places[n] for n in names])
    if rules:
        document["schema"]["rules"] = rules
    kind = model.get("precision", "float64")
    arrays = dict({"layers.0.weight": np.array([weights]), "layers.0.bias": np.zeros(1)},
                  **(tensors or {}))
    with tempfile.TemporaryDirectory() as folder:
        return espalier.load(bundles.write(folder, document, {
            name: array.astype(kind) for name, array in arrays.items()}))


def elements(base, count):
    return ["%s[%d]" % (base, i) for i in range(count)]


class VectorsTest(unittest.TestCase):
    def setUp(self):
        """y = 10 * v[0] + v[1]."""
        self.model = linear([10.0, 1.0], elements("v", 2))

    def test_a_model_is_computed_of_dense_and_sparse_ones(self):
        empty = dict(SPARSE, indices=[], values=[])
        found = self.model.predict({"v": column([SPARSE, DENSE, empty])}, batch_rows=2)
        np.testing.assert_array_equal(found, [5.0, 26.0, 0.0])

    def test_what_spark_does_not_write_is_one_clear_error(self):
        for change in ({"indices": [2]}, {"indices": [1, 0], "values": [1.0, 2.0]},
                       {"indices": [1, 1], "values": [1.0, 2.0]}, {"indices": [0, 1]},
                       {"type": 2}, {"size": None}, {"size": 1 << 30}, {"indices": [-1]},
                       {"indices": None}):
            with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                        "column 'v': row 1 .*as Spark writes it", msg=change):
                self.model.predict({"v": column([DENSE, dict(SPARSE, **change)])})
        for structs in ([SPARSE, dict(SPARSE, size=1, indices=[0])],
                        [DENSE, dict(DENSE, values=[1.0])]):
            with self.assertRaisesRegex(espalier.InvalidArgumentError, "row 1 .*at least 2"):
                self.model.predict({"v": column(structs)})
        with self.assertRaisesRegex(espalier.BadInputError, r"row 1 .*'v\[0\]' has no value"):
            self.model.predict({"v": column([DENSE, None])})
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "'v.0.' has vectors"):
            self.model.predict({"v[0]": column([DENSE]), "v[1]": [1.0]})

    def test_any_elements_are_those_of_each_vector(self):
        rng = np.random.default_rng(2)
        for lengths in ([9] * 20, list(rng.integers(7, 12, 20))):
            numbers = [rng.normal(size=n) * (rng.random(n) < 0.4) for n in lengths]
            structs = [None if i % 7 == 3 else dict(DENSE, values=v) if i % 3 else
                       {"type": 0, "size": len(v), "indices": np.flatnonzero(v),
                        "values": v[v != 0]} for i, v in enumerate(numbers)]
            vectors = column(structs)
            for element, width in ((0, 7), (0, lengths[0]), (2, 3), (6, 1)):
                if min(lengths) < element + width:
                    self.assertIsNone(vectors.elements(element, width))
                    continue
                expected = [np.full(width, np.nan) if s is None else v[element:element + width]
                            for s, v in zip(structs, numbers)]
                np.testing.assert_array_equal(vectors.elements(element, width), expected)
            np.testing.assert_array_equal(vectors[5:8].elements(0, 7), vectors.elements(0, 7)[5:8])
        self.assertEqual(vectors[:0].elements(0, 4).shape, (0, 4))
        self.assertIsNone(vectors[:3].elements(0, 7, length=8))
        self.assertIsNone(vectors[2:].entries(0, 7, None, np.inf), "some are dense")

    def test_sparse_vectors_become_the_models_own_numbers_at_once(self):
        rng = np.random.default_rng(6)
        weights, names = rng.normal(size=40), elements("v", 40)
        numbers = rng.normal(size=(30, 40)) * (rng.random((30, 40)) < 0.2)
        numbers[4] = 0
        vectors = [{"type": 0, "size": 40, "indices": np.flatnonzero(v), "values": v[v != 0]}
                   for v in numbers]
        scales = [{"shift": s, "factor": f} for s, f in rng.normal(size=(40, 2))]
        for kind, more in (("float32", ()), ("float64", ()), ("float32", scales)):
            model = linear(weights, names, more=more, precision=kind)
            expected = model.predict(numbers, batch_rows=7)
            with mock.patch.object(espalier._tables.Rows, "matrix", side_effect=AssertionError):
                np.testing.assert_array_equal(model.predict({"v": column(vectors)}, batch_rows=7),
                                              expected)
            for bad, words in ((np.nan, "row 8 .*has no value"), (np.inf, "row 8 .*infinite")):
                strange = vectors[:8] + [dict(SPARSE, size=40, values=[bad])]
                with self.assertRaisesRegex(espalier.BadInputError, words):
                    model.predict({"v": column(strange)}, batch_rows=5)
        narrow = linear(weights, names, precision="float32")
        with self.assertRaisesRegex(espalier.BadInputError, "row 0 .*too large for float32"):
            narrow.predict({"v": column([dict(SPARSE, size=40, values=[1e39])])})

    def test_vectors_are_as_long_as_those_that_the_model_was_trained_with(self):
        whole = linear([10.0, 1.0], elements("v", 2), ["y"] + elements("v", 2))
        part = linear([10.0, 1.0], ["v[2]", "v[1]"], elements("v", 3) + ["y"])
        gaps = linear([10.0, 1.0], ["v[2]", "v[0]"], ["v[0]", "v[2]"])  # a table of two columns
        lists = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
        dense = [dict(DENSE, values=v) for v in lists]
        for data in ({"v": lists}, {"v": column(dense)}, pd.DataFrame({"v": lists}),
                     pd.DataFrame({"v": dense})):
            np.testing.assert_array_equal(part.predict(data), [32, 65])
            np.testing.assert_array_equal(gaps.predict(data), [31, 64])
            with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                        r"'v': row 0 .*shape \[3\], expected the model's 2 elem"):
                whole.predict(data)
        sparse = [dict(SPARSE, indices=[1]), dict(SPARSE, size=3, indices=[2])]
        for model, row, words in ((whole, 1, r"shape \[3\], .*model's 2"),
                                  (part, 0, r"shape \[2\], .*model's 3")):
            with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                        "'v': row %d .*%s" % (row, words)):
                model.predict({"v": column(sparse)})

    def test_a_vector_of_another_name_stands_for_the_models_or_for_its_columns(self):
        def data(rest, **columns):
            out = Columns(columns)
            out.rest = rest
            return out
        given = column([dict(DENSE, values=[1.0, 2.0, 3.0]),
                        {"type": 0, "size": 3, "indices": [2], "values": [4.0]}])
        part = linear([10.0, 1.0], ["v[2]", "v[1]"], elements("v", 3))
        np.testing.assert_array_equal(part.predict(data("w", w=given)), [32, 40])
        plain = linear([100.0, 10.0, 1.0, 7.0], ["a", "b", "c", "size"])
        np.testing.assert_array_equal(plain.predict(data("w", w=given, size=[1, 2])), [130, 18])
        lists = [[1.0, 2.0, 3.0], [0.0, 0.0, 4.0]]
        np.testing.assert_array_equal(plain.predict(data("w", w=lists, size=[1, 2])), [130, 18])
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "expected the model's 4 elem"):
            plain.predict(data("w", w=given))
        for names in (["v[0]", "u[0]"], ["v[0]", "a"]):
            mixed = linear([1.0, 1.0], names)
            with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                        r"does not have 2 of the model's 2 features: 'v\[0\]'"):
                mixed.predict(data("w", w=given))
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "does not have 2 of"):
            part.predict({"w": given})

    def test_an_element_of_a_vector_is_prepared_as_a_column_is(self):
        flag = {"type": "boolean", "group": -1, "part": "year"}
        plain = {"type": "numeric", "group": -1, "part": "year"}
        model = linear([1.0, 10.0, 100.0], elements("v", 3), elements("v", 3),
                       rules=[plain, flag, plain])
        vectors = [{"type": 0, "size": 3, "indices": [1, 2], "values": [1.0, 3.0]},
                   dict(DENSE, values=[2.0, 0.0, 1.0])]
        np.testing.assert_array_equal(model.predict({"v": column(vectors)}), [310, 102])
        with self.assertRaisesRegex(espalier.BadInputError, r"row 1 .*'v\[1\]'"):
            model.predict({"v": [[0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]})


class WideTest(unittest.TestCase):
    """Vectors with nearly only zeros are multiplied without their zeros."""

    def setUp(self):
        rng = np.random.default_rng(7)
        self.width = WIDE + 100
        self.numbers = np.zeros((20, self.width))
        for row in range(1, 20):  # row 0 has no entry
            self.numbers[row, rng.choice(self.width, 9, replace=False)] = rng.normal(size=9)
        self.structs = [{"type": 0, "size": self.width, "indices": np.flatnonzero(v),
                         "values": v[v != 0]} for v in self.numbers]
        self.weights = rng.normal(size=self.width)
        self.shifts = [{"shift": s, "factor": f} for s, f in
                       zip(rng.normal(size=self.width), rng.random(self.width) + 0.5)]

    def predict(self, model, data, quickly=True):
        """Predicts in three blocks, with or without the zeros of the vectors."""
        with mock.patch.object(Entries, "times", autospec=True,
                               side_effect=Entries.times) as multiplied:
            out = model.predict(data, batch_rows=8)
        self.assertEqual(multiplied.call_count, 3 if quickly else 0)
        return out

    def test_they_give_the_same(self):
        names = elements("v", self.width)
        for kind, close in (("float64", 1e-11), ("float32", 3e-5)):
            for more in ((), self.shifts):
                model = linear(self.weights, names, names, more, precision=kind)
                np.testing.assert_allclose(
                    self.predict(model, {"v": column(self.structs)}),
                    self.predict(model, self.numbers, quickly=False), atol=close * 100)
        part = linear(self.weights[:WIDE], names[3:WIDE + 3], names, self.shifts[:WIDE])
        np.testing.assert_allclose(
            self.predict(part, {"v": column(self.structs)}),
            self.predict(part, self.numbers[:, 3:WIDE + 3], quickly=False), atol=1e-9)

    def test_a_zero_that_is_far_from_zero_costs_no_precision(self):
        names = elements("v", self.width)
        years = [{"shift": 2000.0, "factor": 50.0}] * self.width
        model = linear(self.weights / 1e4, names, names, years, precision="float32")
        exact = ((self.numbers - 2000) * 50) @ (self.weights / 1e4).astype("f4").astype(float)
        np.testing.assert_allclose(self.predict(model, {"v": column(self.structs)}), exact,
                                   rtol=1e-5)

    def test_columns_and_categories_may_stand_beside_them(self):
        names = ["city"] + elements("v", self.width) + ["x", "old"]
        coded = {"null_indicator": False, "codes": 2, "hashed": False,
                 "vocabulary": ["oslo", "rome"]}
        more = [dict(coded, embedding=0)] + self.shifts + [{}, dict(coded, embedding=2)]
        rule = {"type": "numeric", "group": -1, "part": "year"}
        rules = [dict(rule, type="categorical" if n in ("city", "old") else "numeric")
                 for n in names]
        weights = np.concatenate([self.weights, [2.0, 0.5, 0.25]])  # numbers, then embeddings
        model = linear(weights, names, names, more, rules=rules, tensors={
            "layers.0.one_hot.0.weight": np.array([[100.0], [200.0]]),
            "layers.0.embeddings.1.weight": np.array([[2.0, 4.0], [6.0, 8.0]])})
        columns = {"v": column(self.structs), "x": np.arange(20.0), "city": ["rome", "oslo"] * 10,
                   "old": ["oslo"] * 10 + ["rome"] * 10}
        plain = linear(self.weights, elements("v", self.width), more=self.shifts)
        expected = plain.predict(self.numbers) + 2 * np.arange(20) + [200, 100] * 10 + \
            np.repeat([2.0, 5.0], 10)
        np.testing.assert_allclose(self.predict(model, columns), expected, atol=1e-9)
        columns["v"] = list(self.numbers)
        np.testing.assert_allclose(self.predict(model, columns, quickly=False), expected, atol=1e-9)

    def test_nulls_and_rows_of_many_numbers_go_the_other_way(self):
        names = elements("v", self.width)
        model = linear(self.weights, names, names, {"null_value": 2.0}, nulls="mean")
        numbers = self.numbers.copy()
        numbers[3], self.structs[3] = np.nan, None
        np.testing.assert_allclose(
            model.predict({"v": column(self.structs)}, batch_rows=20), model.predict(numbers),
            atol=1e-9)
        strict = linear(self.weights, names, names)
        with self.assertRaisesRegex(espalier.BadInputError, r"row 3 .*'v\[0\]' has no value"):
            strict.predict({"v": column(self.structs)})
        full = [{"type": 0, "size": self.width, "indices": np.arange(self.width),
                 "values": np.ones(self.width)}] * 20
        np.testing.assert_allclose(self.predict(strict, {"v": column(full)}, quickly=False),
                                   [self.weights.sum()] * 20)
        longer = [dict(SPARSE, size=self.width + 1)] * 20
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "the model's %d" % self.width):
            strict.predict({"v": column(longer)})


if __name__ == "__main__":
    unittest.main()
