"""Tests that no fit outlives the Spark validator that started it, however the validator ends."""
import os
import signal
import subprocess
import sys
import threading
import unittest
from unittest import mock

from pyspark.ml import Pipeline
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder, TrainValidationSplit

import sparks
from sparks import daemons

import espalier
from espalier.spark import EspalierClassifier, validators

ENDLESS = 10 ** 7
SCRIPT = """
import sys
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import SparkSession
from espalier.spark import EspalierClassifier

address, work = sys.argv[1:]
builder = SparkSession.builder.master("local[2]")
for key, value in %r.items():
    builder = builder.config(key, value)
frame = builder.getOrCreate().range(400).selectExpr("id %% 7 x", "cast(id %% 2 as double) label")
classifier = EspalierClassifier(coordinator=address, workDirectory=work, inputCols=["x"],
                                maxIter=10 ** 7, verbose=False)
grid = ParamGridBuilder().addGrid(classifier.seed, [1, 2, 3]).build()
CrossValidator(estimator=classifier, estimatorParamMaps=grid, numFolds=2, parallelism=2,
               evaluator=MulticlassClassificationEvaluator()).fit(frame)
"""


class ValidatorsTest(daemons.EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.spark = sparks.session(cls)
        cls.frame = cls.spark.range(400).selectExpr("id % 7 x", "cast(id % 2 as double) label")

    def setUp(self):
        super().setUp()
        self.work = self.path("work")
        os.mkdir(self.work)
        self.use_cluster(1)

    def use_cluster(self, workers):
        """Starts a cluster and makes a classifier whose training on it does not end."""
        self.cluster = daemons.Cluster(self, workers)
        self.client = espalier.connect(self.cluster.address)
        self.addCleanup(self.client.close)
        self.classifier = EspalierClassifier(
            coordinator=self.cluster.address, workDirectory=self.work, inputCols=["x"],
            maxIter=ENDLESS, verbose=False)

    def validator(self, kind, grid, estimator=None, **options):
        return kind(estimator=estimator or self.classifier, estimatorParamMaps=grid.build(),
                    evaluator=MulticlassClassificationEvaluator(), **options)

    def nested(self, *step_sizes):
        """Returns a validator with two folds for each step size. Each fit of a fold tries two
        seeds."""
        seeds = ParamGridBuilder().addGrid(self.classifier.seed, [1, 2])
        sizes = ParamGridBuilder().addGrid(self.classifier.stepSize, step_sizes)
        # PySpark cannot copy the model without its sub-models.
        inner = self.validator(TrainValidationSplit, seeds, collectSubModels=True)
        return self.validator(CrossValidator, sizes, inner, numFolds=2, parallelism=2)

    def outputs(self):
        return [j.output for j in self.client.jobs()]

    def states(self):
        return [j.state for j in self.client.jobs()]

    def await_jobs(self, count, training=1):
        """Waits for `count` jobs of which at least `training` train."""
        daemons.wait_for("%d jobs" % count, lambda: len(self.states()) == count and
                         self.states().count("TRAINING") >= training, sparks.LIMIT_S)

    def assert_gone(self, count):
        for what, is_so in (("the end of the jobs", lambda: set(self.states()) == {"CANCELLED"}),
                            ("the removal of the rows", lambda: not os.listdir(self.work)),
                            ("the end of the fits", lambda: not validators._under_way)):
            daemons.wait_for(what, is_so, 60)
        self.assertEqual(self.states(), ["CANCELLED"] * count)

    def interrupt(self, validator, jobs, training=1):
        errors = []

        def at_once():
            try:
                self.await_jobs(jobs, training)
            except BaseException as error:
                errors.append(error)
            finally:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        thread = threading.Thread(target=at_once)
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            validator.fit(self.frame)
        thread.join()
        self.assertEqual(errors, [])

    def test_an_interrupt_ends_all_fits_of_a_cross_validator_and_none_begins(self):
        grid = ParamGridBuilder().addGrid(self.classifier.seed, [1, 2, 3])
        self.interrupt(self.validator(CrossValidator, grid, numFolds=2, parallelism=2), 2)
        self.assert_gone(2)

    def test_two_workers_train_two_fits_side_by_side(self):
        # A job that may use both workers takes both. The next job then waits until the first one
        # has trained for a rebalance interval or has ended.
        self.use_cluster(2)
        self.classifier.setMaxWorkers(1)
        grid = ParamGridBuilder().addGrid(self.classifier.seed, [1, 2, 3])
        self.interrupt(self.validator(CrossValidator, grid, numFolds=2, parallelism=2), 2,
                       training=2)
        self.assert_gone(2)

    def test_many_fits_at_a_time_on_two_workers_come_to_what_one_at_a_time_does(self):
        self.use_cluster(2)
        frame = self.spark.range(400).selectExpr("id % 7 x", "cast(id % 7 > 3 as double) label")
        self.classifier.setMaxIter(5).setBatchSize(16)
        grid = ParamGridBuilder().addGrid(self.classifier.stepSize, [1e-6, 0.05])
        told = []
        for parallelism, workers in ((1, 0), (2, 0), (2, 1)):  # 0: all free workers
            self.classifier.setMaxWorkers(workers)
            fitted = self.validator(CrossValidator, grid, numFolds=2, parallelism=parallelism,
                                    seed=5).fit(frame)
            told.append((fitted.avgMetrics, fitted.stdMetrics,
                         fitted.bestModel.model().weights_sha256))
        self.assertEqual(told, told[:1] * 3)
        self.assertGreater(fitted.avgMetrics[1], fitted.avgMetrics[0])
        self.assertEqual((self.states(), os.listdir(self.work)), (["SUCCEEDED"] * 15, []))

    def test_the_output_has_the_best_model_of_the_outermost_validator_alone(self):
        output = self.path("best")
        self.classifier.setMaxIter(1).setOutput(output)
        best = self.nested(0.1).fit(self.frame).bestModel.bestModel
        self.assertEqual(self.states(), ["SUCCEEDED"] * 9)
        self.assertEqual((self.outputs().count(output), os.listdir(self.work)), (1, []))
        self.assertEqual(espalier.load(output).weights_sha256, best.model().weights_sha256)

    def test_an_interrupt_ends_the_fits_of_validators_in_validators(self):
        self.interrupt(self.nested(0.1, 0.01), 2)
        self.assert_gone(2)

    def test_a_pipeline_in_a_validator(self):
        output = self.path("best")
        self.classifier.setMaxIter(1).setOutput(output).clear(self.classifier.inputCols)
        pipeline = Pipeline(stages=[VectorAssembler(inputCols=["x"], outputCol="features"),
                                    self.classifier])
        grid = ParamGridBuilder().addGrid(self.classifier.seed, [1, 2])
        best = self.validator(CrossValidator, grid, pipeline, numFolds=2).fit(self.frame)
        self.assertEqual((len(self.outputs()), self.outputs().count(output)), (5, 1))
        self.assertEqual(espalier.load(output).weights_sha256,
                         best.bestModel.stages[-1].model().weights_sha256)

    def test_an_interrupt_ends_the_one_fit_at_a_time_of_a_split(self):
        grid = ParamGridBuilder().addGrid(self.classifier.seed, [1, 2])
        self.interrupt(self.validator(TrainValidationSplit, grid), 1)
        self.assert_gone(1)

    def test_a_fit_that_fails_ends_the_others(self):
        grid = ParamGridBuilder().addGrid(self.classifier.activation, ["relu", "rule"])
        check = espalier.Client._check

        def in_order(client, spec):
            if spec["model"]["activation"] == "rule":
                self.await_jobs(1)
            check(client, spec)
        with mock.patch.object(espalier.Client, "_check", in_order), \
                self.assertRaisesRegex(espalier.InvalidArgumentError, "unknown value 'rule'"):
            self.validator(CrossValidator, grid, numFolds=2, parallelism=2).fit(self.frame)
        self.assert_gone(1)

    def test_a_program_that_is_interrupted_ends_with_its_fits(self):
        process = subprocess.Popen(
            [sys.executable, self.write("script.py", SCRIPT % sparks.CONF), self.cluster.address,
             self.work], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=dict(self.environment, PYSPARK_PYTHON=sys.executable), start_new_session=True)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        sparks.await_training(self, process, self.client, jobs=2)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        said, _ = process.communicate(timeout=sparks.LIMIT_S)
        self.assertIn("KeyboardInterrupt", said)
        self.assertEqual((self.states(), os.listdir(self.work)), (["CANCELLED"] * 2, []), said)


if __name__ == "__main__":
    unittest.main()
