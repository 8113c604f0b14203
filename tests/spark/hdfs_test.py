"""Spark as a submitter with everything on a real HDFS: rows, bundle, and the saved model."""
import os
import unittest

from pyspark.ml.feature import VectorAssembler

import sparks
from sparks import daemons

import espalier
from espalier.spark import EspalierClassifier, EspalierModel

from hadoop import Hdfs  # in tools/lib, which `daemons` puts on the path


class SparkHdfsTest(daemons.EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hdfs = Hdfs.start()
        cls.addClassCleanup(cls.hdfs.stop)
        cls.spark = sparks.session(cls)

    def test_a_fit_leaves_on_hdfs_what_was_asked_for_and_nothing_else(self):
        self.environment.update(self.hdfs.env())
        cluster = daemons.Cluster(self, 2)
        root = self.hdfs.uri + "/shared"
        self.hdfs.files.mkdirs("/shared", permission="777")
        self.hdfs.files.mkdirs("/shared/work", permission="777")
        frame = VectorAssembler(inputCols=["a", "b"], outputCol="features").transform(
            self.spark.range(600).selectExpr("cast(id % 7 as double) a", "cast(id % 3 as double) b",
                                             "cast(id % 7 > 3 as double) label"))
        model = EspalierClassifier(coordinator=cluster.address, workDirectory=root + "/work",
                                   output=root + "/bundle", hiddenLayers=[8], stepSize=0.05,
                                   maxIter=20, verbose=False).fit(frame)
        self.assertEqual(model.transform(frame).filter("prediction != label").count(), 0)
        self.assertEqual(sorted(self.hdfs.files.names("/shared")), ["bundle", "work"])
        self.assertEqual(list(self.hdfs.files.names("/shared/work")), [])
        model.write().overwrite().save(root + "/saved")
        again = EspalierModel.load(root + "/saved")
        self.assertEqual(again.model().weights_sha256, model.result.weights_sha256)
        self.assertEqual(again.transform(frame).select("prediction").collect(),
                         model.transform(frame).select("prediction").collect())
        os.environ.update(self.hdfs.env())
        for name in self.hdfs.env():
            self.addCleanup(os.environ.pop, name, None)
        self.assertEqual(espalier.load(root + "/bundle").weights_sha256,
                         model.result.weights_sha256)


if __name__ == "__main__":
    unittest.main()
