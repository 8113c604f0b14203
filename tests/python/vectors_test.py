"""Columns of Spark's vectors, as its Python workers get them."""
import tempfile
import unittest

import numpy as np
import pandas as pd

import bundles
import espalier
from espalier._vectors import Vectors

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


class VectorsTest(unittest.TestCase):
    def setUp(self):
        """y = 10 * v[0] + v[1]."""
        features = [{"name": "v[%d]" % i, "shift": 0, "factor": 1, "null_value": 0}
                    for i in range(2)]
        document = bundles.document(2, {"hidden": [], "task": "regression", "loss": "mse"},
                                    targets=[{"name": "y", "shift": 0, "factor": 1}],
                                    features=features)
        with tempfile.TemporaryDirectory() as folder:
            self.model = espalier.load(bundles.write(folder, document, {
                "layers.0.weight": np.array([[10.0, 1.0]]), "layers.0.bias": np.zeros(1)}))

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
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "'v.0.' is of vectors"):
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


if __name__ == "__main__":
    unittest.main()
