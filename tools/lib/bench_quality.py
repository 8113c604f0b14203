"""Compares test errors of the presets on nine real tables with those of LightGBM, CatBoost,
scikit-learn's perceptron and a job of four keys, on the same splits in the same run.

Tables and peers come from packages of the registry. bench_quality_program.py runs in a private
environment with them. A split has at most 20,000 rows, and a quarter of them is for testing. Each
fit has one thread. CPU seconds of Espalier are those of all processes of `espalier train`, which
reads CSV. CPU seconds of a peer are those of its fit alone, with the table in memory. Memory is the
peak of all processes.
"""
import collections
import csv
import glob
import json
import math
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

import private_python
import tables
from memory_watch import MemoryWatch

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench_quality_program.py")
PACKAGES = ["catboost==1.2.10", "lightgbm==4.7.0", "numpy==2.4.6", "pandas==3.1.1",
            "pyarrow==23.0.1", "PyYAML==6.0.3", "scikit-learn==1.9.1"]
TABLES = {"breast_cancer": "classes", "wine": "classes", "digits": "classes",
          "diabetes": "numbers", "adult": "classes", "credit": "classes",
          "california": "numbers", "diamonds": "numbers", "flights": "numbers"}
PRESETS = ["fast", "good", "best"]
LIGHTGBM, CATBOOST, PERCEPTRON, FOUR_KEYS = "LightGBM", "CatBoost", "scikit-learn MLP", "four keys"
PEERS = [LIGHTGBM, CATBOOST, PERCEPTRON]
CONSTANT = "constant"
SPLITS_MAX, ROWS_MAX = 3, 20_000
MEAN_ROWS_MIN, LARGE_ROWS_MIN = 1_000, 10_000
FIT_LIMIT_S = 1_800
QUICK_CATBOOST_S = 300  # seconds after which --quick leaves CatBoost out
TINY = 1e-15  # minimum probability in a log loss
# Keys that a user of a perceptron sets: layers, optimizer, batch and epochs, with the usual stop.
FOUR_KEYS_JOB = {
    "preset": "none", "data": {"validation": {"fraction": 0.1}},
    "model": {"hidden": [100], "init": "xavier"},
    "train": {"optimizer": "adam", "batch": 200, "epochs": 200,
              "early_stopping": {"patience": 10}}}
# (preset, peer, measure, target): maximum of the geometric mean over tables.
TARGETS = [("good", LIGHTGBM, "error", 1.00), ("good", CATBOOST, "error", 1.02),
           ("good", PERCEPTRON, "error", 0.90), ("good", FOUR_KEYS, "error", 0.90),
           ("best", CATBOOST, "error", 0.97), ("good", LIGHTGBM, "log_loss", 1.00),
           ("good", CATBOOST, "cpu_s", 0.20)]
WORST_TARGET, CONSTANT_TARGET = 1.15, 1.00
MEASURES = {"error": "error", "log_loss": "log loss", "cpu_s": "CPU time", "peak_mb": "memory"}


class Refused(RuntimeError):
    """The program does not know the preset of a job."""


