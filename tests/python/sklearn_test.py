"""The estimators of scikit-learn: its own checks, and what its users do with them."""
import copy
import os
import pickle
import signal
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

# Checks of scikit-learn that fail, each with the reason.
_WEIGHTS = "steps draw other rows when rows are repeated, so the weights of the network differ"
_ORDER = "a product of float32 may differ in its last bit between the rows of a block"
EXPECTED = {
    EspalierClassifier: {"check_sample_weight_equivalence_on_dense_data": _WEIGHTS,
                         "check_methods_sample_order_invariance": _ORDER},
    EspalierRegressor: {"check_sample_weight_equivalence_on_dense_data": _WEIGHTS,
                        "check_methods_sample_order_invariance": _ORDER},
}


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
        for kind, expected in EXPECTED.items():
            results = check_estimator(kind(), on_fail=None)
            failed = {r["check_name"]: repr(r["exception"])[:300] for r in results
                      if r["status"] == "failed"}
            self.assertGreater(len(results), 40)
            self.assertEqual(set(failed) - set(expected), set(), failed)

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
        with mock.patch("espalier.local.view_for", lambda _: View()), \
                self.assertRaises(KeyboardInterrupt):
            estimator.fit(self.x, self.y)
        self.assertIsNone(estimator.result_)
        self.assertEqual(estimator.predict(self.x).shape, (150,))


if __name__ == "__main__":
    unittest.main()
