"""Compares Espalier with its peers in one run and prints one table of ratios.

  (a) leaf      leaf step, compared with bare matrix products of whole-batch shapes
  (b) step      steps with 1 x 1, 1 x 2 and 2 x 1 workers x threads, and the exposed part of the
                reduce
  (c) csv       CSV to row store, compared with Arrow's reader and a plain copy
  (d) parquet   Parquet to row store, compared with Arrow's own reader and the same transposition
  (e) hdfs      reading a file of a real HDFS, compared with curl with 1, 2 and 4 streams; profile
                from HDFS, compared with local disk
  (f) job       whole MNIST job with 2 workers: wall time, memory of all processes
  (g) recovery  length of a pause in the training of MNIST when workers or the coordinator are
                killed, hosts are cut off, or workers join and leave (up to 30 times each)
  (h) tls       step with 2 x 1 and certificates, compared with plain text in pairs
  (i) quality   test errors of the presets on nine real tables, compared with LightGBM, CatBoost,
                scikit-learn's perceptron and a job of four keys (20 minutes; --quick: 5)
  (j) yarn      containers of workers are killed while MNIST trains from HDFS: time until the other
                workers continue, and until YARN has a replacement (requires Java)
  (k) spark     MNIST by EspalierClassifier, compared with Spark's own perceptron: time to 96 % of
                the test rows, rows/s of transform (about 10 minutes; requires Java)
  (l) async     accuracy of asynchronous training on MNIST, compared with synchronous training; the
                ratio is the difference

`data` selects (c), (d) and (e).

The workload is MNIST as CSV, 784-256-256-10 ReLU, Adam, global batch 256, validation 0.2, 5 epochs.
With --torch, (b) and (f) also run PyTorch DDP. PyTorch and pyarrow run in private environments
below build/.

Both sides are measured in turns on the same machine, so compare the ratios.
"""
import argparse
import glob
import json
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import bench_async
import bench_peers
import bench_quality
import bench_quality_parts
import bench_recovery
import bench_spark
import bench_tls
import bench_yarn
import mnist
import private_python
from hadoop import Hdfs
from memory_watch import MemoryWatch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BAZEL = shlex.split(os.environ.get("BAZEL", "bazel"))
ESPALIER = os.path.join(ROOT, "build", "bin", "espalier")
TELLTALE = os.path.join(ROOT, "build", "testing", "telltale-worker")
PARTS = ["leaf", "step", "csv", "parquet", "hdfs", "job", "recovery", "tls", "quality",
         "yarn", "spark", "async"]
GROUPS = {"data": ["csv", "parquet", "hdfs"]}
MNIST = {
    "name": "bench",
    "preset": "none",
    "data": {"train": "build/mnist/train/*.csv", "test": "build/mnist/test/*.csv",
             "csv": {"header": False}, "label": 0, "validation": {"fraction": 0.2},
             "features": {"columns": "1..784", "scale": {"divide": 255}}},
    "model": {"task": "classification", "hidden": [256, 256], "activation": "relu"},
    "train": {"optimizer": {"adam": {"learning_rate": 1e-3}}, "batch": 256, "epochs": 5,
              "seed": 1},
}


class Table:
    """Table with rows of (what, ours, peer, ratio, target, met or short)."""

    def __init__(self):
        self.rows = [("what", "ours", "peer", "ratio", "target", "")]

    def add(self, what, ours, beside="", ratio=None, target=None, at_least=True):
        verdict = goal = ""
        if target is not None and ratio is not None:
            reached = ratio >= target if at_least else ratio <= target
            verdict = "met" if reached else "short by %.3f" % abs(ratio - target)
            goal = (">= " if at_least else "<= ") + "%.3g" % target
        self.rows.append((what, ours, beside, "" if ratio is None else "%.3f" % ratio, goal,
                          verdict))

    def print(self):
        if len(self.rows) == 1:
            return
        widths = [max(len(row[i]) for row in self.rows) for i in range(6)]
        print()
        for row in self.rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def median(values):
    return statistics.median(values)


def say(words):
    print("bench: " + words, flush=True)


