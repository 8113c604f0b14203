"""The estimators of scikit-learn: its own checks, and what its users do with them."""
import copy
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import espalier
import espalier.sklearn
from daemons import ROOT
from espalier.sklearn import EspalierClassifier, EspalierRegressor

pytestmark = pytest.mark.covers("cli", "coordinator", "worker")

# A check of scikit-learn that fails: repeated rows and weighted rows give different batches, so the
# weights of the network differ.
FAILS = "check_sample_weight_equivalence_on_dense_data"
# A check that may fail: a product of float32 may differ in its last bit with its place in a block.
MAY_FAIL = "check_methods_sample_order_invariance"


class SklearnTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        home = mock.patch.dict(os.environ, ESPALIER_HOME=os.path.join(ROOT, "build"))
        home.start()
        cls.addClassCleanup(home.stop)
        rng = np.random.default_rng(5)
        cls.x = rng.normal(size=(150, 3))
        cls.y = cls.x[:, 0] + cls.x[:, 1] > 0
        cls.frame = pd.DataFrame({
            "a": cls.x[:, 0], "kind": pd.Categorical(rng.choice(["p", "q", "r"], 150)),
            "on": rng.random(150) < 0.5, "text": rng.choice(["u", "v", None], 150),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 150), "D"),
            "1..3": np.where(rng.random(150) < 0.1, np.nan, cls.x[:, 1])})
        cls.frame.index = cls.frame.index + 1000  # no feature

    def fast(self, kind=EspalierClassifier, **params):
        return kind(**dict(dict(preset="fast", epochs=20), **params))

    @pytest.mark.timeout(900)
    def test_the_checks_of_scikit_learn(self):
        for kind in (EspalierClassifier, EspalierRegressor):
            results = check_estimator(kind(), on_fail=None)
            failed = {r["check_name"]: "%r <- %r" % (r["exception"], r["exception"].__cause__)
                      for r in results if r["status"] == "failed"}
            self.assertGreater(len(results), 40)
            self.assertEqual(set(failed) - {MAY_FAIL}, {FAILS}, failed)

    def test_labels_keep_their_type(self):
        for labels in (self.y, np.where(self.y, 7, -3), np.where(self.y, "yes", "no"),
                       np.where(self.y, 2.0, 1.0), np.where(self.y, "yes", "no").astype(object)):
            fitted = self.fast().fit(self.x, labels)
            np.testing.assert_array_equal(fitted.classes_, np.unique(labels))
            said = fitted.predict(self.x)
            self.assertEqual(said.dtype, labels.dtype)
            self.assertGreater(np.mean(said == labels), 0.9)
            proba = fitted.predict_proba(self.x)
            np.testing.assert_array_equal(fitted.classes_[proba.argmax(axis=1)], said)

    def test_more_than_ten_classes_are_in_their_order(self):
        y = np.arange(150) % 12
        fitted = self.fast(epochs=60, hidden_layer_sizes=(64,), patience=60).fit(
            np.eye(12)[y], y)
        self.assertGreater(fitted.score(np.eye(12)[y], y), 0.95)

    def test_a_frame_has_columns_of_each_kind(self):
        fitted = self.fast().fit(self.frame, self.y)
        self.assertEqual((fitted.n_features_in_, list(fitted.feature_names_in_)),
                         (6, list(self.frame.columns)))
        expected = fitted.predict_proba(self.frame)
        rules = fitted.model_.description["schema"]["rules"]
        self.assertEqual({r["type"] for r in rules},
                         {"numeric", "categorical", "boolean", "date"})
        np.testing.assert_array_equal(
            fitted.predict_proba(self.frame.reset_index(drop=True).astype({"kind": str})), expected)
        with self.assertRaisesRegex(ValueError, "feature names"):
            fitted.predict(self.frame[list(self.frame.columns)[::-1]])
        with self.assertRaisesRegex(ValueError, "column 'z' is of type"):
            self.fast().fit(pd.DataFrame({"z": pd.to_timedelta([1, 2], "s")}), [0, 1])

    def test_two_fits_copies_and_pickles_predict_the_same(self):
        fitted = self.fast(random_state=3).fit(self.x, self.y)
        expected = fitted.predict_proba(self.x)
        again = clone(fitted).fit(self.x, self.y)
        self.assertEqual(again.get_params(), fitted.get_params())
        for other in (again, pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
            np.testing.assert_array_equal(other.predict_proba(self.x), expected)
        self.assertFalse(np.array_equal(
            clone(fitted).set_params(random_state=4).fit(self.x, self.y).predict_proba(self.x),
            expected))

    def test_an_evaluation_set_and_weights_reach_the_job(self):
        weights = np.r_[np.ones(100), np.zeros(50)]
        fitted = self.fast(output=self.path("kept"), patience=3, epochs=7).fit(
            self.x, self.y, sample_weight=weights, eval_set=[(self.x[:30], self.y[:30])])
        self.assertEqual(fitted.result_.validation.rows, 30)
        self.assertEqual(fitted.result_.rows_per_epoch, 100)
        self.assertEqual(len(fitted.history_["val_loss"]), len(fitted.history_["epoch"]))
        self.assertIn(fitted.best_epoch_, fitted.history_["epoch"])
        np.testing.assert_array_equal(
            espalier.load(fitted.bundle_).predict_proba(self.x),
            fitted.model_.predict_proba(self.x))
        with self.assertRaisesRegex(ValueError, "label 9 is not in y"):
            self.fast().fit(self.x, self.y, eval_set=(self.x[:1], [9]))

    def path(self, name):
        folder = tempfile.TemporaryDirectory(prefix="espalier-sklearn-")
        self.addCleanup(folder.cleanup)
        return os.path.join(folder.name, name)

    def test_params_reach_the_job_and_a_wrong_one_is_a_value_error(self):
        spec = EspalierRegressor(
            preset="none", hidden_layer_sizes=(8, 4), activation="tanh", dropout=0.1, loss="huber",
            learning_rate=0.02, batch_size=16, epochs=3, patience=2, validation_fraction=0.2,
            random_state=5, job={"train": {"clip_norm": 1}}).fit(
                self.x, self.x[:, 0]).model_.description["spec"]
        self.assertEqual(spec["model"]["hidden"], [8, 4])
        self.assertEqual((spec["train"]["batch"], spec["train"]["epochs"], spec["train"]["seed"],
                          spec["train"]["clip_norm"]), (16, 3, 5, 1))
        with self.assertRaisesRegex(ValueError, "did you mean 'relu'"):
            self.fast(activation="rleu").fit(self.x, self.y)

    def test_what_scikit_learn_builds_on_estimators_works(self):
        estimator = self.fast(preset="none", epochs=5)
        grid = GridSearchCV(estimator, {"epochs": [1, 5]}, cv=2, n_jobs=2).fit(self.x, self.y)
        self.assertEqual(grid.predict(self.x).dtype, bool)
        self.assertEqual(len(cross_val_score(self.fast(EspalierRegressor), self.x, self.x[:, 0],
                                             cv=2)), 2)
        pipeline = make_pipeline(
            ColumnTransformer([("numbers", StandardScaler(), ["a", "1..3"])],
                              remainder="passthrough").set_output(transform="pandas"),
            self.fast()).fit(self.frame, self.y)
        importance = permutation_importance(pipeline, self.frame, self.y, n_repeats=2,
                                            random_state=0).importances_mean
        self.assertEqual(set(np.argsort(importance)[-2:]), {0, 5})
        calibrated = CalibratedClassifierCV(self.fast(), cv=2).fit(self.x, self.y)
        self.assertEqual(calibrated.predict_proba(self.x).shape, (150, 2))

    def test_an_interrupt_leaves_the_best_model_so_far(self):
        estimator = EspalierClassifier(preset="none", epochs=1e6, hidden_layer_sizes=(64,))
        seen = threading.Event()

        class View:
            def show(self, event):
                if isinstance(event, espalier.Evaluation) and not seen.is_set():
                    seen.set()
                    signal.raise_signal(signal.SIGINT)

            def close(self):
                pass
        # A test run in the background may ignore the signal.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with mock.patch("espalier.local.view_for", lambda _: View()), \
                self.assertRaises(KeyboardInterrupt):
            estimator.fit(self.x, self.y)
        self.assertIsNone(estimator.result_)
        self.assertEqual(estimator.predict(self.x).shape, (150,))

    def test_an_interrupt_keeps_no_model_of_an_earlier_fit(self):
        output = self.path("kept")
        estimator = self.fast(output=output, epochs=2).fit(self.x, self.y)
        digest = espalier.load(output).weights_sha256
        for other in (estimator, clone(estimator)):
            with mock.patch("espalier.sklearn.train", side_effect=KeyboardInterrupt), \
                    self.assertRaises(KeyboardInterrupt):
                other.fit(self.x, np.where(self.y, 5, 3))
            with self.assertRaises(NotFittedError):
                other.predict(self.x)
            self.assertEqual([name for name in ("model_", "result_", "history_", "best_epoch_",
                                                "bundle_") if hasattr(other, name)], [])
        self.assertEqual(espalier.load(output).weights_sha256, digest)

    def test_a_fit_that_fails_leaves_no_older_model(self):
        estimator = self.fast(epochs=2).fit(self.x, self.y)
        with self.assertRaises(ValueError):
            estimator.set_params(activation="rleu").fit(self.x[:, :2], np.where(self.y, 5, 3))
        with self.assertRaises(NotFittedError):
            estimator.predict(self.x)

    def test_fits_with_one_output_keep_their_models(self):
        output, gate, digests = self.path("kept"), threading.Barrier(2), {}
        original = espalier.sklearn.train

        def train(*args, **options):
            result = original(*args, **options)
            gate.wait(120)  # both are trained before one of them reads its model
            return result

        def fit(seed):
            fitted = self.fast(output=output, epochs=2, random_state=seed).fit(self.x, self.y)
            digests[fitted.model_.weights_sha256] = fitted.result_.weights_sha256
        with mock.patch("espalier.sklearn.train", train):
            threads = [threading.Thread(target=fit, args=(seed,)) for seed in (1, 2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len(digests), 2)
        for found, expected in digests.items():
            self.assertEqual(found, expected)
        self.assertIn(espalier.load(output).weights_sha256, digests)

    def test_the_result_has_the_model_and_the_output(self):
        fitted = self.fast(epochs=2).fit(self.x, self.y)
        self.assertEqual(fitted.result_.bundle, "")
        self.assertIs(fitted.result_.load(), fitted.model_)
        output = self.path("kept")
        fitted = self.fast(epochs=2, output="file:" + output).fit(self.x, self.y)
        self.assertEqual(fitted.result_.bundle, output)
        self.assertEqual(espalier.load(fitted.bundle_).weights_sha256,
                         fitted.result_.weights_sha256)

    def test_an_older_scikit_learn_is_named_in_the_error(self):
        code = ("import sklearn.utils.validation as v\ndel v.validate_data\n"
                "import espalier.sklearn")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertIn("ImportError: espalier.sklearn: found scikit-learn", done.stderr)
        self.assertIn("expected 1.6 or newer", done.stderr)

    def test_a_remote_output_is_refused_before_training(self):
        with mock.patch("espalier.sklearn.train") as train, \
                self.assertRaisesRegex(ValueError, "output: found 'hdfs://"):
            self.fast(output="hdfs://head/kept").fit(self.x, self.y)
        train.assert_not_called()
        other = os.path.join(os.path.dirname(self.path("kept")), "README.md")
        open(other, "w").close()
        with self.assertRaisesRegex(ValueError, "has other files, expected a bundle"):
            self.fast(output=os.path.dirname(other)).fit(self.x, self.y)

    def test_the_job_has_the_labels_of_y(self):
        y = np.where(self.y, 2, 1)
        job = {"train": {"class_weight": {1: 20}}, "model": {"positive": 1}}
        fitted = self.fast(epochs=2, job=job).fit(self.x, y)
        spec = fitted.model_.description["spec"]
        self.assertEqual(fitted.model_.classes, ("1", "2"))
        self.assertEqual(fitted.result_.classes or ("1", "2"), ("1", "2"))
        self.assertEqual(spec["train"]["class_weight"], {"1": 20})
        self.assertEqual(job["train"]["class_weight"], {1: 20})
        with self.assertRaisesRegex(ValueError, "job: train.class_weight: found the label 0"):
            self.fast(job={"train": {"class_weight": {0: 20}}}).fit(self.x, y)
        for false, true, classes in ((False, True, ("false", "true")), (-1.0, 2.0, ("-1", "2")),
                                     ("01", "1", ("0", "1")), ("NA", "b", ("0", "1")),
                                     ("t", "true", ("0", "1")), (" a", "b", ("0", "1"))):
            labels = np.where(self.y, true, false)
            key = labels[~self.y][0].item()
            fitted = self.fast(epochs=2, job={"train": {"class_weight": {key: 20}}}).fit(
                self.x, labels)
            self.assertEqual(fitted.model_.classes, classes)
            self.assertEqual(fitted.model_.description["spec"]["train"]["class_weight"],
                             {classes[0]: 20})
            self.assertEqual(set(fitted.predict(self.x)) - set(labels), set())
            self.assertGreater(np.mean(fitted.predict(self.x) == key), 0.5)

    def test_categories_of_each_type_are_those_of_predict(self):
        rng = np.random.default_rng(3)
        codes = rng.integers(0, 2, 150)
        for values in (pd.Index([0.1, 0.2], dtype="float32"), pd.Index([0.1, 2.0]),
                       pd.Index([1, 2], dtype="int8"), pd.Index([1, 2], dtype="uint64"),
                       pd.Index([1, 2], dtype="Int64"), pd.Index([False, True]),
                       pd.Index(["a", "b"]), pd.Index(["a", "b"], dtype="string"),
                       pd.Index(["a", 1], dtype=object),
                       pd.DatetimeIndex(["2024-01-01", "2024-02-01 10:00"]),
                       pd.Index([b"a", b"b"], dtype=object)):
            frame = pd.DataFrame({"a": pd.Categorical.from_codes(codes, values)})
            fitted = self.fast(hidden_layer_sizes=()).fit(frame, codes)
            self.assertEqual(fitted.score(frame, codes), 1, values)

    def test_wrong_rows_are_value_errors(self):
        hole = self.x.copy()
        hole[3, 1] = np.nan
        self.assertFalse(EspalierClassifier(preset="none").__sklearn_tags__().input_tags.allow_nan)
        with self.assertRaises(ValueError):
            self.fast(preset="none", epochs=2).fit(hole, self.y)
        frame = self.frame.copy()
        frame.iloc[2, 0] = np.inf
        with self.assertRaisesRegex(ValueError, "infinity in column 'a'"):
            self.fast().fit(frame, self.y)
        for target in (np.inf, None, pd.NA):
            y = self.x[:, 0].astype(object)
            y[4] = target
            with self.assertRaisesRegex(ValueError, "^Input y contains"):
                self.fast(EspalierRegressor).fit(self.x, y)
        for objects in ([(1, 2), (3, 4)], [[1], [2]], [1, (2,)],
                        [pd.Timedelta(1, "s"), pd.Timedelta(2, "s")]):
            column = pd.Series(objects, dtype=object)
            with self.assertRaisesRegex(ValueError, "column 'z' has objects of type"):
                self.fast().fit(pd.DataFrame({"z": column}), [0, 1])

    def test_labels_of_types_with_na_keep_their_type(self):
        for labels, kind in ((pd.Series(np.where(self.y, 2, 1), dtype="Int64"), "i"),
                             (pd.Series(self.y, dtype="boolean"), "b"),
                             (pd.Series(np.where(self.y, "u", "v"), dtype="string"), "O")):
            fitted = self.fast().fit(self.x, labels)
            self.assertEqual(fitted.classes_.dtype.kind, kind)
            self.assertGreater(np.mean(fitted.predict(self.x) == labels.to_numpy()), 0.9)
            labels[7] = pd.NA
            with self.assertRaisesRegex(ValueError, "^Input y contains NaN"):
                self.fast().fit(self.x, labels)

    def test_a_label_of_the_evaluation_set_is_in_a_row_that_counts(self):
        y = np.where(self.y, "u", "v").astype(object)
        y[0] = "w"
        weights = np.ones(150)
        weights[0] = 0
        with self.assertRaisesRegex(ValueError, "eval_set: the label 'w' is not in y, in a row"):
            self.fast().fit(self.x, y, sample_weight=weights, eval_set=(self.x[:9], y[:9]))

    def test_the_job_sets_no_key_of_fit(self):
        for job, key in (({"output": "elsewhere"}, "output"),
                         ({"model": {"task": "regression"}}, "model.task"),
                         ({"data": {"label": "a"}}, "data.label")):
            for kind in (EspalierClassifier, EspalierRegressor):
                with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                            "job: found '%s', which" % key):
                    self.fast(kind, job=job).fit(self.x, self.y.astype(int))
        spec = self.fast(learning_rate=0.1, epochs=2, job={"train": {"optimizer": {"momentum": {
            "momentum": 0.5}}}}).fit(self.x, self.y).model_.description["spec"]
        self.assertEqual(list(spec["train"]["optimizer"]), ["momentum"])

    def test_forms_of_params_and_columns_of_other_libraries(self):
        fitted = self.fast(hidden_layer_sizes=5, validation_fraction=0, epochs=2).fit(
            self.x, self.y)
        self.assertEqual(fitted.model_.description["spec"]["model"]["hidden"], [5])
        self.assertIsNone(fitted.result_.validation)
        dense = pd.DataFrame(np.where(self.x > 0, self.x, 0), columns=["a", "b", "c"])
        sparse = dense.astype(pd.SparseDtype(float, 0.0))
        fitted = self.fast().fit(sparse, self.y)
        np.testing.assert_array_equal(fitted.predict_proba(sparse), fitted.predict_proba(dense))
        odd = dense.set_axis(pd.Index(["a\u2028", "b\x07", "c\ud800"], dtype=object), axis=1)
        self.assertEqual(self.fast(epochs=2).fit(odd, self.y).predict(odd).shape, (150,))


if __name__ == "__main__":
    unittest.main()