def add_options(parser):
    quality = parser.add_argument_group("quality")
    quality.add_argument("--quick", action="store_true",
                         help="run one split, and CatBoost only in the first %d min" %
                         (QUICK_CATBOOST_S // 60))
    quality.add_argument("--splits", type=int, default=SPLITS_MAX,
                         choices=range(1, SPLITS_MAX + 1),
                         help="number of splits of each table (default: %(default)s)")
    quality.add_argument("--tables", type=lambda text: text.split(","), metavar="A,B",
                         help="tables to use: " + ", ".join(TABLES))
    quality.add_argument("--ablation", action="store_true",
                         help="only measure the error of good without each of its ingredients")
    quality.add_argument("--epochs-curve", action="store_true",
                         help="only measure errors of good with half, one and two times its epochs")
    quality.add_argument("--plot", metavar="FILE",
                         help="SVG file for the plot of --epochs-curve")
    quality.add_argument("--large", action="store_true",
                         help="only measure good on large tables, with 1, 2 and 4 workers, and "
                              "LightGBM and CatBoost")
    quality.add_argument("--large-rows", type=int, default=5_000_000, metavar="N",
                         help="maximum number of rows of each large table (default: %(default)s)")
    quality.add_argument("--json", metavar="FILE", help="file for the result of each fit")
    quality.add_argument("--resume", action="store_true",
                         help="keep the fits in FILE from an earlier run of the same programs")


def program(python, command, **arguments):
    """Returns the JSON object that bench_quality_program.py prints."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    done = subprocess.run([python, PROGRAM, command, json.dumps(arguments)], env=environment,
                          capture_output=True, text=True, timeout=FIT_LIMIT_S)
    if done.returncode:
        raise RuntimeError("%s of %s failed:\n%s" % (command, arguments, done.stderr[-2000:]))
    return json.loads(done.stdout.strip().splitlines()[-1])


def column(path, name):
    with open(path, newline="") as f:
        return [row[name] for row in csv.DictReader(f)]


def root_mean_square(values):
    return math.sqrt(statistics.fmean(v * v for v in values))


class Split:
    """One split of a table in a temporary folder, and the fits on it."""

    def __init__(self, espalier, python, table, number, rows_max=ROWS_MAX):
        self.espalier, self.python, self.number = espalier, python, number
        self.classes = TABLES.get(table) == "classes"
        self.folder = tempfile.mkdtemp(prefix="espalier-quality-")
        try:
            if table in TABLES:
                cache = os.path.join(private_python.ROOT, "build", "cache")
                source = tables.fetch_large(cache, table) if table in tables.LARGE else ""
                found = program(python, "split", table=table, source=source, folder=self.folder,
                                number=number, rows_max=rows_max, classes=self.classes)
            else:
                found = program(python, "generate", folder=self.folder, rows=rows_max)
            self.label, self.rows = found["label"], found["rows"]
            self.train_rows = found["train_rows"]
            self.truth = column(self.path("test.csv"), self.label)
        except BaseException:
            self.remove()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def job(self, name, extra):
        """Writes a job of three lines and the additions of `extra`. Returns its path."""
        job = {"data": {"train": self.path("train.csv"), "label": self.label},
               "output": {"path": self.path(name + ".model"), "overwrite": True}}
        if self.number:
            job["train"] = {"seed": self.number + 1}
        for key, value in extra.items():
            job[key] = dict(job.get(key, {}), **value) if isinstance(value, dict) else value
        with open(self.path(name + ".json"), "w") as f:
            json.dump(job, f)
        return f.name

    def train(self, job, workers=1):
        """Trains a job. Returns (result of the program, {cpu_s, wall_s, peak_mb})."""
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        process = subprocess.Popen(
            [self.espalier, "train", job, "--workers", str(workers), "--threads", "1", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        watch = MemoryWatch(process)
        try:
            out, err = process.communicate(timeout=FIT_LIMIT_S)
        finally:
            process.kill()
        wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        if process.returncode:
            line = (err.strip() or out.strip() or "no output").splitlines()[-1]
            _, unknown, known = line.partition("preset: unknown value")
            raise Refused(unknown + known) if unknown else RuntimeError(line)
        return json.loads(out.strip().splitlines()[-1]), {
            "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "wall_s": wall, "peak_mb": watch.megabytes()}

    def scored(self, job):
        """Returns the error and the log loss of a job's model."""
        model, out = (os.path.splitext(job)[0] + ending for ending in (".model", ".scored"))
        with open(os.path.join(model, "model.json")) as f:
            task = json.load(f)["spec"]["model"]["task"]
        if (task == "classification") != self.classes:
            raise RuntimeError("%s: the task is %s" % (job, task))
        done = subprocess.run([self.espalier, "predict", model, self.path("test.csv"), "--output",
                               out, "--threads", "1", "--overwrite"], capture_output=True,
                              text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return self.score(sorted(glob.glob(os.path.join(out, "part-*.csv"))))

    def fit(self, job):
        """Trains a job and scores its model."""
        return dict(self.train(job)[1], **self.scored(job))

    def fit_peer(self, peer):
        measured = program(self.python, "fit", peer=peer, folder=self.folder, label=self.label,
                           classes=self.classes, seed=self.number + 1)
        return dict(measured, **self.score([self.path(peer + ".csv")]))

    def constant(self):
        """Returns the scores of the shares of the classes, or of the mean."""
        known = column(self.path("train.csv"), self.label)
        if not self.classes:
            mean = statistics.fmean(map(float, known))
            return {"error": root_mean_square(float(t) - mean for t in self.truth)}
        counts = collections.Counter(known)
        best = max(counts, key=lambda name: counts[name])
        return {"error": 100 * statistics.fmean(t != best for t in self.truth),
                "log_loss": -statistics.fmean(math.log(max(TINY, counts[t] / len(known)))
                                              for t in self.truth)}

    def score(self, files):
        """Returns the scores of predictions. `error` is the share of wrong classes in %, or the
        root mean square error."""
        answers = []
        for path in files:
            with open(path, newline="") as f:
                answers += csv.DictReader(f)
        if len(answers) != len(self.truth):
            raise RuntimeError("%s: %d predictions of %d test rows" % (
                files, len(answers), len(self.truth)))
        if not self.classes:
            name = "prediction" if "prediction" in answers[0] else "prediction_" + self.label
            return {"error": root_mean_square(float(row[name]) - float(t)
                                              for row, t in zip(answers, self.truth))}
        pairs = list(zip(answers, self.truth))
        return {"error": 100 * statistics.fmean(row["prediction"] != t for row, t in pairs),
                "log_loss": -statistics.fmean(
                    math.log(min(1, max(TINY, float(row.get("probability_" + t) or 0))))
                    for row, t in pairs)}


class Results:
    """Measurements: one row for each table, split and method. Writes args.json after each."""

    def __init__(self, args):
        self.path, self.rows, self.sizes = args.json, [], {}
        if args.resume and os.path.exists(self.path):
            with open(self.path) as f:
                found = json.load(f)
            self.rows, self.sizes = found["fits"], found["rows_of_tables"]

    def has(self, table, split, method):
        return any((row["table"], row["split"], row["method"]) == (table, split, method)
                   for row in self.rows)

    def add(self, table, split, method, measured):
        self.rows.append(dict({"table": table, "split": split, "method": method}, **measured))
        if self.path:
            with open(self.path + ".new", "w") as f:
                json.dump({"rows_of_tables": self.sizes, "fits": self.rows}, f, indent=1)
            os.replace(self.path + ".new", self.path)

    def mean(self, table, method, measure):
        """Returns the mean over the splits, or None."""
        values = [row[measure] for row in self.rows if row["table"] == table and
                  row["method"] == method and measure in row]
        return statistics.fmean(values) if values else None

    def ratios(self, ours, peer, measure, rows_min=0):
        """Returns the ratio of the means by table, for tables with both and at least `rows_min`
        rows."""
        found = {}
        for table, rows in self.sizes.items():
            a, b = (self.mean(table, method, measure) for method in (ours, peer))
            if rows >= rows_min and a is not None and b:
                found[table] = a / b
        return found

    def methods(self):
        return list(dict.fromkeys(row["method"] for row in self.rows))


def geometric(ratios):
    """Returns the geometric mean, or None without ratios. A ratio of 0 counts as 0.01."""
    return math.exp(statistics.fmean(math.log(max(r, 0.01)) for r in ratios)) if ratios else None


def grid(title, rows):
    """Prints rows of cells in columns. None is a dash."""
    text = [[("-" if cell is None else "%.4g" % cell if isinstance(cell, float) else str(cell))
             for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in text) for i in range(len(text[0]))]
    print("\n" + title)
    for row in text:
        print("  " + "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))).rstrip())


def measure_split(say, results, split, name, methods, refused):
    results.sizes[name] = split.rows
    for method in methods:
        if method in refused or results.has(name, split.number, method):
            continue
        try:
            if method == CONSTANT:
                found = split.constant()
            elif method in PEERS:
                found = split.fit_peer(method)
            elif method == FOUR_KEYS:
                task = "classification" if split.classes else "regression"
                model = dict(FOUR_KEYS_JOB["model"], task=task)
                found = split.fit(split.job("four-keys", dict(FOUR_KEYS_JOB, model=model)))
            else:
                found = split.fit(split.job(method, {} if method == "good" else
                                            {"preset": method}))
        except Refused as error:
            refused[method] = str(error)
            say("%s: skipped, the program rejects the preset: %s" % (method, error))
            continue
        results.add(name, split.number, method, found)
        say("%s, split %d: %s %.4g, %.1f CPU s" % (name, split.number + 1, method, found["error"],
                                                   found.get("cpu_s", 0)))


def each_split(say, espalier, python, args, names):
    """Yields (name, Split). Skips a table that is unavailable, and prints a line."""
    for name in names:
        for number in range(args.splits):
            try:
                split = Split(espalier, python, name, number)
            except (RuntimeError, subprocess.SubprocessError) as error:
                say("%s is skipped: %s" % (name, error))
                break
            with split:
                yield name, split


def print_tables(results):
    methods, by_preset = results.methods(), [p for p in PRESETS if p in results.methods()]
    for measure, title in (("error", "Errors: % of the classes, or root mean square error"),
                           ("log_loss", "Log loss"), ("cpu_s", "CPU seconds of training"),
                           ("peak_mb", "Peak memory of training in MB")):
        shown = [m for m in methods if measure in ("error", "log_loss") or m != CONSTANT]
        rows = [[name] + [results.mean(name, m, measure) for m in shown] for name in results.sizes]
        grid(title + ", mean over the splits", [["table"] + shown] + [
            row for row in rows if any(cell is not None for cell in row[1:])])
    peers = [m for m in methods if m not in by_preset and m != CONSTANT]
    rows = [["preset and measure"] + peers]
    for preset in by_preset:
        for measure, word in MEASURES.items():
            rows.append(["%s, %s" % (preset, word)] + [
                geometric(results.ratios(preset, peer, measure, MEAN_ROWS_MIN).values())
                for peer in peers])
        rows.append(["%s, error above %s rows" % (preset, "{:,}".format(LARGE_ROWS_MIN))] + [
            geometric(results.ratios(preset, peer, "error", LARGE_ROWS_MIN).values())
            for peer in peers])
        worst = [results.ratios(preset, peer, "error", MEAN_ROWS_MIN) for peer in peers]
        rows.append(["%s, worst table" % preset] + [
            "%s %.3f" % max(w.items(), key=lambda pair: pair[1]) if w else None for w in worst])
    grid("Relative to each peer: geometric means over tables of %s rows or more" %
         "{:,}".format(MEAN_ROWS_MIN), rows)


def add_targets(table, results):
    for preset, peer, measure, target in TARGETS:
        rows_min = LARGE_ROWS_MIN if measure == "cpu_s" else MEAN_ROWS_MIN
        ratios = results.ratios(preset, peer, measure, rows_min)
        what = "%s, %s, %d tables" % (preset, MEASURES[measure], len(ratios))
        if ratios:
            table.add(what, "", peer, geometric(ratios.values()), target, at_least=False)
        else:
            table.add(what, "not measured", peer)
    worst = results.ratios("good", LIGHTGBM, "error", MEAN_ROWS_MIN)
    if worst:
        name = max(worst, key=lambda key: worst[key])
        table.add("good, error, worst table", name, LIGHTGBM, worst[name], WORST_TARGET,
                  at_least=False)
    for preset in PRESETS:
        ratios = results.ratios(preset, CONSTANT, "error")
        if ratios:
            name = max(ratios, key=lambda key: ratios[key])
            table.add("%s, error, worst table" % preset, name, "constant answer", ratios[name],
                      CONSTANT_TARGET, at_least=False)


def compare(table, say, espalier, python, args):
    methods = [CONSTANT] + PEERS + [FOUR_KEYS] + PRESETS
    results, refused = Results(args), {}
    end = time.monotonic() + QUICK_CATBOOST_S
    for name, split in each_split(say, espalier, python, args, args.tables or TABLES):
        if args.quick and CATBOOST in methods and time.monotonic() > end:
            say("CatBoost is skipped from %s on: --quick has run for %d s" % (
                name, QUICK_CATBOOST_S))
            methods.remove(CATBOOST)
        measure_split(say, results, split, name, methods, refused)
    print_tables(results)
    for method, line in refused.items():
        say("%s was skipped: %s" % (method, line))
    add_targets(table, results)