def programs():
    """Builds the C++ parts and returns their folder."""
    subprocess.run(BAZEL + ["build", "//tools/benchmarks/..."], cwd=ROOT, check=True)
    info = subprocess.run(BAZEL + ["info", "bazel-bin"], cwd=ROOT, check=True, text=True,
                          capture_output=True)
    return os.path.join(info.stdout.strip(), "tools", "benchmarks")


def json_lines(command):
    """Returns the JSON lines that a C++ part prints."""
    environment = dict(os.environ, OPENBLAS_CORETYPE="Haswell", OPENBLAS_NUM_THREADS="1")
    done = subprocess.run(command, cwd=ROOT, check=True, text=True, capture_output=True,
                          env=environment)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def json_of(command):
    """Returns the JSON lines of a C++ part as {name of the bench: line}."""
    return {line["bench"]: line for line in json_lines(command)}


def write_job(folder, name, **changes):
    """Writes a job file of the workload above with changes to its `train` section."""
    spec = dict(MNIST, train=dict(MNIST["train"], **changes))
    spec["output"] = {"path": os.path.join(folder, name), "overwrite": True}
    path = os.path.join(folder, name + ".yaml")
    with open(path, "w") as f:
        json.dump(spec, f)
    return path


def start_train(job, workers, threads):
    return subprocess.Popen([ESPALIER, "train", job, "--workers", str(workers), "--threads",
                             str(threads), "--json"], cwd=ROOT, text=True, stdout=subprocess.PIPE)


def result_of(process):
    out = process.communicate()[0]
    result = json.loads(out.strip().splitlines()[-1]) if out.strip() else {}
    if result.get("status") != "SUCCEEDED":
        raise RuntimeError("the job ended with %s" % (result or "no result"))
    return result


