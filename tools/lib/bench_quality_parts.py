"""Runs more parts of the quality bench: the effect of each ingredient of `good`, the effect of more
epochs, and wall time by number of workers on large tables. See bench_quality.py."""
import json
import os
import subprocess

import bench_quality
import bench_quality_plot
from bench_quality import CATBOOST, LIGHTGBM, MEAN_ROWS_MIN, TABLES, Results, Split, geometric, grid

# (removed ingredient, changes of keys in the complete job that `check --effective` prints). None as
# the value removes a key.
ABLATIONS = [
    ("embedding of numbers", [("data.features.numbers", {"embedding": "none"})]),
    ("half of the bins", [("data.features.numbers.bins", 24)]),
    ("robust scale, for mean and deviation", [("data.features.scale", "standard")]),
    ("embedding of categories, for one-hot", [("data.features.categories.encode", "one_hot"),
                                              ("data.features.categories.one_hot_max", 0)]),
    ("one-hot for few values", [("data.features.categories.one_hot_max", 0)]),
    ("zero vector of rare values", [("data.features.categories.zero_rare", False),
                                    ("data.features.categories.min_count", 1)]),
    ("held-out rows", [("data.validation.fraction", 0), ("data.validation.exact", False),
                       ("data.validation.stratify", False), ("train.early_stopping", None)]),
    ("weights of the best epoch", [("train.early_stopping.restore_best", False)]),
    ("two of three layers", [("model.hidden", [128])]),
    ("SiLU, for ReLU", [("model.activation", ["relu"])]),
    ("NTP, for He with rate 0.001", [("model.parametrization", "standard"),
                                     ("train.optimizer.adamw.learning_rate", 0.001)]),
    ("scaling layer", [("model.scaling_layer", False)]),
    ("label smoothing", [("model.loss.softmax_cross_entropy.label_smoothing", 0)]),
    ("range of predictions", [("model.clip_predictions", False)]),
    ("beta2 0.95, for 0.999", [("train.optimizer.adamw.beta2", 0.999)]),
    ("cosine, for a constant rate", [("train.schedule", {"constant": {"warmup_share": 0.05}})]),
    ("warm-up", [("train.schedule.cosine.warmup_share", 0)]),
    ("weight decay", [("train.weight_decay", 0)]),
    ("end of the decay", [("train.weight_decay_schedule", "constant")]),
    ("rate factor of biases", [("train.rate_factors.biases", 1)]),
    ("rate factor of the scaling layer", [("train.rate_factors.scaling_layer", 1)]),
]
FACTORS = [0.5, 1, 2]
GENERATED = "generated"
WORKERS = [1, 2, 4]
LEAVES_MIN, LEAVES_ROWS_MIN = 64, 1_000_000


def large_enough(say, espalier, python, args):
    """Yields (name, Split) of the tables of args. The default is all tables that count in means."""
    for name, split in bench_quality.each_split(say, espalier, python, args, args.tables or TABLES):
        if args.tables or split.rows >= MEAN_ROWS_MIN:
            yield name, split


