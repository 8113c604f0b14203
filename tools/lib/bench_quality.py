"""The quality of models on real tables beside scikit-learn's multi-layer perceptrons, on the same
splits: tables that come inside the scikit-learn package, several seeds each; and of asynchronous
training on MNIST (config/mnist.yaml, 2 workers) beside synchronous training.

Both train the same network with Adam at the same rate, batch and number of epochs, from different
first weights (by Glorot and Bengio's rule, which is scikit-learn's) and in different orders; the
verdict is whether the means differ by more than the spread over seeds.
"""
import json
import math
import os
import statistics
import subprocess
import tempfile

import private_python

PACKAGES = ["numpy==1.26.4", "scikit-learn==1.5.2"]
SEEDS = range(1, 31)
MODE_SEEDS = range(1, 5)
EPOCHS, BATCH, HIDDEN, RATE = 100, 32, [64, 32], 1e-3
TABLES = {"breast_cancer": "classification", "wine": "classification", "digits": "classification",
          "iris": "classification", "diabetes": "regression"}
# Splits a table, writes both parts as CSV and prints scikit-learn's score on the second one:
# accuracy or r2.
PEER = """
import json, sys, warnings
import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler
warnings.simplefilter("ignore")
name, task, seed, folder, epochs, batch, hidden, rate = json.loads(sys.argv[1])
x, y = getattr(datasets, "load_" + name)(return_X_y=True)
classes = task == "classification"
parts = train_test_split(x, y, test_size=0.3, random_state=seed, stratify=y if classes else None)
for which, rows, labels in (("train", parts[0], parts[2]), ("test", parts[1], parts[3])):
    with open("%s/%s.csv" % (folder, which), "w") as f:
        f.write(",".join("x%d" % i for i in range(rows.shape[1])) + ",y\\n")
        for row, label in zip(rows, labels):
            f.write(",".join(map(repr, map(float, row))) + ",%s\\n" % repr(label.item()))
scaler = StandardScaler().fit(parts[0])
target = (lambda v: v) if classes else (lambda v: (v - parts[2].mean()) / parts[2].std())
model = (MLPClassifier if classes else MLPRegressor)(
    hidden, batch_size=batch, learning_rate_init=rate, max_iter=epochs, alpha=0, tol=0,
    n_iter_no_change=epochs, random_state=seed)
model.fit(scaler.transform(parts[0]), target(parts[2]))
print(model.score(scaler.transform(parts[1]), target(parts[3])))
"""


def trained(espalier, root, job):
    """The metrics of the test rows."""
    done = subprocess.run([espalier, "train", job, "--workers", "2", "--threads", "1", "--json"],
                          cwd=root, check=True, text=True, capture_output=True)
    return json.loads(done.stdout.strip().splitlines()[-1])["metrics"]["test"]


def scores(python, espalier, name, task, seed):
    """(ours, scikit-learn's) on one split."""
    with tempfile.TemporaryDirectory(prefix="espalier-quality-") as folder:
        told = json.dumps([name, task, seed, folder, EPOCHS, BATCH, HIDDEN, RATE])
        theirs = float(subprocess.run([python, "-c", PEER, told], check=True, text=True,
                                      capture_output=True).stdout)
        job = os.path.join(folder, "job.yaml")
        with open(job, "w") as f:
            json.dump({"name": name, "preset": "none", "output": os.path.join(folder, "model"),
                       "data": {"train": os.path.join(folder, "train.csv"),
                                "test": os.path.join(folder, "test.csv"), "label": "y"},
                       "model": {"task": task, "hidden": HIDDEN, "init": "xavier"},
                       "train": {"optimizer": {"adam": {"learning_rate": RATE}}, "batch": BATCH,
                                 "epochs": EPOCHS, "seed": seed}}, f)
        metrics = trained(espalier, folder, job)
        return metrics["accuracy" if task == "classification" else "r2"], theirs


def accuracy_of(espalier, root, mode, seed):
    """Of config/mnist.yaml."""
    with open(os.path.join(root, "config", "mnist.yaml")) as f:
        text = f.read()
    with tempfile.TemporaryDirectory(prefix="espalier-quality-") as folder:
        for old, new in (("\ntrain:\n", "\ntrain:\n  mode: %s\n" % mode),
                         ("  seed: 1\n", "  seed: %d\n" % seed),
                         ("build/mnist/model", os.path.join(folder, "model"))):
            if text.count(old) != 1:
                raise SystemExit("config/mnist.yaml holds no single %r" % old)
            text = text.replace(old, new)
        job = os.path.join(folder, "job.yaml")
        with open(job, "w") as f:
            f.write(text)
        return trained(espalier, root, job)["accuracy"]


def add_difference(table, name, pairs, peer):
    """A row: the means, and whether they differ by more than the spread over seeds."""
    ours, theirs = ([pair[i] for pair in pairs] for i in (0, 1))
    means = [statistics.mean(values) for values in (ours, theirs)]
    # Two standard errors of the mean difference.
    spread = 2 * statistics.stdev(a - b for a, b in pairs) / math.sqrt(len(pairs))
    table.add(name, "%.4f" % means[0], "%s %.4f, spread %.4f" % (peer, means[1], spread),
              means[0] - means[1], -spread)


def fill(table, say, espalier, root):
    say("(i) the quality on real tables; scikit-learn beside it")
    python = private_python.ensure("quality", PACKAGES)
    for name, task in TABLES.items():
        pairs = [scores(python, espalier, name, task, seed) for seed in SEEDS]
        add_difference(table, "%s, %s" % (name, "accuracy" if task == "classification" else "r2"),
                       pairs, "scikit-learn")
    pairs = [[accuracy_of(espalier, root, mode, seed) for mode in ("async", "sync")]
             for seed in MODE_SEEDS]
    add_difference(table, "MNIST, asynchronous, accuracy", pairs, "synchronous")
