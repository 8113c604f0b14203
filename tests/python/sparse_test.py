"""SciPy's sparse matrices: their predictions are those of the dense array."""
import os
import tempfile
import unittest
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp

import bundles
import espalier
from espalier._network import WIDE

pytestmark = pytest.mark.covers("bundle", "model")
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


class SparseTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="espalier-sparse-")
        self.addCleanup(self.folder.cleanup)

    def model(self, width, nulls="fail", coded=0):
        """Returns a regression of `width` numbers, the last `coded` of which are categories."""
        rng = np.random.default_rng(1)
        features = [{"name": "x%d" % i, "shift": 0.25 * (i % 3), "factor": 2.0, "null_value": 1.0}
                    for i in range(width - coded)]
        features += [{"name": "c%d" % i, "shift": 0, "factor": 1, "null_value": 0, "codes": 3,
                      "vocabulary": ["0", "2"]} for i in range(coded)]
        doc = bundles.document(width, {"task": "regression", "hidden": []}, features=features,
                               targets=[{"name": "y", "shift": 0, "factor": 1}], nulls=nulls)
        if coded:
            doc["schema"] = {"names": [f["name"] for f in features],
                             "features": list(range(width)),
                             "rules": [{"type": "categorical" if "codes" in f else "numeric",
                                        "group": -1, "part": None} for f in features]}
            doc["spec"]["data"]["features"]["groups"] = []
        tensors = {"layers.0.weight": rng.normal(size=(1, width - coded)),
                   "layers.0.bias": np.zeros(1)}
        for k in range(coded):
            tensors["layers.0.one_hot.%d.weight" % k] = rng.normal(size=(3, 1))
        return espalier.load(bundles.write(os.path.join(self.folder.name, "b"), doc, tensors))

    @staticmethod
    def rows(count, width, share):
        rng = np.random.default_rng(2)
        return (rng.random((count, width)) < share) * rng.normal(size=(count, width))

    def test_each_format_gives_the_bits_of_the_dense_array(self):
        model, dense = self.model(30), self.rows(50, 30, 0.1)
        expected = model.predict(dense, batch_rows=7)  # the sums of a product depend on its rows
        for name in FORMATS:
            for kind in (getattr(sp, name + "_matrix"), getattr(sp, name + "_array")):
                found = model.predict(kind(dense), batch_rows=7)
                np.testing.assert_array_equal(found, expected, str(kind))
        for numbers in (dense.astype(np.float32), (dense > 0), (dense * 9).astype(np.int8)):
            np.testing.assert_array_equal(model.predict(sp.csr_matrix(numbers)),
                                          model.predict(numbers * 1))

    def test_a_wide_matrix_is_never_made_dense(self):
        model, dense = self.model(WIDE), self.rows(40, WIDE, 0.01)
        matrix = sp.csr_matrix(dense)
        with mock.patch.object(sp.csr_matrix, "toarray", side_effect=AssertionError):
            found = model.predict(matrix, batch_rows=16)
        np.testing.assert_allclose(found, model.predict(dense), rtol=1e-9)

    def test_elements_that_occur_twice_are_added(self):
        matrix = sp.csr_matrix(([1.0, 2.0, 4.0], [1, 0, 1], [0, 3, 3]), shape=(2, 3))
        model = self.model(3)
        np.testing.assert_array_equal(model.predict(matrix), model.predict(matrix.toarray()))
        self.assertEqual(matrix.nnz, 3)  # the caller's matrix stays as it was

    def test_categories_are_found_next_to_numbers(self):
        model = self.model(6, coded=2)
        dense = self.rows(20, 6, 0.5)
        dense[:, 4:] = np.arange(40).reshape(20, 2) % 4
        np.testing.assert_array_equal(model.predict(sp.csr_matrix(dense), batch_rows=6),
                                      model.predict(dense, batch_rows=6))

    def test_a_null_that_is_stored_is_null(self):
        dense = self.rows(9, 5, 0.5)
        dense[7, 2] = np.nan
        np.testing.assert_array_equal(
            self.model(5, nulls="mean").predict(sp.csc_matrix(dense), batch_rows=4),
            self.model(5, nulls="mean").predict(dense, batch_rows=4))
        with self.assertRaisesRegex(espalier.BadInputError, "row 7 .*'x2' has no value"):
            self.model(5).predict(sp.csr_matrix(dense), batch_rows=4)

    def test_what_does_not_fit_is_called_sparse(self):
        model = self.model(3)
        for data, words in ((sp.csr_matrix((4, 2)), r"sparse matrix of shape \[4, 2\], expected "
                                                    r"\[rows, 3\]"),
                            (sp.csr_matrix((1, 3), dtype=complex), "sparse matrix of complex128"),
                            ({"x0": sp.csr_matrix((1, 1)), "x1": [1], "x2": [1]},
                             "column 'x0' is a sparse matrix")):
            with self.assertRaisesRegex(espalier.InvalidArgumentError, words):
                model.predict(data)


if __name__ == "__main__":
    unittest.main()
