"""Tests Spark as a submitter with rows, bundle and saved model on a real HDFS."""
import os
import unittest

from pyspark.ml import Pipeline
from pyspark.ml.feature import VectorAssembler

import sparks
from sparks import daemons

import espalier
from espalier.spark import (EspalierClassifier, EspalierModel,
                            MultilayerPerceptronClassificationModel, MultilayerPerceptronClassifier)

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

    def test_estimators_are_saved_to_hdfs_and_read_there(self):
        root = self.hdfs.uri + "/estimators"
        self.hdfs.files.mkdirs("/estimators", permission="777")
        for estimator in (
                EspalierClassifier(hiddenLayers=[8, 4], job="{train: {schedule: cosine}}"),
                MultilayerPerceptronClassifier(layers=[2, 2], initialWeights=[0.5, 1, -2, 3, 4, 5]),
                Pipeline(stages=[MultilayerPerceptronClassifier(layers=[2, 2])])):
            estimator.write().overwrite().save(root + "/saved")
            read = type(estimator).load(root + "/saved")
            told = [{p.name: str(v) for p, v in e.extractParamMap().items() if p.name != "stages"}
                    for e in (estimator, read)]
            self.assertEqual((read.uid, told[1]), (estimator.uid, told[0]))

    def test_a_perceptron_whose_first_weights_lie_beside_its_rows(self):
        self.environment.update(self.hdfs.env())
        cluster = daemons.Cluster(self, 1)
        root = self.hdfs.uri + "/perceptron"
        self.hdfs.files.mkdirs("/perceptron", permission="777")
        frame = VectorAssembler(inputCols=["a", "b"], outputCol="features").transform(
            self.spark.range(600).selectExpr("cast(id % 7 as double) a", "cast(id % 3 as double) b",
                                             "cast(id % 7 > 3 as double) label"))
        model = MultilayerPerceptronClassifier(
            coordinator=cluster.address, workDirectory=root, layers=[2, 3, 2], verbose=False,
            maxIter=20, initialWeights=[0.1 * i - 1 for i in range(17)]).fit(frame)
        self.assertLess(model.summary().objectiveHistory[-1], model.summary().objectiveHistory[0])
        self.assertEqual(list(self.hdfs.files.names("/perceptron")), [])
        model.save(root + "/model")
        read = MultilayerPerceptronClassificationModel.load(root + "/model")
        self.assertEqual((read.weights, read.evaluate(frame).accuracy),
                         (model.weights, model.summary().accuracy))


if __name__ == "__main__":
    unittest.main()