def bench_leaf(table, folder, args):
    say("(a) the leaf step")
    found = json_of([os.path.join(folder, "leaf_step"), str(300 * args.rounds // 3)])
    leaf = found["leaf_step"]
    table.add("leaf step, one thread (%s)" % leaf["kernel"], "%.2f ms" % leaf["step_ms"],
              "bare GEMMs %.2f ms" % leaf["bare_gemm_ms"], leaf["ratio"], 0.85)


def step_ms(jobs, workers, threads):
    """Returns the largest median time of a step in ms, of jobs that run at the same time."""
    processes = [start_train(job, workers, threads) for job in jobs]
    return max(result_of(p)["timing"]["step_ms_p50"] for p in processes)


def torch_cells(ours, measured, key, words):
    """Returns the cell and the ratio of PyTorch's figure. Both are empty if PyTorch did not run."""
    if not measured:
        return "", None
    figure = median([m[key] for m in measured])
    return words % figure, ours / figure


def bench_step(table, args):
    """Measures steps. To measure a step of 2 x 1 without its reduce, it runs two jobs at the same
    time that do not communicate. Each has half of the batch and half of the leaves.
    """
    say("(b) steps with 1x1, 1x2 and 2x1 workers x threads; %d rounds" % args.rounds)
    with tempfile.TemporaryDirectory(prefix="espalier-bench-") as folder:
        whole = write_job(folder, "whole", epochs=2, leaves=4)
        halves = [write_job(folder, "half-%d" % i, epochs=1, leaves=2, batch=128) for i in (1, 2)]
        cases = {"1x1": ([whole], 1, 1), "1x2": ([whole], 1, 2), "2x1": ([whole], 2, 1),
                 "stub": (halves, 1, 1)}
        times = {name: [] for name in cases}
        torch = []
        for _ in range(args.rounds):
            for name, case in cases.items():
                times[name].append(step_ms(*case))
            if args.torch:
                torch.append(bench_peers.torch_steps(ROOT))
    ms = {name: median(values) for name, values in times.items()}
    one = torch_cells(ms["1x1"], torch, "step_1x1_ms", "PyTorch 1x1 %.1f ms")
    two = torch_cells(ms["2x1"], torch, "step_ddp_2x1_ms", "PyTorch DDP 2x1 %.1f ms")
    table.add("step, 1 worker x 1 thread", "%.2f ms" % ms["1x1"], *one, 0.7, at_least=False)
    table.add("step, 1 worker x 2 threads", "%.2f ms" % ms["1x2"], "ours 1x1",
              ms["1x2"] / ms["1x1"])
    table.add("step, 2 workers x 1 thread", "%.2f ms" % ms["2x1"], *two, 0.35, at_least=False)
    table.add("", "", "ours 1x1", ms["2x1"] / ms["1x1"], 0.75, at_least=False)
    table.add("  with the reduce stubbed", "%.2f ms" % ms["stub"])
    exposed = ms["2x1"] - ms["stub"]
    table.add("  exposed part of the reduce", "%.2f ms" % exposed, "of the step",
              exposed / ms["2x1"])


def bench_csv(table, folder, args):
    say("(c) CSV to row store, compared with pyarrow")
    with tempfile.TemporaryDirectory(prefix="espalier-bench-") as temporary:
        floats = os.path.join(temporary, "floats.csv")
        bench_peers.write_floats(floats)
        digits = os.path.join(ROOT, "build", "mnist", "train", "part-00000.csv")
        regression = {"preset": "none",
                      "data": {"train": floats, "csv": {"header": False}, "label": 8,
                               "features": {"scale": "none"}},
                      "model": {"task": "regression"}}
        quoted = os.path.join(temporary, "quoted.csv")
        bench_peers.write_quoted(quoted)
        classes = {"preset": "none", "data": {"train": quoted, "csv": {"header": False}, "label": 7,
                            "features": {"columns": "1..6", "scale": "none"}},
                   "model": {"task": "classification"}}
        parts = {"shard_bytes": 4 << 20}  # sufficient for two threads
        for name, file, spec, text, threads, target in (
                ("MNIST digits", digits, MNIST, (), 1, 5),
                ("9 float columns", floats, regression, (), 1, 1.5),
                ("quoted text", quoted, classes, (0, 7), 1, None),
                ("MNIST digits, 2 threads", digits, MNIST, (), 2, None),
                ("9 float columns, 2 threads", floats, regression, (), 2, None),
                ("quoted text, 2 threads", quoted, classes, (0, 7), 2, None)):
            spec = dict(spec, data=dict(spec["data"], **parts))
            job = os.path.join(temporary, "csv.yaml")
            with open(job, "w") as f:
                json.dump(dict(spec, output="unused"), f)
            ours, arrow = [], []
            for _ in range(args.rounds):
                ours.append(json_of([os.path.join(folder, "csv"), job, file, "3",
                                     str(threads)])["csv"])
                arrow.append(bench_peers.arrow_csv([file], 3, threads, text))
            mine = max(ours, key=lambda found: found["mb_per_s"])
            table.add("CSV to row store, " + name,
                      "%.0f MB/s, %s rows/s" % (mine["mb_per_s"], "{:,.0f}".format(
                          mine["rows_per_s"])),
                      "Arrow %.0f MB/s" % max(arrow), mine["mb_per_s"] / max(arrow), target)
            copy = max(found["copy_mb_per_s"] for found in ours)
            table.add("  peak memory", "%.0f MB" % mine["peak_mb"],
                      "plain copy %.0f MB/s" % copy, mine["mb_per_s"] / copy)


def bench_parquet(table, folder, args):
    say("(d) Parquet to row store")
    with tempfile.TemporaryDirectory(prefix="espalier-bench-") as temporary:
        for kind, rows, threads in (("digits", 20_000, 1), ("floats", 20_000, 1),
                                    ("vectors", 20_000, 1), ("narrow", 1_000_000, 1),
                                    ("digits", 20_000, 2), ("narrow", 1_000_000, 2)):
            best = json_lines([os.path.join(folder, "parquet"), kind, str(rows), temporary,
                               str(args.rounds), str(threads)])[-1]
            table.add("Parquet to row store, " + kind + (", 2 threads" if threads == 2 else ""),
                      "%.0f MB/s, %s rows/s" % (best["mb_per_s"], "{:,.0f}".format(
                          best["rows_per_s"])),
                      "Arrow and transposition", best["ratio"], 0.9 if threads == 1 else None)
            table.add("  peak memory", "%.0f MB" % best["peak_mb"])


def curl_mb_per_s(url, size, streams):
    """Returns MB/s of `streams` curl processes at once, each for an equal part of the file."""
    part = (size + streams - 1) // streams
    started = time.monotonic()
    processes = [subprocess.Popen(["curl", "-sSfL", "-o", "/dev/null", "%s?op=OPEN&offset=%d"
                                   "&length=%d" % (url, i * part, min(part, size - i * part))])
                 for i in range(streams)]
    if any([p.wait() for p in processes]):
        raise RuntimeError("curl failed")
    return size / 1e6 / (time.monotonic() - started)


def bench_hdfs(table, folder, args):
    say("(e) HDFS: starts an HDFS with two DataNodes")
    size = 300_000_000
    with Hdfs.start(throughput=True) as hdfs, \
            tempfile.TemporaryDirectory(prefix="espalier-bench-") as temporary:
        os.environ.update(hdfs.env())
        block = os.urandom(1_000_000)
        hdfs.put("/bench.bin", block * (size // len(block)))
        url = hdfs.active_url() + "/webhdfs/v1/bench.bin"
        for streams in (1, 2, 4):
            curl, ours = [], []
            # The first round warms up both sides. The DataNodes use most of two cores, but not
            # always the same share. Single runs of either side differ by half.
            for _ in range(max(args.rounds, 10) + 1):
                curl.append(curl_mb_per_s(url, size, streams))
                ours.append(json_lines([os.path.join(folder, "webhdfs"), hdfs.uri + "/bench.bin",
                                        str(streams), str(1 << 20), "1"])[-1]["mb_per_s"])
            table.add("WebHDFS read, streams: %d" % streams, "%.0f MB/s" % median(ours[1:]),
                      "curl %.0f MB/s" % median(curl[1:]), median(ours[1:]) / median(curl[1:]), 0.9)
        local, remote = [], []
        jobs = {"local": write_job(temporary, "local", steps=1)}
        for part in ("train", "test"):
            for file in sorted(glob.glob(os.path.join(ROOT, "build", "mnist", part, "*.csv"))):
                with open(file, "rb") as content:
                    hdfs.put("/mnist/%s/%s" % (part, os.path.basename(file)), content.read())
        with open(jobs["local"]) as f:
            spec = json.load(f)
        spec["data"].update(train=hdfs.uri + "/mnist/train/*.csv",
                            test=hdfs.uri + "/mnist/test/*.csv")
        jobs["hdfs"] = os.path.join(temporary, "hdfs.yaml")
        with open(jobs["hdfs"], "w") as f:
            json.dump(spec, f)
        for _ in range(args.rounds):
            local.append(result_of(start_train(jobs["local"], 2, 1))["timing"]["profiling_s"])
            remote.append(result_of(start_train(jobs["hdfs"], 2, 1))["timing"]["profiling_s"])
        table.add("profile of MNIST's CSV from HDFS, 2 workers", "%.2f s" % median(remote),
                  "from local disk %.2f s" % median(local), median(remote) / median(local))


def run_torch_job():
    command = bench_peers.torch_command(ROOT, "job", "build/mnist")
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT)
    watch = MemoryWatch(process)
    if process.wait():
        raise RuntimeError("PyTorch's job ended with %d" % process.returncode)
    return {"job_wall_s": time.monotonic() - started, "job_memory_mb": watch.megabytes()}


def bench_job(table, args):
    say("(f) the whole MNIST job, 2 workers; %d rounds" % args.rounds)
    walls, memories, accuracies, torch = [], [], [], []
    with tempfile.TemporaryDirectory(prefix="espalier-bench-") as folder:
        job = write_job(folder, "job")
        for _ in range(args.rounds):
            started = time.monotonic()
            process = start_train(job, 2, max(1, (os.cpu_count() or 2) // 2))
            watch = MemoryWatch(process)
            result = result_of(process)
            walls.append(time.monotonic() - started)
            memories.append(watch.megabytes())
            accuracies.append(result["metrics"]["test"]["accuracy"])
            if args.torch:
                torch.append(run_torch_job())
    say("last round: start %(start_s).2f s, profile %(profiling_s).2f s, training %(train_s).2f s" %
        result["timing"])
    wall = torch_cells(median(walls), torch, "job_wall_s", "PyTorch DDP %.1f s")
    memory = torch_cells(median(memories), torch, "job_memory_mb", "PyTorch DDP %.0f MB")
    table.add("whole job, 5 epochs, %.2f %% right" % (100 * median(accuracies)),
              "%.1f s" % median(walls), *wall, 0.2, at_least=False)
    table.add("  memory of all processes", "%.0f MB" % median(memories), *memory, 0.2,
              at_least=False)


def bench_quality_of(table, args):
    say("(i) quality of the presets on real tables")
    python = private_python.ensure("quality", bench_quality.PACKAGES)
    what = (say, ESPALIER, python, args)
    if args.ablation:
        bench_quality_parts.ablate(*what)
    if args.epochs_curve:
        bench_quality_parts.curve(*what)
    if args.large:
        bench_quality_parts.large(table, *what)
    if not (args.ablation or args.epochs_curve or args.large):
        bench_quality.compare(table, *what)


def main():
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3,
                        help="measurements of each part (default: %(default)s)")
    parser.add_argument("--torch", action="store_true",
                        help="also run PyTorch (private environment of 6 GB)")
    parser.add_argument("--sparktorch", action="store_true",
                        help="also run SparkTorch (private environment of 6 GB)")
    bench_quality.add_options(parser)
    parser.add_argument("parts", nargs="*",
                        help="parts to run: %s or data (default: all)" % ", ".join(PARTS))
    args = parser.parse_args()
    args.parts = [p for part in args.parts for p in GROUPS.get(part, [part])]
    unknown = [p for p in args.parts if p not in PARTS]
    if unknown or args.rounds < 1:
        parser.error("unknown part %s" % unknown if unknown else "--rounds: expected at least 1")
    if set(args.tables or []) - set(bench_quality.TABLES):
        parser.error("--tables: expected some of " + ", ".join(bench_quality.TABLES))
    if args.resume and not args.json:
        parser.error("--resume requires --json FILE")
    if args.plot and not args.epochs_curve:
        parser.error("--plot requires --epochs-curve")
    args.splits = 1 if args.quick else args.splits
    parts = args.parts or PARTS
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if parts != ["quality"]:
        mnist.main(os.path.join(ROOT, "build"))
    folder = programs() if {"leaf", "csv", "parquet", "hdfs"} & set(parts) else ""
    table = Table()
    if "leaf" in parts:
        bench_leaf(table, folder, args)
    if "step" in parts:
        bench_step(table, args)
    if "csv" in parts:
        bench_csv(table, folder, args)
    if "parquet" in parts:
        bench_parquet(table, folder, args)
    if "hdfs" in parts:
        bench_hdfs(table, folder, args)
    if "job" in parts:
        bench_job(table, args)
    if "recovery" in parts:
        with tempfile.TemporaryDirectory(prefix="espalier-bench-") as folder:
            bench_recovery.fill(table, say, ESPALIER, TELLTALE,
                                write_job(folder, "recovery", epochs=100_000))
    if "tls" in parts:
        with tempfile.TemporaryDirectory(prefix="espalier-bench-") as folder:
            bench_tls.fill(table, say, median, ESPALIER,
                           write_job(folder, "tls", epochs=2, leaves=4), args.rounds)
    if "quality" in parts:
        bench_quality_of(table, args)
    if "yarn" in parts:
        bench_yarn.fill(table, say, ROOT, MNIST)
    if "spark" in parts:
        bench_spark.fill(table, say, ESPALIER, ROOT, args.rounds, args.sparktorch)
    if "async" in parts:
        bench_async.fill(table, say, ESPALIER, ROOT)
    table.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
