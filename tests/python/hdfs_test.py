"""What the client reads from a real HDFS: bundles, and the file with the coordinator's address."""
import os
import unittest
from unittest import mock

import numpy as np

import bundles
import espalier
from daemons import Cluster, EspalierTest

from hadoop import Hdfs  # in tools/lib, which `daemons` puts on the path


class HdfsTest(EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hdfs = Hdfs.start()
        cls.addClassCleanup(cls.hdfs.stop)

    def setUp(self):
        super().setUp()
        patch = mock.patch.dict(os.environ, self.hdfs.env())
        patch.start()
        self.addCleanup(patch.stop)

    def put(self, path, local):
        with open(local, "rb") as f:
            self.hdfs.put(path, f.read())

    def test_a_bundle_on_hdfs_is_the_same_model(self):
        rng = np.random.default_rng(1)
        folder = bundles.write(self.path("bundle"), bundles.document(3, classes=["0", "1"]), {
            "layers.0.weight": rng.normal(size=(4, 3)), "layers.0.bias": rng.normal(size=4),
            "layers.1.weight": rng.normal(size=(2, 4)), "layers.1.bias": rng.normal(size=2)})
        self.hdfs.files.mkdirs("/models/a b")
        for name in os.listdir(folder):
            self.put("/models/a b/" + name, os.path.join(folder, name))
        x = rng.normal(size=(9, 3))
        expected = espalier.load(folder).predict_proba(x)
        web = "webhdfs://%s/models/a b" % self.hdfs.daemon("nn1")["http"]
        for where in ("hdfs:///models/a b", self.hdfs.uri + "/models/a b/", web):
            np.testing.assert_array_equal(espalier.load(where).predict_proba(x), expected)
        with self.assertRaisesRegex(espalier.NotFoundError, "/models/none/model.json"):
            espalier.load("hdfs:///models/none")
        with self.assertRaisesRegex(espalier.UnavailableError, "cannot be read"):
            espalier.load("webhdfs://127.0.0.1:1/models")

    def test_a_coordinators_address_is_read_there(self):
        cluster = Cluster(self, 1)
        self.put("/address", cluster.address_file)
        with espalier.connect("hdfs:///address") as client:
            self.assertEqual(client.address, cluster.address)
            self.assertEqual(len(client.workers()), 1)


if __name__ == "__main__":
    unittest.main()
