"""Trains with SparkTorch's Params, by real PySpark and real daemons."""
import os
import unittest

import pytest
from pyspark.ml import Pipeline
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import functions as F

import sparks
from sparks import daemons

import espalier
from espalier.spark import SparkTorch

pytestmark = pytest.mark.covers("rpc")


class TorchTest(daemons.EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.spark = sparks.session(cls)
        cls.frame = cls.spark.range(400, numPartitions=2).withColumn("a", F.randn(1)).withColumn(
            "b", F.randn(2)).withColumn("label", (F.col("a") > 0).cast("double") * 2).cache()

    def setUp(self):
        super().setUp()
        self.options = dict(coordinator=daemons.Cluster(self, 1).address,
                            workDirectory=self.path("work"), hiddenLayers=[8], stepSize=0.02)

    def test_a_pipeline_stops_by_its_words_and_is_saved(self):
        torch = SparkTorch(inputCol="v", predictionCol="said", iters=150, miniBatch=32,
                           earlyStopPatience=40, validationPct=0.2, verbose=0, **self.options)
        plan = Pipeline(stages=[VectorAssembler(inputCols=["a", "b"], outputCol="v"), torch])
        plan.write().overwrite().save(self.path("plan"))
        self.assertEqual(Pipeline.load(self.path("plan")).getStages()[1].getMiniBatch(), 32)
        fitted = plan.fit(self.frame)
        result = fitted.stages[1].result
        job = fitted.stages[1].model().description["spec"]
        self.assertEqual((job["train"]["batch"], job["train"]["steps"]), (64, 150))  # 2 partitions
        self.assertLessEqual(result.steps, 150)
        self.assertEqual(result.classes, ("0", "2"))  # a label with a gap
        scored = fitted.transform(self.frame)
        self.assertEqual(scored.select("probability").first()[0].size, 3)
        self.assertGreater(scored.filter("said = label").count(), 360)
        self.assertEqual(os.listdir(self.path("work")), [])

    def test_a_loss_of_numbers_makes_a_regression(self):
        fitted = SparkTorch(inputCol="v", labelCol="a", loss="mse", iters=5, verbose=0,
                            **self.options).fit(VectorAssembler(
                                inputCols=["a", "b"], outputCol="v").transform(self.frame))
        self.assertEqual((fitted.result.load().task, fitted.result.steps), ("regression", 5))

    def test_defaults_and_names_are_those_of_sparktorch(self):
        torch = SparkTorch(inputCol="v", **self.options)
        self.assertEqual((torch.getInputCol(), torch.getFeaturesCol(), torch.getVerbose(),
                          torch.getPredictionCol(), torch.getScale()),
                         ("v", "v", False, "predicted", "none"))
        self.assertEqual(torch.setInputCol("w").getFeaturesCol(), "w")
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "^inputCol: found it with"):
            SparkTorch(inputCol="v", featuresCol="w", **self.options)

    def test_hogwild_needs_rows_of_an_update(self):
        with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                    "^mode: found hogwild without miniBatch"):
            SparkTorch(inputCols=["a"], mode="hogwild", **self.options).fit(self.frame)


if __name__ == "__main__":
    unittest.main()
