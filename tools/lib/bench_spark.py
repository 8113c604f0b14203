"""Compares EspalierClassifier with Spark's own perceptron on MNIST. One Spark application with two
threads runs next to a cluster of two workers with one thread each. See bench.py and
bench_spark_program.py."""
import json
import os
import subprocess
import sys
import tempfile
import threading

import bench_tls
import private_python
import python_client

LIB = os.path.dirname(os.path.abspath(__file__))
GOAL = 0.96
SPARK_LIMIT_S = 300  # time limit of Spark's perceptron, rounded up to whole rounds
LIMIT_S = 1800
# SparkTorch 0.2.0, measured on another machine with 2 cores, for a run without --sparktorch. No
# page quotes these figures.
SPARKTORCH = {
    "step_ms": 99.0, "rows_per_s": 91.0,
}
SPARKTORCH_PACKAGES = (["numpy==1.26.4", "pandas==2.2.3", "setuptools==75.8.0", "torch==2.6.0",
                        "wheel==0.45.1"], ["pyspark==3.5.7", "sparktorch==0.2.0"])


def measure(espalier, root, rounds):
    """Returns the results of bench_spark_program.py."""
    python = python_client.ensure("spark")
    cluster = bench_tls.Cluster(espalier, secure=False)
    try:
        with tempfile.TemporaryDirectory(prefix="espalier-bench-") as work:
            return program(python, "bench_spark_program.py",
                           "file:" + os.path.join(cluster.folder, "address"), work,
                           os.path.join(root, "build", "mnist"), GOAL, SPARK_LIMIT_S, rounds)
    finally:
        cluster.stop()


def measure_sparktorch(root):
    """Returns the results of bench_sparktorch_program.py."""
    python = private_python.ensure("sparktorch", *SPARKTORCH_PACKAGES)
    return program(python, "bench_sparktorch_program.py", os.path.join(root, "build", "mnist"),
                   GOAL, SPARK_LIMIT_S)


def program(python, name, *arguments):
    """Runs the program and returns the JSON of its last line."""
    process = subprocess.Popen(
        [python, os.path.join(LIB, name)] + [str(a) for a in arguments],
        env=dict(os.environ, PYSPARK_PYTHON=python), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, text=True)
    try:
        return last_line(process)
    finally:
        process.kill()
        process.wait()


def last_line(process):
    """Returns the last line as JSON. Prints the other lines as they arrive."""
    timer = threading.Timer(LIMIT_S, process.kill)
    timer.start()
    last = ""
    try:
        for line in process.stdout:
            if line.startswith("{"):
                last = line
            else:
                sys.stdout.write(line)
                sys.stdout.flush()
    finally:
        timer.cancel()
    if process.wait() or not last:
        raise RuntimeError("the Spark program ended with %d" % process.returncode)
    return json.loads(last)


def right(found):
    """Returns the share of correct test rows as text, with a mark if it is below the goal."""
    return "%.2f %%%s" % (100 * found["accuracy"],
                          "" if found["accuracy"] >= GOAL else ", goal not reached")


def fill(table, say, espalier, root, rounds, with_sparktorch):
    say("(k) MNIST from Spark: EspalierClassifier, then Spark's perceptron%s; %d rounds" % (
        ", then SparkTorch" if with_sparktorch else "", rounds))
    found = measure(espalier, root, rounds)
    ours, spark = found["ours"], found["spark"]
    torch, name = ((measure_sparktorch(root), "SparkTorch") if with_sparktorch else
                   (SPARKTORCH, "SparkTorch on another machine:"))
    our_fit = "%.1f s (%s, %d epochs)" % (ours["seconds"], right(ours), ours["epochs"])
    table.add("fit of MNIST to %.0f %% of the test rows" % (100 * GOAL), our_fit,
              "Spark's perceptron %.0f s (%s, %d iterations)" % (
                  spark["seconds"], right(spark), spark["iterations"]),
              ours["seconds"] / spark["seconds"], 1 / 40, at_least=False)
    if "seconds" in torch:
        table.add("", "", "SparkTorch %.0f s (%s, %d steps)" % (
            torch["seconds"], right(torch), torch["steps"]), ours["seconds"] / torch["seconds"])
    table.add("  step, 2 workers x 1 thread", "%.2f ms" % ours["step_ms"],
              "%s %.0f ms" % (name, torch["step_ms"]), ours["step_ms"] / torch["step_ms"])
    rows = "{:,.0f} rows/s".format
    table.add("transform in Spark, 2 threads", rows(ours["rows_per_s"]),
              "Spark's perceptron " + rows(spark["rows_per_s"]),
              ours["rows_per_s"] / spark["rows_per_s"])
    table.add("", "", "%s %s" % (name, rows(torch["rows_per_s"])),
              ours["rows_per_s"] / torch["rows_per_s"])