def effective(split):
    """Returns the path of the complete job of `good`."""
    done = subprocess.run([split.espalier, "check", split.job("good", {}), "--effective"],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    with open(split.path("effective.yaml"), "w") as f:
        f.write(done.stdout)
    return f.name


def ablate(say, espalier, python, args):
    results = Results(args)
    for name, split in large_enough(say, espalier, python, args):
        results.sizes[name] = split.rows
        jobs = [(split.path("%d.json" % i), changes)
                for i, changes in enumerate([[]] + [changes for _, changes in ABLATIONS])]
        changed = bench_quality.program(python, "edit", complete=effective(split),
                                        jobs=jobs)["changed"]
        base = split.fit(jobs[0][0])
        for (what, _), (path, _) in zip([("good", [])] + ABLATIONS, jobs):
            # A job that does not have the key is the same as the complete job.
            found = split.fit(path) if path in changed else base
            results.add(name, split.number, what, found)
            say("%s, split %d, %s: %.4g, %.1f CPU s" % (name, split.number + 1, what,
                                                        found["error"], found["cpu_s"]))
    rows = [["without", "classes", "numbers", "all", "CPU time"]]
    for what, _ in ABLATIONS:
        ratios = results.ratios(what, "good", "error")
        kinds = [[r for t, r in ratios.items() if TABLES[t] == kind]
                 for kind in ("classes", "numbers")] + [list(ratios.values())]
        kinds.append(list(results.ratios(what, "good", "cpu_s").values()))
        rows.append([what] + ["%+.1f %%" % (100 * geometric(k) - 100) if k else None
                              for k in kinds])
    grid("Change of the error of `good` without an ingredient, geometric means over tables", rows)


def curve(say, espalier, python, args):
    results = Results(args)
    for name, split in large_enough(say, espalier, python, args):
        results.sizes[name] = split.rows
        epochs = 0
        for factor in sorted(FACTORS, key=lambda f: f != 1):  # starts with the preset's own number
            changes = {"train": {"epochs": max(1, int(epochs * factor))}} if epochs else {}
            job = split.job("good-%g" % factor, changes)
            found = split.fit(job)
            if not epochs:
                with open(os.path.splitext(job)[0] + ".model/model.json") as f:
                    epochs = json.load(f)["spec"]["train"]["epochs"]
            results.add(name, split.number, "%g" % factor, found)
            say("%s, split %d, %g times %d epochs: %.4g, %.1f CPU s" % (
                name, split.number + 1, factor, epochs, found["error"], found["cpu_s"]))
    rows = [["table"] + ["%s x %g" % (word, factor) for factor in FACTORS
                         for word in ("error", "CPU s")]]
    for name in results.sizes:
        rows.append([name] + [results.mean(name, "%g" % factor, measure) for factor in FACTORS
                              for measure in ("error", "cpu_s")])
    rows.append(["geometric mean"] + [
        geometric(results.ratios("%g" % factor, "1", measure).values())
        for factor in FACTORS for measure in ("error", "cpu_s")])
    grid("Errors and CPU seconds by epochs of `good`; the last line is relative to x 1", rows)
    if args.plot:
        plot_curve(say, results, args.plot)


def plot_curve(say, results, path):
    """Writes the plot of the curve. Leaves out tables without a test error, which have no ratio."""
    lines = {}
    for name in results.sizes:
        one = results.mean(name, "1", "error")
        if one:
            lines[name] = [tuple(results.mean(name, "%g" % factor, measure) / scale
                                 for measure, scale in (("cpu_s", 1), ("error", one)))
                           for factor in FACTORS]
    if not lines:
        say("no plot: no table has a test error")
        return
    with open(path, "w") as f:
        f.write(bench_quality_plot.curves(
            "Test error of good with half, one and two times its epochs (relative to one)", lines))
    say("wrote " + path)


def leaves_of(job):
    """Returns the number of leaves of a job's model."""
    with open(os.path.join(os.path.splitext(job)[0] + ".model", "model.json")) as f:
        return json.load(f)["spec"]["train"]["leaves"]


def large_good(say, results, split, name, rows):
    """Trains `good` on a large table. Returns the number of leaves. The weights must have the same
    bytes for each number of workers."""
    digests, leaves = set(), 0
    for workers in WORKERS:
        job = split.job("good", {})
        outcome, measured = split.train(job, workers)
        digests.add(outcome["weights_sha256"])
        leaves = leaves_of(job)
        found = dict(measured, leaves=leaves, **split.scored(job))
        results.add(name, 0, "%d workers" % workers, found)
        rows.append([name, split.train_rows, "good, %d workers" % workers, leaves] +
                    [found[key] for key in ("wall_s", "cpu_s", "peak_mb", "error")])
        say("%s, %d rows, workers: %d: %.1f s" % (name, split.train_rows, workers,
                                                found["wall_s"]))
    if len(digests) != 1:
        raise RuntimeError("%s: the weights differ with the number of workers: %s" % (
            name, sorted(digests)))
    return leaves


def large_peers(say, results, split, name, rows):
    """Trains the peers on a large table. Skips a peer that exceeds the limit of time or memory."""
    for peer in (LIGHTGBM, CATBOOST):
        try:
            found = split.fit_peer(peer)
        except (RuntimeError, subprocess.SubprocessError) as error:
            say("%s, %s is skipped: %s" % (name, peer, str(error).strip().splitlines()[-1]))
            continue
        results.add(name, 0, peer, found)
        rows.append([name, split.train_rows, peer, None] +
                    [found[key] for key in ("wall_s", "cpu_s", "peak_mb", "error")])
        say("%s, %d rows, %s: %.1f s" % (name, split.train_rows, peer, found["wall_s"]))


def large(table, say, espalier, python, args):
    """Measures `good` on large tables, with the wall time by workers, and the peers."""
    results = Results(args)
    rows = [["table", "training rows", "trainer", "leaves", "wall s", "CPU s", "peak MB", "error"]]
    for name in ("flights", GENERATED):
        with Split(espalier, python, name, 0, rows_max=args.large_rows) as split:
            results.sizes[name] = split.rows
            results.add(name, 0, bench_quality.CONSTANT, split.constant())
            leaves = large_good(say, results, split, name, rows)
            large_peers(say, results, split, name, rows)
            if split.train_rows >= LEAVES_ROWS_MIN:
                table.add("leaves of %s rows" % "{:,}".format(split.train_rows), str(leaves),
                          "minimum %d" % LEAVES_MIN, leaves / LEAVES_MIN, 1)
        for measure in ("error", "cpu_s"):
            ratios = results.ratios("1 workers", CATBOOST, measure)
            if name in ratios:
                table.add("good, %s, %s" % (bench_quality.MEASURES[measure], name), "", CATBOOST,
                          ratios[name], 1.00, at_least=False)
    grid("`good` and peers on large tables", rows)
