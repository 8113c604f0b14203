"""Compares the cluster's MultilayerPerceptronClassifier with Spark's own, as Spark programs use
it."""
import os
import unittest

import numpy as np
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml import classification as spark_ml
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.linalg import DenseVector, Vectors
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

import sparks
from sparks import daemons

import espalier
from espalier.spark import (EspalierModel, MultilayerPerceptronClassificationModel,
                            MultilayerPerceptronClassifier)

LAYERS = [3, 4, 3]
WEIGHTS = [round(np.sin(7.0 * i), 3) for i in range(4 * 4 + 5 * 3)]
NUMBERS = ("accuracy", "weightedPrecision", "weightedRecall", "weightedTruePositiveRate",
           "weightedFalsePositiveRate", "labels", "precisionByLabel", "recallByLabel",
           "truePositiveRateByLabel", "falsePositiveRateByLabel")


class PerceptronTest(daemons.EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.spark = sparks.session(cls)
        rng = np.random.default_rng(8)
        x = rng.normal(size=(300, 3))
        label = np.digitize(x[:, 0] + x[:, 1] * x[:, 2] + 0.5 * rng.normal(size=300), [-0.5, 0.8])
        rows = [(float(y), Vectors.dense(row)) for y, row in zip(label, x)]
        # One partition, because Spark's loss covers all rows only if its blocks have equal sizes.
        cls.frame = cls.spark.createDataFrame(rows, ["label", "features"]).coalesce(1).cache()

    def setUp(self):
        super().setUp()
        self.work = self.path("work")

    def trainer(self, **options):
        """Returns a classifier that trains on a cluster with one worker."""
        if "coordinator" not in options:
            options["coordinator"] = daemons.Cluster(self, 1).address
        return MultilayerPerceptronClassifier(**dict(
            dict(layers=LAYERS, initialWeights=Vectors.dense(WEIGHTS), blockSize=300, maxIter=10,
                 workDirectory=self.work, verbose=False), **options))

    def saved(self, instance, kind=None):
        path = self.path("saved")
        instance.write().overwrite().save(path)
        return (kind or type(instance)).load(path)

    def test_it_is_saved_and_read_alone_in_a_pipeline_and_in_a_validator(self):
        trainer = self.trainer(coordinator="nobody:1", thresholds=[0.5, 1, 2])

        def check(read):
            self.assertIsInstance(read, MultilayerPerceptronClassifier)
            self.assertEqual((read.uid, read.extractParamMap()),
                             (trainer.uid, trainer.extractParamMap()))
            self.assertEqual(read.getInitialWeights(), DenseVector(WEIGHTS))
        check(self.saved(trainer))
        check(self.saved(trainer.setInitialWeights(np.array(WEIGHTS))))
        assembler = VectorAssembler(inputCols=["a"], outputCol="features")
        check(self.saved(Pipeline(stages=[assembler, trainer])).getStages()[1])
        grid = ParamGridBuilder().addGrid(trainer.maxIter, [1, 2]).addGrid(
            trainer.initialWeights, [WEIGHTS, Vectors.dense(WEIGHTS[::-1])]).build()
        validator = self.saved(CrossValidator(estimator=trainer, estimatorParamMaps=grid,
                                              evaluator=MulticlassClassificationEvaluator()))
        check(validator.getEstimator())
        read = [trainer.copy(each).getInitialWeights() for each in
                validator.getEstimatorParamMaps()]
        self.assertEqual(read, [DenseVector(WEIGHTS), DenseVector(WEIGHTS[::-1])] * 2)

    def test_a_model_tells_what_sparks_own_tells(self):
        trainer = self.trainer()
        ours = trainer.fit(self.frame)
        theirs = spark_ml.MultilayerPerceptronClassifier(
            layers=LAYERS, initialWeights=Vectors.dense(WEIGHTS), blockSize=300,
            maxIter=10).fit(self.frame)
        self.assertIsInstance(ours, MultilayerPerceptronClassificationModel)
        self.assertEqual((ours.getLayers(), ours.numFeatures, ours.numClasses, ours.getMaxIter(),
                          ours.getBlockSize(), ours.getSolver(), ours.getInitialWeights()),
                         (theirs.getLayers(), theirs.numFeatures, theirs.numClasses,
                          theirs.getMaxIter(), theirs.getBlockSize(), theirs.getSolver(),
                          theirs.getInitialWeights()))
        self.assertFalse(hasattr(ours, "setLayers"), "they are what they are")
        np.testing.assert_allclose(ours.weights.toArray(), theirs.weights.toArray(), rtol=1e-4)
        row = self.frame.first().features
        self.assertEqual(ours.predict(row), theirs.predict(row))
        for name in ("predictRaw", "predictProbability"):
            np.testing.assert_allclose(getattr(ours, name)(row).toArray(),
                                       getattr(theirs, name)(row).toArray(), rtol=1e-4)
        np.testing.assert_allclose(ours.summary().objectiveHistory,
                                   theirs.summary().objectiveHistory, rtol=1e-5)
        self.assertEqual(ours.summary().totalIterations, 10)
        few = self.frame.filter("label > 0 and features is not null")
        for mine, sparks_own in ((ours.summary(), theirs.summary()),
                                 (ours.evaluate(few), theirs.evaluate(few))):
            for name in NUMBERS:
                np.testing.assert_allclose(getattr(mine, name), getattr(sparks_own, name),
                                           err_msg=name)
            for beta in (1.0, 0.5):
                self.assertAlmostEqual(mine.weightedFMeasure(beta),
                                       sparks_own.weightedFMeasure(beta))
                np.testing.assert_allclose(mine.fMeasureByLabel(beta),
                                           sparks_own.fMeasureByLabel(beta))
            self.assertEqual((mine.predictionCol, mine.labelCol, mine.weightCol),
                             ("prediction", "label", ""))
            self.assertEqual(set(mine.predictions.columns), set(sparks_own.predictions.columns))
        # Continues with the current weights, as Spark's benchmarks do.
        again = trainer.setInitialWeights(ours.weights).setMaxIter(1).fit(self.frame)
        self.assertAlmostEqual(again.summary().objectiveHistory[0],
                               ours.summary().objectiveHistory[-1], places=12)
        self.assertEqual(os.listdir(self.work), [])

    def test_gradient_descent_ends_where_sparks_own_does(self):
        for step_size, tol in ((0.5, 0.02), (0.5, 0.01), (0.2, 0.02)):
            options = dict(layers=LAYERS, initialWeights=Vectors.dense(WEIGHTS), blockSize=300,
                           maxIter=60, solver="gd", stepSize=step_size, tol=tol)
            ours = self.trainer(**options).fit(self.frame)
            theirs = spark_ml.MultilayerPerceptronClassifier(**options).fit(self.frame)
            self.assertLess(theirs.summary().totalIterations, 59, "it converges")
            np.testing.assert_allclose(ours.weights.toArray(), theirs.weights.toArray(), rtol=1e-9)
            np.testing.assert_allclose(ours.summary().objectiveHistory,
                                       theirs.summary().objectiveHistory, rtol=1e-9)

    def test_a_model_is_read_as_it_was_saved(self):
        fitted = Pipeline(stages=[self.trainer()]).fit(self.frame)
        model, row = fitted.stages[0], self.frame.first().features
        for read in (self.saved(model), self.saved(fitted, PipelineModel).stages[0]):
            self.assertIsInstance(read, MultilayerPerceptronClassificationModel)
            self.assertEqual((read.weights, read.getLayers(), read.predictRaw(row), read.uid,
                              read.getInitialWeights()),
                             (model.weights, LAYERS, model.predictRaw(row), model.uid,
                              DenseVector(WEIGHTS)))
            self.assertEqual(read.evaluate(self.frame).accuracy, model.summary().accuracy)
            self.assertFalse(read.hasSummary)
            with self.assertRaisesRegex(RuntimeError, "No training summary available"):
                read.summary()
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "found 2 numbers, .*of 3"):
            model.predict(Vectors.dense([1, 2]))
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "column 'kind' does not exist"):
            model.copy({model.labelCol: "kind"}).evaluate(self.frame)
        self.assertEqual(model.copy({model.predictionCol: ""}).evaluate(self.frame).accuracy,
                         model.summary().accuracy)

    def test_thresholds_may_be_set_when_a_model_is_made_and_afterwards(self):
        model = self.trainer(thresholds=[1e9, 1, 1e9]).fit(self.frame)
        row = self.frame.filter("label = 0").first().features

        def said(model, params=None):
            found = {r.prediction for r in model.transform(self.frame, params).collect()}
            self.assertIn(model.copy(params).predict(row), found)
            return found
        self.assertEqual(said(model), {1.0})
        self.assertEqual(said(model, {model.thresholds: [1.0, 1e9, 1e9]}), {0.0})
        model.setThresholds([1e9, 1e9, 1.0])
        self.assertEqual((said(model), said(self.saved(model))), ({2.0}, {2.0}))
        model.clear(model.thresholds)
        free = EspalierModel.copy(model)
        self.assertEqual((said(free), said(self.saved(free))), ({0.0, 1.0, 2.0},) * 2)
        with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                    r"thresholds: found \[1.0\], expected one per class, 3"):
            model.setThresholds([1]).transform(self.frame)

    def test_weights_that_no_job_file_has_room_for_are_put_beside_the_rows(self):
        width = 3000
        frame = self.spark.createDataFrame(
            [(float(i % 2), Vectors.sparse(width, {i % 2: 1.0, 5 + i: 0.5})) for i in range(40)],
            ["label", "features"])
        weights = np.sin(np.arange(20.0 * (width + 1) + 2 * 21)) / 7
        trainer = self.trainer(layers=[width, 20, 2], initialWeights=Vectors.dense(weights),
                               solver="gd", stepSize=1e-12, maxIter=1)
        model = trainer.fit(frame)
        np.testing.assert_allclose(model.weights.toArray(), weights, atol=1e-9)
        self.assertEqual(os.listdir(self.work), [])
        with self.assertRaisesRegex(espalier.EspalierError, "initialWeights.*found 5 numbers"):
            trainer.setInitialWeights([1, 2, 3, 4, 5]).fit(frame)
        self.assertEqual(os.listdir(self.work), [])

    def test_classes_without_rows_have_outputs_as_in_spark(self):
        gap = self.frame.selectExpr("case label when 1 then 0.0 else label end label", "features")
        last = self.frame.selectExpr("case label when 2 then 1.0 else label end label", "features")
        address = daemons.Cluster(self, 1).address
        for rows in (gap, last):
            own = spark_ml.MultilayerPerceptronClassifier(
                layers=LAYERS, initialWeights=Vectors.dense(WEIGHTS), blockSize=300,
                maxIter=10).fit(rows)
            ours = self.trainer(coordinator=address).fit(rows)
            self.assertEqual(ours.result.classes, ("0", "1", "2"))
            self.assertEqual((ours.getLayers(), ours.numClasses), (LAYERS, 3))
            np.testing.assert_allclose(ours.weights, own.weights, rtol=1e-4, atol=1e-6)
            self.assertEqual(ours.evaluate(rows).accuracy, own.evaluate(rows).accuracy)
            self.assertEqual(os.listdir(self.work), [])
        weighted = gap.selectExpr("*", "cast(2 as int) w", "rand(1) < 0.2 held")
        self.assertEqual(self.trainer(coordinator=address, weightCol="w", maxIter=2,
                                      validationIndicatorCol="held").fit(weighted).numClasses, 3)

    def test_rows_that_cannot_be_judged_are_one_clear_error(self):
        model = self.trainer(maxIter=1).fit(self.frame)
        for rows, words in ((self.frame.filter("label > 7"), "no rows to evaluate"),
                            (self.frame.selectExpr("cast(null as double) label", "features"),
                             "column 'label' has rows without a label")):
            with self.assertRaisesRegex(espalier.InvalidArgumentError, words):
                model.evaluate(rows).accuracy
        named = self.frame.selectExpr("features", "cast(cast(label as int) as string) `a ``label`")
        self.assertEqual(model.copy({model.labelCol: "a `label"}).evaluate(named).accuracy,
                         model.evaluate(self.frame).accuracy)


if __name__ == "__main__":
    unittest.main()
