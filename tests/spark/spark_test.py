"""Tests Spark as a submitter, with real PySpark and real daemons."""
import glob
import json
import os
import re
import threading
import unittest
from unittest import mock

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import (BinaryClassificationEvaluator,
                                   MulticlassClassificationEvaluator, RegressionEvaluator)
from pyspark.ml.feature import StandardScaler, StringIndexer, VectorAssembler
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import Vectors
from pyspark.ml.tuning import (CrossValidator, CrossValidatorModel, ParamGridBuilder,
                               TrainValidationSplit, TrainValidationSplitModel)
from pyspark.sql import functions as F

import sparks
from sparks import daemons

import espalier
from espalier import _connection
from espalier.spark import EspalierClassifier, EspalierModel, EspalierRegressor

pytestmark = pytest.mark.covers("rpc")


class SparkTest(daemons.EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.spark = sparks.session(cls)
        rng = np.random.default_rng(4)
        x = rng.normal(size=(1200, 3)) * [1, 20, 0.1] + [0, 300, 0]
        score = x[:, 0] + (x[:, 1] - 300) / 20
        kind = np.where(score > 0.6, "high", np.where(score < -0.6, "low", "mid"))
        rows = [(float(a), float(b), float(c), str(k), float(s), bool(v)) for (a, b, c), k, s, v in
                zip(x, kind, score, rng.random(1200) < 0.2)]
        cls.frame = cls.spark.createDataFrame(
            rows, "a double, b double, c double, kind string, score double, held boolean").cache()

    def setUp(self):
        super().setUp()
        self.cluster = daemons.Cluster(self, 1)
        self.work = self.path("work")
        self.options = dict(coordinator=self.cluster.address, workDirectory=self.work,
                            hiddenLayers=[16], stepSize=0.01, batchSize=64, maxIter=6, seed=3,
                            verbose=False)

    def assembled(self):
        return VectorAssembler(inputCols=["a", "b", "c"], outputCol="features")

    def assert_clean(self):
        self.assertEqual(os.listdir(self.work) if os.path.exists(self.work) else [], [])

    @pytest.mark.smoke
    def test_a_pipeline_with_sparks_own_stages_is_trained_scored_saved_and_read(self):
        index = StringIndexer(inputCol="kind", outputCol="label")
        scaler = StandardScaler(inputCol="assembled", outputCol="features", withMean=True)
        classifier = EspalierClassifier(validationFraction=0.2, **self.options)
        pipeline = Pipeline(stages=[index, self.assembled().setOutputCol("assembled"), scaler,
                                    classifier])
        pipeline.write().overwrite().save(self.path("pipeline"))
        pipeline = Pipeline.load(self.path("pipeline"))
        fitted = pipeline.fit(self.frame)
        self.assert_clean()
        scored = fitted.transform(self.frame).cache()
        accuracy = MulticlassClassificationEvaluator(metricName="accuracy").evaluate(scored)
        self.assertGreater(accuracy, 0.9)
        row = scored.first()
        self.assertEqual(row.probability.size, 3)
        self.assertAlmostEqual(sum(row.probability), 1, places=5)
        self.assertEqual(row.prediction, float(np.argmax(row.probability)))
        fitted.write().overwrite().save(self.path("fitted"))
        again = PipelineModel.load(self.path("fitted")).transform(self.frame)
        columns = ["prediction", "probability", "rawPrediction"]
        self.assertEqual(again.select(columns).collect(), scored.select(columns).collect())
        model = fitted.stages[-1]
        self.assertEqual((model.numClasses, model.numFeatures, model.classes),
                         (3, 3, ("0", "1", "2")))
        self.assertGreater(model.result.validation.accuracy, 0.85)

    def test_transform_says_what_the_model_says_by_itself(self):
        frame = self.assembled().transform(self.frame)
        model = EspalierClassifier(labelCol="kind", **self.options).fit(frame)
        self.assertEqual(model.classes, ("high", "low", "mid"))
        rows = model.transform(frame).collect()
        x = np.array([r.features.toArray() for r in rows])
        self.assertEqual([r.prediction for r in rows], list(model.model().predict(x)))
        np.testing.assert_array_equal([r.probability.toArray() for r in rows],
                                      model.model().predict_proba(x).astype(float))
        named = model.copy()._set(predictionCol="p", probabilityCol="", rawPredictionCol="")
        self.assertEqual(named.transform(frame).columns, frame.columns + ["p"])
        other = frame.withColumnRenamed("features", "other")
        again = model.transform(other, {model.featuresCol: "other"}).collect()
        self.assertEqual([r.probability for r in again], [r.probability for r in rows])
        longer = VectorAssembler(inputCols=["a", "b", "c", "a"], outputCol="features")
        with self.assertRaisesRegex(Exception, r"shape \[4\], expected the model's 3 elements"):
            model.transform(longer.transform(self.frame).coalesce(1)).collect()

    def test_input_columns_weights_and_a_validation_column_reach_the_job(self):
        frame = self.frame.withColumn("w", F.when(F.col("a") > 0, 2.0).otherwise(1.0))
        frame = frame.withColumnRenamed("a", "a.x")  # the dot is part of the name
        regressor = EspalierRegressor(inputCols=["a.x", "b", "c"], labelCol="score", weightCol="w",
                                      validationIndicatorCol="held", **self.options)
        model = regressor.setMaxIter(20).fit(frame)
        held = frame.filter("held")
        self.assertEqual(model.result.validation.rows, held.count())
        self.assertEqual(model.result.validation.weight, held.agg(F.sum("w")).first()[0])
        rmse = RegressionEvaluator(labelCol="score", weightCol="w").evaluate(model.transform(held))
        self.assertAlmostEqual(rmse, model.result.validation.rmse, places=5)
        self.assert_clean()

    def test_two_classes_with_sparse_vectors_suit_sparks_binary_evaluator(self):
        rows = [(float(i % 2), Vectors.sparse(4, {i % 2: 1.0, 3: float(i % 5)}) if i % 3 else
                 Vectors.dense([1.0 - i % 2, float(i % 2), 0, i % 5])) for i in range(400)]
        frame = self.spark.createDataFrame(rows, ["label", "features"])
        for loss in ("", "binary_cross_entropy"):
            model = EspalierClassifier(loss=loss, **self.options).fit(frame)
            scored = model.transform(frame)
            self.assertGreater(BinaryClassificationEvaluator().evaluate(scored), 0.99)
            self.assertEqual(scored.first().rawPrediction.size, 2)

    def test_the_result_of_a_fit_gives_its_model(self):
        frame = self.assembled().transform(self.frame)
        for output in ("", self.path("kept")):
            fitted = EspalierClassifier(labelCol="kind", output=output, **self.options).fit(frame)
            self.assertIs(fitted.result.load(), fitted.model())
            self.assertEqual(fitted.result.bundle, output)

    def test_a_model_keeps_the_course_of_its_fit(self):
        frame = self.assembled().transform(self.frame)
        fitted = EspalierClassifier(labelCol="kind", patience=2, validationFraction=0.2,
                                    **self.options).fit(frame)
        course = fitted.summary
        self.assertEqual(course.history["epoch"], [1, 2, 3, 4, 5, 6])
        self.assertLess(course.history["loss"][-1], course.history["loss"][0])
        best = int(np.argmin(course.history["val_loss"]))
        self.assertEqual(course.history["val_loss"][best], fitted.result.validation.loss)
        self.assertEqual(course.bestEpoch, course.history["epoch"][best])
        self.assertEqual((course.totalIterations, course.rows),
                         (fitted.result.steps, fitted.result.rows_per_epoch))
        self.assertGreater(course.seconds, 0)
        fitted.write().overwrite().save(self.path("saved"))
        read = EspalierModel.load(self.path("saved"))
        self.assertEqual(read.summary, course)
        read.write().overwrite().save(self.path("saved"))
        self.assertEqual(EspalierModel.load(self.path("saved")).summary, course)
        bare = EspalierModel.from_bundle(self.path("saved") + "/bundle")
        self.assertFalse(bare.hasSummary)
        path = os.path.join(self.path("saved"), "summary.json")
        with open(path) as f:
            written = json.load(f)

        def change(**values):
            with open(path, "w") as f:
                json.dump({k: v for k, v in dict(written, **values).items() if v is not None}, f)
            crc = os.path.join(self.path("saved"), ".summary.json.crc")
            if os.path.exists(crc):
                os.remove(crc)
        change(later=1)
        self.assertEqual(EspalierModel.load(self.path("saved")).summary, course)
        for values, error in (({"format": 2}, "found format 2"), ({"rows": None}, "'rows'")):
            change(**values)
            with self.assertWarnsRegex(UserWarning, error):
                self.assertFalse(EspalierModel.load(self.path("saved")).hasSummary)
        with self.assertRaisesRegex(RuntimeError, "No training summary available"):
            bare.summary

    def test_labels_that_leave_a_number_out_keep_their_places(self):
        rows = [(2.0 * (i % 2), float(i % 2)) for i in range(200)]
        frame = self.spark.createDataFrame(rows, ["label", "x"])
        model = EspalierClassifier(inputCols=["x"], weightCol="", validationIndicatorCol="",
                                   **self.options).fit(frame)  # as in Spark
        row = model.transform(frame.filter("label = 2")).first()
        self.assertEqual((row.prediction, row.probability.size, row.probability[1]), (2.0, 3, 0.0))

    def test_many_jobs_of_a_cross_validator_run_beside_each_other(self):
        frame = self.assembled().transform(self.frame.filter("a is not null"))
        frame = StringIndexer(inputCol="kind", outputCol="label").fit(frame).transform(frame)
        classifier = EspalierClassifier(**dict(self.options, maxIter=3))
        grid = ParamGridBuilder().addGrid(classifier.hiddenLayers, [[2], [16]]).build()
        validator = CrossValidator(estimator=classifier, estimatorParamMaps=grid, numFolds=2,
                                   parallelism=2, evaluator=MulticlassClassificationEvaluator())
        validator.write().overwrite().save(self.path("validator"))
        validator = CrossValidator.load(self.path("validator"))
        output = self.path("out", "best")
        validator.getEstimator().setOutput(output)
        best = validator.fit(frame)
        self.assertEqual(len(best.avgMetrics), 2)
        self.assertGreater(best.avgMetrics[1], best.avgMetrics[0])
        self.assertIsInstance(best.bestModel, EspalierModel)
        with espalier.connect(self.cluster.address) as cluster:
            self.assertEqual([j.state for j in cluster.jobs()], ["SUCCEEDED"] * 5)
            outputs = [j.output for j in cluster.jobs()]
        self.assertEqual(outputs.count(output), 1, "only the best model is in the output")
        self.assertEqual(espalier.load(output).weights_sha256,
                         best.bestModel.model().weights_sha256)
        self.assert_clean()
        split = TrainValidationSplit(estimator=classifier, estimatorParamMaps=grid, parallelism=2,
                                     evaluator=MulticlassClassificationEvaluator()).fit(frame)
        self.assertGreater(split.validationMetrics[1], split.validationMetrics[0])
        for made, kind in ((best, CrossValidatorModel), (split, TrainValidationSplitModel)):
            made.write().overwrite().save(self.path("validated"))
            read = kind.load(self.path("validated"))
            self.assertIsInstance(read.bestModel, EspalierModel)
            self.assertEqual(read.transform(frame).select("prediction").collect(),
                             made.transform(frame).select("prediction").collect())
        self.assert_clean()

    def test_categories_are_one_hot_or_embedded_beside_numbers_and_vectors(self):
        rows = [(("oslo", "rome", "bonn")[i % 3], i % 4, float(i % 5), i % 2 == 0,
                 (i % 3 == 1) == (i % 4 > 1)) for i in range(600)]
        frame = self.spark.createDataFrame(
            rows, "city string, floor int, size double, old boolean, label boolean")
        vector = VectorAssembler(inputCols=["size"], outputCol="features").transform(frame)
        for data, more in (
                (frame, dict(inputCols=["size", "city", "floor"],
                             categoricalCols=["city", "floor", "old"])),
                (frame, dict(inputCols=["size"], categoricalCols=["city", "floor"],
                             embeddingSizes=[3, 0], job="{data: {features: {groups: ["
                             "{columns: size, log1p: true}]}}}")),
                (vector, dict(categoricalCols=["city", "floor"], embeddingSizes=[2])),
                (frame, dict(inputCols=["city", "floor"], categoricalCols=["city", "floor"],
                             hashBuckets=50))):
            model = EspalierClassifier(**dict(self.options, maxIter=40), **more).fit(data)
            model.write().overwrite().save(self.path("coded"))
            scored = EspalierModel.load(self.path("coded")).transform(data)
            self.assertEqual(scored.filter("prediction != cast(label as double)").count(), 0, more)
            strange = data.limit(1).selectExpr(*["'paris' city" if c == "city" else c
                                                 for c in data.columns])
            self.assertEqual(len(model.transform(strange).collect()), 1)
        least = 2 ** 53  # from here on, a double does not represent each integer
        ids = self.spark.createDataFrame([(least + i % 2, i % 2) for i in range(400)],
                                         "id long, label int")
        model = EspalierClassifier(inputCols=["id"], categoricalCols=["id"],
                                   **dict(self.options, maxIter=40)).fit(ids)
        beside = ids.limit(20).unionByName(
            self.spark.createDataFrame([(None, 0)], ids.schema)).coalesce(1)
        wrong = model.transform(beside).filter("prediction != id - %d" % least)
        self.assertEqual(wrong.count(), 0, "a null in the same column changes no number")
        self.assert_clean()
        with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                    "embeddingSizes: found 2 sizes for 3 categoricalCols"):
            EspalierClassifier(inputCols=["size"], categoricalCols=["city", "floor", "old"],
                               embeddingSizes=[1, 2], **self.options).fit(frame)
        with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                    "inputCols: column 'city' is of type string"):
            EspalierClassifier(inputCols=["size", "city"], **self.options).fit(frame)

    def test_parquet_is_trained_on_with_no_copy_and_the_bundle_may_stay(self):
        frame = self.assembled().transform(self.frame).select(
            vector_to_array("features").alias("features"), "kind")
        frame.write.parquet(self.path("rows"))
        classifier = EspalierClassifier(labelCol="kind", output=self.path("out", "model"),
                                        **self.options)
        model = classifier.fit_on_parquet(self.path("rows"))
        bundle = EspalierModel.from_bundle(self.path("out", "model"))
        self.assertEqual(bundle.model().weights_sha256, model.model().weights_sha256)
        self.assertEqual(espalier.load(self.path("out", "model")).classes, model.classes)
        self.assertEqual(bundle.transform(frame).select("prediction").collect(),
                         model.transform(frame).select("prediction").collect())
        self.assert_clean()

    def test_files_with_sparks_vectors_are_trained_on_as_they_are(self):
        frame = self.assembled().transform(self.frame).select("features", "kind", "held")
        frame.coalesce(1).write.parquet(self.path("rows"))
        classifier = EspalierClassifier(labelCol="kind", **self.options)
        copied = classifier.fit(self.spark.read.parquet(self.path("rows")).coalesce(1))
        self.assertEqual(classifier.fit_on_parquet(self.path("rows")).model().weights_sha256,
                         copied.model().weights_sha256)
        for estimator, words in (
                (classifier.copy().setLabelCol("held"), "labelCol: column 'held' is of type "
                 "boolean"),
                (classifier.copy().setLabelCol("none"), "labelCol: column 'none' does not exist"),
                (classifier.copy().setWeightCol("kind"), "weightCol: column 'kind' is of type"),
                (classifier.copy().setValidationIndicatorCol("kind"),
                 "validationIndicatorCol: column 'kind' is of type string")):
            with self.assertRaisesRegex(espalier.InvalidArgumentError, words):
                estimator.fit_on_parquet(self.path("rows"))
        self.assert_clean()

    def test_sparse_vectors_are_written_without_their_zeros(self):
        rows = [(float(i % 2), Vectors.sparse(5000, sorted({i % 2: 1.0, 7 + i: 1.0}.items())))
                for i in range(400)]
        frame = self.spark.createDataFrame(rows, ["label", "features"])
        written, submit = [], espalier.Client.submit

        def look(client, spec):
            columns = pyarrow.parquet.ParquetDataset(spec["data"]["train"]).schema
            written.append((columns.field("features").type, sum(
                os.path.getsize(f) for f in glob.glob(spec["data"]["train"] + "/*.parquet"))))
            return submit(client, spec)
        with mock.patch.object(espalier.Client, "submit", look):
            model = EspalierClassifier(**dict(self.options, scale="none")).fit(frame)
        (kind, size), = written
        self.assertTrue(pyarrow.types.is_struct(kind), kind)
        self.assertEqual([kind.field(i).name for i in range(kind.num_fields)],
                         ["type", "size", "indices", "values"])
        self.assertLess(size, 100_000)
        scored = model.transform(frame)
        self.assertGreater(BinaryClassificationEvaluator().evaluate(scored), 0.99)
        self.assert_clean()

    def test_moments_are_dates_whatever_the_sessions_time_zone_is(self):
        rows = self.spark.range(600).selectExpr(
            "timestamp_seconds(1700000000 + id * 3607) at", "cast(id % 7 as double) x").selectExpr(
            "at", "x", "cast(floor(unix_timestamp(at) / 3600) % 24 >= 12 as double) label")
        dates = "{data: {features: {groups: [{columns: at, type: date, parts: [hour, weekday]}]}}}"
        classifier = EspalierClassifier(inputCols=["at", "x"], job=dates,
                                        **dict(self.options, maxIter=40))
        rows.coalesce(1).write.parquet(self.path("rows"))
        rows = self.spark.read.parquet(self.path("rows")).coalesce(1)
        model = classifier.fit_on_parquet(self.path("rows"))
        utc = rows.withColumn("at", F.expr("cast(at as timestamp_ntz)"))
        before = self.spark.conf.get("spark.sql.session.timeZone")
        self.addCleanup(self.spark.conf.set, "spark.sql.session.timeZone", before)
        for zone in ("Asia/Kolkata", "UTC"):
            self.spark.conf.set("spark.sql.session.timeZone", zone)
            self.assertEqual(classifier.fit(rows).model().weights_sha256,
                             model.model().weights_sha256)
            right = model.transform(rows).filter("prediction = label").count()
            self.assertGreater(right, 590, zone)
        self.assertEqual(classifier.fit(utc).model().weights_sha256, model.model().weights_sha256)
        self.assertEqual(model.transform(utc).filter("prediction = label").count(), right)
        for wrong in (dict(inputCols=["at", "x"]),
                      dict(inputCols=["at", "x"], categoricalCols=["at"])):
            with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                        "column 'at' is of type timestamp, expected"):
                EspalierClassifier(**wrong, **self.options).fit(rows)
        self.assert_clean()

    def test_training_goes_on_from_a_bundles_weights(self):
        frame = self.assembled().transform(self.frame)
        first = EspalierClassifier(labelCol="kind", output=self.path("first"), **self.options)
        cold = first.fit(frame).result
        again = EspalierClassifier(labelCol="kind", warmStart=self.path("first"),
                                   **dict(self.options, maxIter=1)).fit(frame).result
        self.assertLess(again.train.loss, cold.train.loss)
        with self.assertRaisesRegex(espalier.EspalierError, "none"):
            first.copy().setWarmStart(self.path("none")).fit(frame)
        self.assert_clean()

    def test_what_is_wrong_is_one_clear_error_and_leaves_nothing(self):
        frame = self.assembled().transform(self.frame)
        good = EspalierClassifier(labelCol="kind", **self.options)
        nulls = self.frame.withColumn("a", F.when(F.col("b") > 300, F.col("a")))
        for estimator, data, error, words in (
                (good, frame.filter("a > 1e9"), espalier.InvalidArgumentError, "no rows"),
                (good.copy().setLabelCol("none"), frame, espalier.InvalidArgumentError,
                 "labelCol: column 'none' does not exist"),
                (good.copy().setFeaturesCol("kind"), frame, espalier.InvalidArgumentError,
                 "featuresCol: column 'kind' is of type string"),
                (good.copy().setWeightCol("kind"), frame, espalier.InvalidArgumentError,
                 "weightCol: column 'kind' is of type string, expected a number"),
                (EspalierRegressor(labelCol="kind", **self.options), frame,
                 espalier.InvalidArgumentError, "labelCol: column 'kind' is of type string"),
                (good.copy().setInputCols(["a", "b"]), nulls, espalier.JobFailedError,
                 "(?s)missing.* nulls: mean, .*'a'"),
                (good.copy().setActivation("rule"), frame, espalier.InvalidArgumentError,
                 "^activation: unknown value 'rule'"),
                (good.copy().setWorkDirectory("file:///proc/none"), frame,
                 espalier.FailedPreconditionError,
                 "^workDirectory: Spark cannot write to file:/+proc/none"),
                (good.copy().setWorkDirectory("nofs://x/y"), frame,
                 espalier.FailedPreconditionError,
                 "^workDirectory: Spark cannot write to nofs://x/y"),
                (good.copy().setJob("{train: {bach: 2}}"), frame, espalier.InvalidArgumentError,
                 "'bach'.*'batch'"),
                (good.copy().setWorkDirectory(""), frame, espalier.InvalidArgumentError,
                 "workDirectory is not set"),
                (good.copy().setCoordinator("127.0.0.1:1"), frame, espalier.UnavailableError,
                 "127.0.0.1:1 cannot be reached")):
            with self.assertRaisesRegex(error, words) as raised:
                estimator.fit(data)
            self.assertNotRegex(str(raised.exception),
                                r"job:\d|data\.features|espalier-Espalier|\.parquet|java\.|\tat ")
            self.assert_clean()
        with mock.patch.object(_connection, "__version__", "9.9"), \
                self.assertRaisesRegex(espalier.FailedPreconditionError,
                                       "%s.*9\\.9" % re.escape(espalier.__version__)):
            good.fit(frame)
        self.assert_clean()
        with self.assertRaisesRegex(TypeError, "no Param 'hidden'"):
            EspalierClassifier(hidden=[1])
        model = good.copy().setInputCols(["a", "b"]).fit(self.frame)
        with self.assertRaisesRegex(Exception, "'a' has no value"):
            model.transform(nulls).collect()
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "column 'prediction' already"):
            model.transform(model.transform(self.frame))

    def test_a_worker_that_is_killed_in_the_middle_costs_nothing_but_time(self):
        frame = self.assembled().transform(self.frame)
        estimator = EspalierClassifier(labelCol="kind", **dict(
            self.options, hiddenLayers=[64, 64], batchSize=256, maxIter=200))  # four leaves
        quiet = estimator.fit(frame).model().weights_sha256
        self.cluster.start_worker("node-2")
        self.cluster.wait_for_workers(2)
        with espalier.connect(self.cluster.address) as cluster:
            def kill():
                for event in cluster.job("job-2").watch():
                    if isinstance(event, espalier.Evaluation) and event.epoch >= 2:
                        self.cluster.workers["node-2"].kill()
                        return

            def find():
                daemons.wait_for("the job", lambda: len(cluster.jobs()) > 1, 60)
                kill()
            thread = threading.Thread(target=find)
            thread.start()
            disturbed = estimator.fit(frame).model().weights_sha256
            thread.join()
            self.assertIsNotNone(self.cluster.workers["node-2"].wait(timeout=20))
            self.assertGreater(cluster.job("job-2").info().generation, 1)
        self.assertEqual(disturbed, quiet)

    def test_a_job_without_workers_is_cancelled_when_the_start_has_taken_too_long(self):
        empty = daemons.Cluster(self, 0)
        frame = self.assembled().transform(self.frame)
        estimator = EspalierClassifier(labelCol="kind", **dict(
            self.options, coordinator=empty.address, startTimeout=2.0))
        with self.assertRaisesRegex(espalier.DeadlineExceededError,
                                    "job-1 had no workers within 2 s: .*worker"):
            estimator.fit(frame)
        with espalier.connect(empty.address) as cluster:
            self.assertEqual(cluster.jobs()[0].state, "CANCELLED")
        self.assert_clean()
        estimator.setCoordinator(self.cluster.address).setStartTimeout(sparks.LIMIT_S).fit(frame)


if __name__ == "__main__":
    unittest.main()
