"""Tests the job files made of Params and trains them with real daemons, without Spark."""
import json
import re
import subprocess
import sys
import unittest

import pyarrow
import pyarrow.parquet
from sparks import daemons

import espalier
from espalier.spark import (EspalierClassifier, EspalierRegressor,
                            MultilayerPerceptronClassifier, SparkTorch)
from espalier.spark.messages import Translation
from espalier.spark.params import key_params

CATEGORIES = {"type": "categorical", "encode": "one_hot"}


def spec(output="out", train="rows", **params):
    estimator = EspalierClassifier(**params)
    return estimator.job_spec("classification", train, estimator.feature_columns(), output)


def groups(**params):
    return spec(**params)["data"]["features"]["groups"]


class ParamsTest(daemons.EspalierTest):
    def test_categorical_columns_are_groups_beside_the_other_features(self):
        made = spec(inputCols=["a", "c"], categoricalCols=["b", "c"])["data"]["features"]
        self.assertEqual(made["columns"], ["a", "c", "b"])
        self.assertEqual(made["groups"], [dict(CATEGORIES, columns="b"),
                                          dict(CATEGORIES, columns="c")])
        made = spec(categoricalCols=["b"], featuresCol="v", embeddingSizes=[4])["data"]["features"]
        self.assertEqual(made["columns"], ["v", "b"])
        self.assertEqual(made["groups"], [dict(CATEGORIES, columns="b",
                                               encode={"embedding": 4})])
        self.assertNotIn("groups", spec(inputCols=["a"])["data"]["features"])

    def test_sizes_are_one_for_all_or_one_for_each(self):
        three = dict(inputCols=["a"], categoricalCols=["b", "c", "d"])
        self.assertEqual([g["encode"] for g in groups(embeddingSizes=[2], **three)],
                         [{"embedding": 2}] * 3)
        self.assertEqual([g["encode"] for g in groups(embeddingSizes=[2, 0, 1], **three)],
                         [{"embedding": 2}, "one_hot", {"embedding": 1}])
        with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                    "found 2 sizes for 3 categoricalCols"):
            groups(embeddingSizes=[1, 2], **three)
        self.assertEqual([g["hash"] for g in groups(hashBuckets=9, **three)], [9] * 3)

    def test_groups_of_the_job_are_further_columns(self):
        estimator = EspalierClassifier(
            inputCols=["a", "b", "d"], categoricalCols=["c"],
            job="{data: {features: {groups: [{columns: a, log1p: true}, {columns: [b, d], "
                "type: boolean}]}}, train: {batch: 7}}")
        made = estimator.job_spec("classification", "rows", estimator.feature_columns(), "out")
        self.assertEqual(made["data"]["features"]["groups"], [
            dict(CATEGORIES, columns="c"), {"columns": "a", "log1p": True},
            {"columns": ["b", "d"], "type": "boolean"}])
        self.assertEqual((made["train"]["batch"], made["data"]["features"]["columns"]),
                         (7, ["a", "b", "d", "c"]))
        self.assertEqual(estimator.coded_columns(), {"a", "b", "c", "d"})

    def test_a_group_of_a_column_that_is_no_feature_is_refused(self):
        def group(*names):
            return dict(inputCols=["v", "a[b]"], categoricalCols=["c"], job=json.dumps(
                {"data": {"features": {"groups": [{"columns": list(names), "nulls": "mean"}]}}}))
        self.assertEqual(len(groups(**group("v[0]", "v", "a[b]", "c", "0..1", 2))), 2)
        for name in ("d", "w[0]", "v[x]", "a[0]"):
            with self.assertRaisesRegex(
                    espalier.InvalidArgumentError, "^job: a group names column '%s', which .*"
                    "inputCols or categoricalCols$" % re.escape(name)):
                groups(**group("v[0]", name))

    def test_a_key_of_the_job_that_the_estimator_goes_by_itself_is_refused_at_once(self):
        for job, words in (
                ("output: /elsewhere", "'output', which `job` cannot set: the Param output"),
                ("output: {path: /elsewhere}", "'output', "),
                ("data: {train: other.csv}", "'data.train', .*: fit or fit_on_parquet gets"),
                ("data: {label: other}", "'data.label', .*: the Param labelCol names"),
                ("data: {format: csv}", "'data.format', .*: the rows are Parquet"),
                ("model: {task: regression}", "'model.task', .*EspalierRegressor")):
            for kind in (EspalierClassifier, EspalierRegressor, MultilayerPerceptronClassifier):
                with self.assertRaisesRegex(espalier.InvalidArgumentError, "^job: found " + words):
                    kind(job=job).coded_columns()  # called before any rows are written
        for job, section in (("data: null", "data"), ("model: 5", "model")):
            with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                        "^job: expected a map in '%s'$" % section):
                spec(inputCols=["a"], job=job)
        made = spec(inputCols=["a"], job="{data: {test: t.parquet}, model: {init: he}}")
        self.assertEqual((made["data"]["test"], made["model"]["init"]), ("t.parquet", "he"))

    def test_optimizers_over_all_rows_have_the_jobs_defaults(self):
        def training(**params):
            return spec(inputCols=["a"], **params)["train"]
        rows = {"batch": 256, "epochs": 10, "seed": 1}
        self.assertEqual(training(), dict(rows, optimizer={"adam": {"learning_rate": 1e-3}}))
        del rows["batch"]
        self.assertEqual(training(optimizer="gd"),
                         dict(rows, optimizer={"gd": {"learning_rate": 1e-3}}))
        self.assertEqual(training(optimizer="gd", batchSize=9)["batch"], 9)
        self.assertEqual(training(optimizer="lbfgs"), {"optimizer": {"lbfgs": {}}, "seed": 1})
        self.assertEqual(training(optimizer="lbfgs", stepSize=1e-3, maxIter=10, batchSize=256), {
            "optimizer": {"lbfgs": {"learning_rate": 1e-3, "max_iterations": 10}}, "batch": 256,
            "seed": 1})

    def test_an_empty_name_of_a_column_is_none(self):
        data = spec(inputCols=["a"], weightCol="", validationIndicatorCol="",
                    validationFraction=0.25)["data"]
        self.assertNotIn("weight", data)
        self.assertEqual(data["validation"], {"fraction": 0.25})

    def test_what_is_said_of_iterations_is_true_of_each_estimator(self):
        ours, sparks_own = EspalierClassifier(maxIter=3), MultilayerPerceptronClassifier(maxIter=3)
        for estimator, words in ((ours, "maxIter: epochs; .* lbfgs iterations .*current: 3"),
                                 (sparks_own, "maxIter: max number of iterations .*current: 3")):
            self.assertRegex(estimator.copy().explainParam("maxIter"), words)
        self.assertRegex(ours.explainParam("stepSize"), "learning rate; .*default: 0.001")
        self.assertRegex(sparks_own.explainParam("stepSize"), "[Ss]tep size .*default: 0.03")

    def test_params_take_what_others_estimators_take(self):
        made = EspalierClassifier(inputCols=["a"], hiddenLayers=[3, 4], dropout=[0.1, 0],
                                  activation=["relu", "tanh"], verbose=1, warmStart="/m")
        self.assertEqual((made.getHiddenLayers(), made.getDropout(), made.getActivation(),
                          made.getVerbose(), made.getPatience(), made.getMaxIter()),
                         ([3, 4], [0.1, 0.0], ["relu", "tanh"], True, 0, 10))
        job = made.job_spec("classification", "rows", ["a"], "out")
        self.assertEqual((job["model"]["dropout"], job["model"]["activation"],
                          job["train"]["initial"]), ([0.1, 0.0], ["relu", "tanh"], "/m"))
        self.assertEqual([made.setVerbose(v).getVerbose() for v in (0, 2, False)],
                         [False, True, False])
        for name, value in (("verbose", "yes"), ("dropout", ["a"]), ("activation", 3)):
            with self.assertRaisesRegex(TypeError, "Invalid param value given for param \"%s\"" %
                                        name):
                made.setParams(**{name: value})

    def test_each_other_scalar_key_of_a_job_is_a_param(self):
        params = key_params()
        self.assertGreater(len(params), 60)
        self.assertEqual(params["earlyStoppingMetric"][0], "train.early_stopping.metric")
        self.assertNotIn("csvHeader", params)
        self.assertNotIn("seed", params)
        made = EspalierClassifier(inputCols=["a"], patience=3, warmStart="/m", optimizer="sgd")
        made.setClipNorm(2).setEarlyStoppingMetric("loss").setScheduleWarmup("1 epoch")
        made.setInitialRefitPreprocessing(True)
        self.assertEqual(made.getClipNorm(), 2.0)
        self.assertIn("clip_value", made.explainParam("clipNorm"))
        train = made.job_spec("classification", "rows", ["a"], "out")["train"]
        self.assertEqual(train["clip_norm"], 2.0)
        self.assertEqual(train["early_stopping"], {"metric": "loss", "patience": 3})
        self.assertEqual(train["initial"], {"from": "/m", "refit_preprocessing": True})
        self.assertEqual(train["schedule"], {"constant": {"warmup": "1 epoch"}})
        made = spec(inputCols=["a"], optimizer="momentum", optimizerMomentum=0.5, schedule="cosine",
                    scheduleFinalFraction=0.1)
        self.assertEqual(made["train"]["optimizer"],
                         {"momentum": {"learning_rate": 1e-3, "momentum": 0.5}})
        self.assertEqual(made["train"]["schedule"], {"cosine": {"final_fraction": 0.1}})
        self.assertNotIn("clip_norm", made["train"])
        made = spec(inputCols=["a"], loss="huber", lossHuberDelta=2)
        self.assertEqual(made["model"]["loss"], {"huber": {"delta": 2.0}})
        with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                    "^thresholdMinRecall: found it without threshold. Set"):
            spec(inputCols=["a"], thresholdMinRecall=0.5)
        for name, value in (("clipNorm", "much"), ("layerNorm", 3), ("steps", 1.5),
                            ("maxTime", [1])):
            with self.assertRaisesRegex(TypeError, "Invalid param value given for param \"%s\"" %
                                        name):
                EspalierClassifier(**{name: value})

    def test_settings_of_another_loss_are_refused(self):
        for loss in ("mse", "quantile"):
            with self.assertRaisesRegex(
                    espalier.InvalidArgumentError,
                    "^lossHuberDelta: found it with loss %s, expected loss huber" % loss):
                spec(inputCols=["a"], loss=loss, lossHuberDelta=2)

    def test_a_patience_of_0_never_stops(self):
        settings = dict(inputCols=["a"], earlyStoppingMetric="loss", earlyStoppingMinDelta=0.1)
        self.assertNotIn("early_stopping", spec(patience=0, **settings)["train"])
        self.assertEqual(spec(**settings)["train"]["early_stopping"],
                         {"metric": "loss", "min_delta": 0.1})

    def test_class_weights_are_a_word_or_a_map(self):
        weights = {"no": 1, 1.0: 5}
        for given, found in (("balanced", "balanced"), (weights, {"no": 1.0, "1.0": 5.0})):
            made = EspalierClassifier(inputCols=["a"]).setClassWeight(given)
            job = made.job_spec("classification", "rows", ["a"], "out")
            self.assertEqual(job["train"]["class_weight"], found)
        self.assertNotIn("class_weight", spec(inputCols=["a"])["train"])
        for wrong in (3, {"no": "much"}):
            with self.assertRaisesRegex(TypeError, "Invalid param value given for param"):
                EspalierClassifier(classWeight=wrong)
        made = MultilayerPerceptronClassifier(layers=[4, 3], classWeight="balanced").job_spec(
            "classification", "rows", ["features"], "out")
        self.assertEqual(made["train"], {"class_weight": "balanced"})

    def test_sparks_perceptron_speaks_in_sparks_words(self):
        trainer = MultilayerPerceptronClassifier(layers=[4, 5, 3], maxIter=7, patience=2,
                                                 thresholds=[1, 2, 3], blockSize=64)
        job = trainer.job_spec("classification", "rows", ["features"], "out")
        self.assertEqual(job["compat"], {"spark-mlp": {
            "layers": [4, 5, 3], "solver": "l-bfgs", "tol": 1e-6, "blockSize": 64, "maxIter": 7,
            "stepSize": 0.03, "seed": 1, "thresholds": [1.0, 2.0, 3.0]}})
        self.assertNotIn("model", job)
        self.assertEqual(list(job["train"]), ["early_stopping"])
        for wrong, words in ((dict(layers=[4, 3], hiddenLayers=[2]), "hiddenLayers: found it set"),
                             (dict(layers=[4, 3], warmStart="/m"), "warmStart: found it set"),
                             ({}, "layers is not set")):
            with self.assertRaisesRegex(espalier.InvalidArgumentError, words):
                MultilayerPerceptronClassifier(**wrong).job_spec("classification", "r", ["f"], "o")

    def test_sparktorchs_params_are_its_words_in_the_job(self):
        words = {"iters": 100, "miniBatch": 64, "partitions": 2, "partitionShuffles": 1,
                 "validationPct": 0.2, "earlyStopPatience": 40, "mode": "hogwild"}
        made = SparkTorch(inputCol="v", hiddenLayers=[8], stepSize=0.02, verbose=1, **words)
        job = made.job_spec("classification", "rows", made.feature_columns(), "out")
        self.assertEqual(job["compat"], {"sparktorch": words})
        self.assertEqual((job["model"]["hidden"], job["data"]["features"]["columns"]),
                         ([8], ["v"]))
        self.assertEqual(job["train"], {"optimizer": {"adam": {"learning_rate": 0.02}}, "seed": 1})
        self.assertEqual((made._task, made.copy().setLoss("huber")._task),
                         ("classification", "regression"))
        for wrong, word in (("maxIter", "iters"), ("batchSize", "miniBatch"),
                            ("patience", "earlyStopPatience"),
                            ("validationFraction", "validationPct")):
            with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                        "^%s: found it set, expected %s" % (wrong, word)):
                SparkTorch(**{wrong: 1}).job_spec("classification", "r", ["f"], "o")

    def test_a_param_that_does_not_exist_has_the_nearest_one(self):
        with self.assertRaisesRegex(TypeError, "no Param 'maxItr'; did you mean 'maxIter'?"):
            EspalierClassifier(maxItr=3)

    def test_errors_name_params_and_the_frame(self):
        own = {"train": {"optimizer": {"adam": {"beta1": 2}}, "schedule": "cosin"}}
        says = Translation({"train.clip_norm": "clipNorm", "train.optimizer.*.beta1": "beta1"}, own,
                           "/w/x-1", ("compat.sparktorch", "SparkTorch's Params")).text
        for found, expected in (
                ("job:23:11: train.epochs: found -1", "maxIter: found -1"),
                ("train.optimizer.sgd.learning_rate: found 0", "stepSize: found 0"),
                ("train.optimizer.sgd.beta1: found 2", "beta1: found 2"),
                ("job:2:3: train.optimizer.adam.beta1: found 2",
                 "job: train.optimizer.adam.beta1: found 2"),
                ("job:2:3: train.schedule: unknown value 'cosin'",
                 "job: train.schedule: unknown value 'cosin'"),
                ("job:9:1: compat.sparktorch.iters: found 0", "iters: found 0"),
                ("train.batch: found together with compat.sparktorch, which",
                 "batchSize: found together with SparkTorch's Params, which"),
                ("Set train.clip_norm. Or data.validation, for instance `validation: {fraction: "
                 "0.2}`", "Set clipNorm. Or validationFraction or validationIndicatorCol, for "
                 "instance `validationFraction=0.2`"),
                ("'/w/x-1/rows/part-0.parquet' is empty", "'the frame' is empty"),
                ("file:/w/x-1/bundle: no space", "the model's directory: no space"),
                ("train.epochs_of_mine and my.train.batch", "train.epochs_of_mine and "
                 "my.train.batch")):
            self.assertEqual(says(found), expected)

    def test_the_coordinator_judges_params_before_there_are_rows(self):
        address = daemons.Cluster(self, 1).address
        good = dict(inputCols=["a"], coordinator=address)
        words = [("maxIter", -1, "found -1"), ("batchSize", 0, "found '0'"),
                 ("activation", "rleu", "unknown value 'rleu'; did you mean 'relu'?"),
                 ("optimizer", "adma", "unknown value 'adma'; did you mean 'adam'?"),
                 ("loss", "msee", "unknown value 'msee'"), ("stepSize", -0.5, "found -0.5"),
                 ("dropout", 1.5, "found 1.5"), ("scale", "minmx", "unknown value 'minmx'"),
                 ("nulls", "men", "unknown value 'men'"), ("hiddenLayers", [0], "found 0"),
                 ("validationFraction", 1.0, "found 1"), ("maxWorkers", -2, "found -2"),
                 ("clipNorm", -1.0, "found -1"), ("schedule", "cosin", "unknown value 'cosin'"),
                 ("patience", -3, "found -3"), ("precision", "float23", "unknown value")]
        for name, value, found in words:
            with self.assertRaises(espalier.InvalidArgumentError) as raised:
                EspalierClassifier(**dict(good, **{name: value}))._check()
            said = str(raised.exception)
            self.assertRegex(said, "^%s(\\[0\\])?: %s" % (name, re.escape(found)))
            self.assertNotRegex(said, r"job:|train\.|model\.|data\.|workers\.")
        perceptron = dict(good, layers=[1, 2])
        for kind, params, found in (
                (SparkTorch, dict(good, iters=0), "^iters: found '0'"),
                (SparkTorch, dict(good, mode="hogwid"), "^mode: unknown value 'hogwid'"),
                (MultilayerPerceptronClassifier, dict(perceptron, tol=-1.0), "^tol: found '-1"),
                (MultilayerPerceptronClassifier, dict(perceptron, solver="lbfgs"),
                 "^solver: unknown value 'lbfgs'; did you mean 'l-bfgs'"),
                (EspalierClassifier, dict(good, job="{train: {bach: 2}}"), "^job: .*'bach'")):
            with self.assertRaisesRegex(espalier.InvalidArgumentError, found):
                kind(**params)._check()
        with espalier.connect(address) as cluster:
            for kind, params in ((EspalierClassifier, good), (EspalierRegressor, good),
                                 (SparkTorch, dict(good, miniBatch=8, partitions=1)),
                                 (MultilayerPerceptronClassifier,
                                  dict(perceptron, initialWeights=[0.0] * 100_000))):
                kind(**params)._check()
            self.assertEqual(cluster.jobs(), [])

    def test_what_runs_in_executors_needs_no_grpc_and_no_yaml(self):
        code = ("import sys\nfor name in ('grpc', 'google', 'yaml'):\n"
                "    sys.modules[name] = None\nimport espalier.spark.keeper, espalier.spark.model")
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_the_cluster_trains_what_they_say(self):
        rows = {"city": ["oslo", "rome", "bonn"] * 200, "floor": list(range(4)) * 150,
                "size": [i % 5 / 2 for i in range(600)]}
        rows["label"] = [(c == "rome") == (f > 1) for c, f in zip(rows["city"], rows["floor"])]
        table = pyarrow.table(dict(rows, label=[float(x) for x in rows["label"]]))
        pyarrow.parquet.write_table(table, self.path("rows.parquet"))
        with espalier.connect(daemons.Cluster(self, 1).address) as cluster:
            result = cluster.submit(spec(
                train=self.path("rows.parquet"), output=self.path("out"), inputCols=["size"],
                categoricalCols=["city", "floor"], embeddingSizes=[3, 0], hiddenLayers=[16],
                stepSize=0.01, batchSize=64, maxIter=40)).result(progress=False)
        model = result.load()
        self.assertEqual(result.train.accuracy, 1)
        self.assertEqual(list(model.predict(table) == 1), rows["label"])

    def test_the_cluster_trains_by_lbfgs_to_its_end(self):
        rows = [[float(i % 7) - 3, float(i % 11) - 5] for i in range(300)]
        table = pyarrow.table({"x": [a for a, _ in rows], "y": [b for _, b in rows],
                               "label": [float((i * 37 % 100) < 10 * (a + 4))
                                         for i, (a, _) in enumerate(rows)]})
        pyarrow.parquet.write_table(table, self.path("rows.parquet"))
        with espalier.connect(daemons.Cluster(self, 1).address) as cluster:
            def trained(**params):
                return cluster.submit(spec(
                    train=self.path("rows.parquet"), output=self.path("out"),
                    inputCols=["x", "y"], **params)).result(progress=False)
            whole, short = trained(optimizer="lbfgs"), trained(optimizer="lbfgs", maxIter=2)
            adam = trained(maxIter=100, stepSize=0.02)
        self.assertEqual(whole.stopped_because, "convergence")
        self.assertGreater(short.train.loss, whole.train.loss)
        self.assertLess(whole.train.loss, adam.train.loss + 1e-4)

    def test_the_cluster_trains_sparks_perceptron(self):
        points = [[float(i % 7) - 3, float(i % 11) - 5] for i in range(300)]
        labels = [float(x + y > 0) for x, y in points]
        pyarrow.parquet.write_table(pyarrow.table({"features": points, "label": labels}),
                                    self.path("rows.parquet"))
        start = MultilayerPerceptronClassifier(layers=[2, 3, 2], maxIter=1, seed=5)
        with espalier.connect(daemons.Cluster(self, 1).address) as cluster:
            def trained(name, estimator):
                return cluster.submit(estimator.job_spec(
                    "classification", self.path("rows.parquet"), ["features"],
                    self.path(name))).result(progress=False)
            first = trained("first", start)
            long = trained("long", start.copy().setMaxIter(100))
            other = trained("other", start.copy().setInitialWeights(
                [0.1 * i for i in range(17)]))
            wrong = start.copy().setLayers([3, 3, 2])
            with self.assertRaisesRegex(espalier.EspalierError, "model.inputs: found 3, "):
                trained("wrong", wrong)
        self.assertEqual(long.train.accuracy, 1)
        self.assertGreater(first.train.loss, 10 * long.train.loss)
        self.assertNotEqual(first.weights_sha256, other.weights_sha256)
        self.assertEqual(long.load().classes, ("0", "1"))


if __name__ == "__main__":
    unittest.main()
