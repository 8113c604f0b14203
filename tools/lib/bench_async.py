"""Compares the accuracy of asynchronous and synchronous training on MNIST (config/mnist.yaml, 2
workers) over several seeds. The target is the spread over seeds."""
import json
import math
import os
import statistics
import subprocess
import tempfile

SEEDS = range(1, 5)


def accuracy_of(espalier, root, mode, seed):
    """Returns the share of test rows that the model of config/mnist.yaml predicts correctly."""
    with open(os.path.join(root, "config", "mnist.yaml")) as f:
        text = f.read()
    with tempfile.TemporaryDirectory(prefix="espalier-async-") as folder:
        for old, new in (("\ntrain:\n", "\ntrain:\n  mode: %s\n" % mode),
                         ("  seed: 1\n", "  seed: %d\n" % seed),
                         ("build/mnist/model", os.path.join(folder, "model"))):
            if text.count(old) != 1:
                raise SystemExit("config/mnist.yaml: %r was found %d times, expected once." %
                                 (old, text.count(old)))
            text = text.replace(old, new)
        job = os.path.join(folder, "job.yaml")
        with open(job, "w") as f:
            f.write(text)
        done = subprocess.run([espalier, "train", job, "--workers", "2", "--threads", "1",
                               "--json"], cwd=root, check=True, text=True, capture_output=True)
        return json.loads(done.stdout.strip().splitlines()[-1])["metrics"]["test"]["accuracy"]


def fill(table, say, espalier, root):
    say("(l) accuracy of asynchronous training on MNIST, compared with synchronous training")
    pairs = [[accuracy_of(espalier, root, mode, seed) for mode in ("async", "sync")]
             for seed in SEEDS]
    ours, peers = (statistics.mean(pair[i] for pair in pairs) for i in (0, 1))
    # Two standard errors of the mean difference.
    spread = 2 * statistics.stdev(a - b for a, b in pairs) / math.sqrt(len(pairs))
    table.add("MNIST, asynchronous, accuracy", "%.4f" % ours,
              "synchronous %.4f, spread %.4f" % (peers, spread), ours - peers, -spread)
