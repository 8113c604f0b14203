"""Trained models: NumPy's predictions have the metrics that the workers found."""
import csv
import os
import unittest

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest

import espalier
from daemons import ROOT, EspalierTest

pytestmark = pytest.mark.covers("bundle", "data", "model")


class TrainedTest(EspalierTest):
    def setUp(self):
        super().setUp()
        os.environ["ESPALIER_HOME"] = os.path.join(ROOT, "build")
        self.addCleanup(os.environ.pop, "ESPALIER_HOME")

    def train(self, data, model, **train):
        train = dict({"epochs": 4, "batch": 64, "seed": 3,
                      "optimizer": {"adam": {"learning_rate": 0.01}}}, **train)
        result = espalier.train({"name": "trained", "preset": "none", "data": data, "model": model,
                                 "train": train,
                                 "output": {"path": self.path("bundle"), "overwrite": True}},
                                workers=2, threads=1)
        return result, result.load()

    def check_classes(self, result, model, data, labels):
        """Checks that loss, accuracy and the confusion matrix are those of the job's test set."""
        p, predicted = model.predict_proba(data), model.predict(data)
        index = {c: i for i, c in enumerate(model.classes)}
        true = np.array([index[str(label)] for label in labels])
        self.assertEqual(float(np.mean([str(a) == str(b) for a, b in zip(predicted, labels)])),
                         result.test.accuracy)
        confusion = np.zeros((len(index), len(index)))
        np.add.at(confusion, (true, model.predict_index(data)), 1)
        np.testing.assert_array_equal(confusion, result.test.confusion)
        np.testing.assert_allclose(-np.log(p[np.arange(len(true)), true].astype(float)).mean(),
                                   result.test.loss, rtol=1e-5)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)

    def check_regression(self, result, model, data, true):
        d = model.predict(data) - true
        np.testing.assert_allclose([np.sqrt((d * d).mean()), np.abs(d).mean(),
                                    1 - (d * d).mean() / true.var()],
                                   [result.test.rmse, result.test.mae, result.test.r2], rtol=1e-5)

    def texts_csv(self, name, rows, seed):
        """Writes text classes, and empty fields in two of the columns."""
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(rows, 4)) * [1, 100, 0.01, 1] + [0, 5000, 0, -3]
        score = x[:, 0] + (x[:, 1] - 5000) / 100
        label = np.where(score > 0.7, "größer", np.where(score < -0.7, "less, or 'so'", "mid"))
        frame = pd.DataFrame(x, columns=["a", "b", "c d", "e"])
        frame.insert(1, "label", label)
        frame.loc[rng.random(rows) < 0.1, "a"] = np.nan
        frame.loc[rng.random(rows) < 0.05, "e"] = np.nan
        frame.to_csv(self.path(name), index=False, quoting=csv.QUOTE_MINIMAL)
        return self.path(name)

    def test_several_fits_have_the_metrics_of_the_job(self):
        train, test = self.texts_csv("train.csv", 600, 1), self.texts_csv("test.csv", 300, 2)
        frame = pd.read_csv(test, float_precision="round_trip")
        data = {"train": train, "test": test, "label": "label", "features": {"nulls": "mean"}}
        result, model = self.train(data, {"hidden": [8]}, calibrate=True,
                                   ensemble={"fits": 3, "shrink": True})
        self.assertEqual((result.fits, result.best_epoch), (3, None))
        self.assertEqual(result.validation.rows, 600)
        self.check_classes(result, model, frame, list(frame["label"]))
        for path in (train, test):
            table = pd.read_csv(path)
            table["count"] = np.round(np.exp(2 + table["a"].fillna(0) / 2)) + 1
            table.to_csv(path, index=False)
        frame = pd.read_csv(test, float_precision="round_trip")
        numbers = dict(data, label="count", features={
            "columns": ["a", "e"], "nulls": "mean", "numbers": {"embedding": "piecewise_linear"}})
        for loss in ("mse", "poisson"):
            result, model = self.train(numbers, {"task": "regression", "hidden": [8], "loss": loss},
                                       ensemble={"fits": 2, "shrink": True})
            self.check_regression(result, model, frame, frame["count"].to_numpy())

    def test_thresholds_and_intervals_are_those_of_the_job(self):
        train, test = self.texts_csv("train.csv", 900, 1), self.texts_csv("test.csv", 300, 2)
        for path in (train, test):
            table = pd.read_csv(path)
            table["label"] = np.where(table["label"] == "mid", "no", "yes")
            table.to_csv(path, index=False)
        frame = pd.read_csv(test, float_precision="round_trip")
        data = {"train": train, "test": test, "label": "label", "features": {"nulls": "mean"},
                "validation": {"fraction": 0.3}}
        result, model = self.train(data, {"hidden": [8], "positive": "no"},
                                   threshold={"recall": {"min_precision": 0.6}})
        self.assertEqual(result.threshold.label, "no")
        self.assertNotAlmostEqual(result.threshold.threshold, 0.5, places=2)
        self.check_classes(result, model, frame, frame["label"])
        self.assertIsNotNone(result.test.average_precision)
        for loss in ("mse", "poisson"):
            numbers = dict(data, label="e", features={"columns": ["a", "c d"], "nulls": "mean"},
                           bad_rows={"policy": "skip", "limit": 200})
            if loss == "poisson":
                numbers.update(label="b")
            result, model = self.train(numbers, {"task": "regression", "loss": loss},
                                       intervals=0.75)
            rows = frame.dropna(subset=[numbers["label"]])
            ends, truth = model.predict_interval(rows), rows[numbers["label"]].to_numpy()
            width, = result.intervals.half_widths
            np.testing.assert_allclose(ends[:, 1], model.predict(rows) + width)
            inside = np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
            self.assertAlmostEqual(inside, result.test.coverage, delta=0.01)
        with self.assertRaisesRegex(espalier.FailedPreconditionError, "no prediction intervals"):
            self.train(data, {})[1].predict_interval(frame)

    def test_text_classes_with_nulls_and_each_network_option_match_the_jobs_metrics(self):
        train, test = self.texts_csv("train.csv", 900, 1), self.texts_csv("test.csv", 300, 2)
        data = {"train": train, "test": test, "label": "label",
                "features": {"columns": "auto", "nulls": "mean"}}
        frame = pd.read_csv(test, float_precision="round_trip")
        table = pyarrow.csv.read_csv(test)
        models = [{"hidden": [16], "activation": "relu"},
                  {"hidden": [12, 12], "activation": ["gelu", "tanh"], "layer_norm": True,
                   "residual": True, "precision": "float64", "dropout": 0.1},
                  {"hidden": [8, 8, 8], "activation": ["silu", "elu", "leaky_relu"]},
                  {"hidden": []}]
        for i, options in enumerate(models):
            scale = ["standard", "minmax", "none", {"divide": 100}][i]
            job = dict(data, features=dict(data["features"], scale=scale))
            result, model = self.train(job, dict(options, task="classification"))
            self.assertEqual(model.features, ("a", "b", "c d", "e"))
            self.assertEqual(set(model.classes), {"größer", "less, or 'so'", "mid"})
            self.check_classes(result, model, frame, frame["label"])
            np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(table))

    def test_columns_of_all_kinds_match_the_jobs_metrics_and_the_commands_predictions(self):
        def write(name, rows, seed, strangers=()):
            rng = np.random.default_rng(seed)
            frame = pd.DataFrame({
                "city": rng.choice(["Oslo", "Rome", "Wien", *strangers], rows),
                "user": rng.integers(0, 30, rows), "tag": rng.integers(0, 500, rows),
                "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(
                    rng.integers(0, 2_000, rows), unit="D"),
                "income": rng.exponential(1e4, rows), "member": rng.choice(["yes", "no"], rows),
                "score": rng.normal(size=rows)})
            good = frame["score"] + (frame["city"] == "Rome") + (frame["user"] % 3 == 0) > 0.7
            frame["y"] = np.where(good, "good", "bad")
            frame["since"] = frame["since"].dt.strftime("%Y-%m-%d")
            frame.loc[rng.random(rows) < 0.1, ["city"]] = None
            frame.loc[rng.random(rows) < 0.1, ["income"]] = np.nan
            frame.to_csv(self.path(name), index=False)
            return frame
        write("train.csv", 900, 1)
        frame = write("test.csv", 300, 2, strangers=("Lima",))
        groups = [{"columns": "city", "type": "categorical"},
                  {"columns": "user", "type": "categorical", "encode": {"embedding": 3},
                   "min_count": 3},
                  {"columns": "tag", "type": "categorical", "hash": 20},
                  {"columns": "since", "type": "date",
                   "parts": ["year", "month", "day", "weekday", "yearday", "epoch"]},
                  {"columns": "income", "log1p": True, "nulls": "mean", "null_indicator": True},
                  {"columns": "member", "type": "boolean"}]
        bins = {"scale": "robust_smooth_clip",
                "numbers": {"embedding": "piecewise_linear", "width": 3, "bins": 10}}
        for features, options in (({}, {}), (bins, {"parametrization": "ntp",
                                                    "scaling_layer": True})):
            with self.subTest(options):
                self.check_all_kinds(frame, dict(features, columns=["score"], groups=groups),
                                     dict(options, hidden=[8]))

    def check_all_kinds(self, frame, features, options):
        result, model = self.train(
            {"train": self.path("train.csv"), "test": self.path("test.csv"), "label": "y",
             "features": features}, options)
        self.assertEqual(model.features,
                         ("score", "city", "user", "tag", "since", "income", "member"))
        self.check_classes(result, model, frame, frame["y"])
        array = frame[list(model.features)].to_numpy(dtype=object)
        np.testing.assert_array_equal(model.predict(array), model.predict(frame))
        out = self.path("out%d" % len(options))
        self.espalier("predict", self.path("bundle"), self.path("test.csv"), "--output", out)
        parts = sorted(p for p in os.listdir(out) if p.startswith("part-"))
        found = pd.concat([pd.read_csv(os.path.join(out, p)) for p in parts], ignore_index=True)
        np.testing.assert_array_equal(found["prediction"], model.predict(frame))
        np.testing.assert_allclose(found[["probability_bad", "probability_good"]],
                                   model.predict_proba(frame), atol=1e-5)

    def test_texts_of_a_csv_file_are_read_as_the_command_reads_them(self):
        usual = {"when": "2024-02-29", "flag": "yes", "income": "1", "city": "Oslo"}
        nulls = ["", "NA", "NaN", "nan", "null", "NULL", "\\N", "None", "Null", "N/A", " NA "]
        numbers = ["+5", "++5", "1.", ".5", "1e", "1e400", "inf", "1_000", "0x10", "-0", "1 "]
        times = ["", " 23:59", "T23:59:58", "T23:59:58.5", "T23:59:58.123456789", "T12:30.5",
                 "T23:59:58.1234567891", "T07:08Z", "T07:08+01:00", "T07:08-01", "T07:08+0130",
                 "T07:08+01:", "T07:08+24:00", "T07:08+01:60", "T24:00", "T23:60", "T23:59:60",
                 "T23:59:61", "T", "t10:00", "T10", "T10:00:00.", "T10:00Zulu", " "]
        dates = ["2024-02-29" + time for time in times] + [
            "2023-02-29", "0000-01-01", "0001-01-01", "9999-12-31T23:59:59", "24-2-9", "2024-1-01",
            "20240229", "20230229", "20240229.5", "18991231", "21991231", "1.7e12", "-62135596800",
            "-62135596801", "253402300799", "253402300800"]
        flags = ["true", "True", "TRUE", "tRUE", "yes", "YES", "no", "No", "False", "off", "1.0",
                 "0", "2", "1e0"]
        texts = {"when": nulls + numbers + dates, "flag": nulls + numbers + flags,
                 "income": nulls + numbers + ["-1", "-0.5"],
                 "city": nulls + ["Rome ", "rome", "x" * 256, "x" * 257, "\u00e9" * 128]}
        rows = [dict(usual, **{column: text}) for column, values in texts.items()
                for text in values]
        pd.DataFrame([dict(usual, city=city, y=y) for y in range(20) for city in ("Oslo", "Rome")]
                     ).to_csv(self.path("train.csv"), index=False)
        pd.DataFrame([dict(row, id=i) for i, row in enumerate(rows)]).to_csv(
            self.path("new.csv"), index=False)
        groups = [{"columns": "when", "type": "date", "parts": ["epoch"], "nulls": "mean"},
                  {"columns": "flag", "type": "boolean", "nulls": "mean"},
                  {"columns": "income", "log1p": True, "nulls": "mean"},
                  {"columns": "city", "type": "categorical"}]
        _, model = self.train(
            {"train": self.path("train.csv"), "label": "y",
             "features": {"columns": list(usual), "scale": "none", "groups": groups}},
            {"task": "regression", "hidden": [], "precision": "float64", "target_scale": "none"},
            epochs=1, optimizer={"adam": {"learning_rate": 1e-9}})
        self.espalier("predict", self.path("bundle"), self.path("new.csv"), "--output",
                      self.path("out"), "--keep", "id")
        parts = sorted(p for p in os.listdir(self.path("out")) if p.startswith("part-"))
        found = pd.concat([pd.read_csv(self.path("out", p), float_precision="round_trip")
                           for p in parts]).set_index("id")["prediction_y"]
        for i, row in enumerate(rows):
            with self.subTest(row=row):
                try:
                    value = model.predict({k: [v] for k, v in row.items()})[0]
                except espalier.BadInputError:
                    self.assertTrue(np.isnan(found[i]))
                else:
                    np.testing.assert_allclose(value, found[i], rtol=1e-12)

    def test_ordered_categories_of_pandas_are_kept_beside_predictions(self):
        self.train({"train": self.houses_csv("train.csv", 300), "label": "price",
                    "features": {"columns": "auto", "nulls": "mean"}},
                   {"task": "regression", "hidden": [4]}, epochs=1)
        frame = pd.read_csv(self.houses_csv("test.csv", 200, seed=5))
        grades = np.random.default_rng(1).choice(["low", "high", "mid"], len(frame))
        frame["grade"] = pd.Categorical(grades, ["low", "mid", "high"], ordered=True)
        frame.to_parquet(self.path("test.parquet"), row_group_size=60)
        self.espalier("predict", self.path("bundle"), self.path("test.parquet"), "--keep", "grade",
                      "--format", "parquet", "--output", self.path("out"))
        found = pd.concat([pd.read_parquet(self.path("out", part))
                           for part in sorted(os.listdir(self.path("out")))
                           if part.startswith("part-")])
        self.assertEqual(list(found["grade"].astype(str)), list(grades))

    def test_two_classes_of_numbers_without_a_header_match_the_jobs_metrics(self):
        def write(name, seed):
            rng = np.random.default_rng(seed)
            x = rng.integers(0, 256, size=(500, 6))
            y = (x[:, 0] > x[:, 3]).astype(int)
            np.savetxt(self.path(name), np.column_stack([y, x]), fmt="%d", delimiter=",")
            return x, y
        write("train.csv", 1)
        x, y = write("test.csv", 2)
        result, model = self.train(
            {"train": self.path("train.csv"), "test": self.path("test.csv"), "label": 0,
             "csv": {"header": False}, "features": {"columns": "1..6", "scale": {"divide": 255}}},
            {"task": "classification", "hidden": [8], "loss": "binary_cross_entropy",
             "activation": "sigmoid"})
        self.assertEqual(model.features, ("1", "2", "3", "4", "5", "6"))
        self.assertEqual(model.predict(x).dtype, np.int64)
        self.check_classes(result, model, x.astype(np.uint8), y)

    def test_a_regression_with_nulls_matches_the_jobs_metrics(self):
        train, test = self.houses_csv("train.csv", 900), self.houses_csv("test.csv", 300, seed=5)
        frame = pd.read_csv(test)
        data = {"train": train, "test": test, "label": "price",
                "features": {"columns": "auto", "nulls": {"constant": 4}}}
        for loss in ("mse", "huber", "quantile"):
            result, model = self.train(data, {"task": "regression", "hidden": [16], "loss": loss},
                                       epochs=8)
            self.check_regression(result, model, frame, frame["price"].to_numpy())

    def test_counts_by_poisson_and_several_targets_match_the_jobs_metrics(self):
        def write(name, seed):
            rng = np.random.default_rng(seed)
            x = rng.normal(size=(600, 3))
            frame = pd.DataFrame(x, columns=list("abc"))
            frame["n"] = rng.poisson(np.exp(0.5 * x[:, 0] + 1))
            frame["m"] = rng.poisson(np.exp(0.3 * x[:, 1]))
            frame.to_csv(self.path(name), index=False)
            return frame
        write("train.csv", 1)
        frame = write("test.csv", 2)
        data = {"train": self.path("train.csv"), "test": self.path("test.csv"),
                "features": {"columns": ["a", "b", "c"]}}
        result, model = self.train(dict(data, label="n"),
                                   {"task": "regression", "hidden": [8], "loss": "poisson"})
        self.check_regression(result, model, frame, frame["n"].to_numpy())
        result, model = self.train(dict(data, label=["n", "m"]),
                                   {"task": "regression", "hidden": [8]})
        self.assertEqual(model.targets, ("n", "m"))
        d = model.predict(frame) - frame[["n", "m"]].to_numpy()
        np.testing.assert_allclose(np.abs(d).mean(), result.test.mae, rtol=1e-5)
        self.assertEqual([t.name for t in result.test.targets], ["n", "m"])
        for k, target in enumerate(result.test.targets):
            truth = frame[target.name].to_numpy()
            np.testing.assert_allclose(np.abs(d[:, k]).mean(), target.mae, rtol=1e-5)
            np.testing.assert_allclose(np.sqrt((d[:, k] ** 2).mean()), target.rmse, rtol=1e-5)
            np.testing.assert_allclose(1 - (d[:, k] ** 2).mean() / truth.var(), target.r2,
                                       rtol=1e-4)
        self.assertEqual(result.train.targets, ())

    def test_labels_of_0_and_1_match_the_jobs_metrics(self):
        def write(name, seed):
            rng = np.random.default_rng(seed)
            x = rng.normal(size=(600, 4))
            frame = pd.DataFrame(x, columns=list("abcd"))
            frame["p"] = (x[:, 0] + 0.3 * rng.normal(size=600) > 0).astype(int)
            frame["q"] = (x[:, 1] * x[:, 2] > 0.5).astype(int)
            frame.to_csv(self.path(name), index=False)
            return frame
        write("train.csv", 1)
        frame = write("test.csv", 2)
        result, model = self.train(
            {"train": self.path("train.csv"), "test": self.path("test.csv"), "label": ["p", "q"],
             "features": {"columns": ["a", "b", "c", "d"]}},
            {"task": "multilabel", "hidden": [16]}, epochs=30)
        self.assertEqual((model.task, model.targets, model.classes), ("multilabel", ("p", "q"), ()))
        y, said = frame[["p", "q"]].to_numpy(), model.predict(frame)
        self.assertEqual((said.shape, said.dtype), ((600, 2), np.int64))
        self.assertEqual((said == y).all(axis=1).mean(), result.test.accuracy)
        both, all_ones = (said * y).sum(axis=0), (said + y).sum(axis=0)
        self.assertAlmostEqual(2 * both.sum() / all_ones.sum(), result.test.f1_micro)
        self.assertAlmostEqual((2 * both / all_ones).mean(), result.test.f1_macro)
        self.assertGreater(result.test.f1_macro, 0.4)
        p = model.predict_proba(frame)
        loss = -(np.log(p) * y + np.log1p(-p) * (1 - y)).mean()
        self.assertAlmostEqual(loss, result.test.loss, places=5)
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "task multilabel"):
            model.predict_index(frame)

    def test_columns_called_by_digits_are_those_that_a_dict_names(self):
        names = ["07", "08", "09", "010"]
        rng = np.random.default_rng(1)
        frame = pd.DataFrame(rng.normal(size=(200, 4)), columns=names)
        frame.to_csv(self.path("train.csv"), index=False)
        result, model = self.train({"train": self.path("train.csv"), "label": "09",
                                    "features": {"columns": ["08", "010"]}},
                                   {"task": "regression", "hidden": []}, epochs=1)
        self.assertEqual((model.features, model.targets), (("08", "010"), ("09",)))

    def test_an_autoencoder_gives_its_features_back(self):
        test = self.houses_csv("test.csv", 300, seed=5)
        frame = pd.read_csv(test)
        result, model = self.train(
            {"train": self.houses_csv("train.csv", 900), "test": test,
             "features": {"columns": ["income", "distance", "age"], "scale": "minmax"}},
            {"task": "autoencoder", "hidden": [8]}, epochs=8)
        self.assertEqual((model.task, model.targets),
                         ("autoencoder", ("income", "distance", "age")))
        d = model.predict(frame) - frame[["income", "distance", "age"]].to_numpy()
        np.testing.assert_allclose(np.abs(d).mean(), result.test.mae, rtol=1e-5)
        np.testing.assert_allclose(np.sqrt((d * d).mean()), result.test.rmse, rtol=1e-5)


if __name__ == "__main__":
    unittest.main()
