"""MNIST from a Spark program: EspalierClassifier beside Spark's own perceptron, in one Spark with
two threads beside a cluster of two workers with one each. See bench.py, bench_spark_program.py."""
import json
import os
import subprocess
import sys
import tempfile
import threading

import bench_tls
import python_client

LIB = os.path.dirname(os.path.abspath(__file__))
GOAL = 0.96
SPARK_LIMIT_S = 300  # of its perceptron; rounded up to whole rounds
LIMIT_S = 1800
SPARKTORCH = {  # 0.2.0, measured elsewhere: 2 cores
    "step_ms": 99.0, "rows_per_s": 91.0,
}


def measure(espalier, root, rounds):
    """What bench_spark_program.py found."""
    python = python_client.ensure("spark")
    cluster = bench_tls.Cluster(espalier, secure=False)
    try:
        with tempfile.TemporaryDirectory(prefix="espalier-bench-") as work:
            process = subprocess.Popen(
                [python, os.path.join(LIB, "bench_spark_program.py"),
                 "file:" + os.path.join(cluster.folder, "address"), work,
                 os.path.join(root, "build", "mnist"), str(GOAL), str(SPARK_LIMIT_S), str(rounds)],
                env=dict(os.environ, PYSPARK_PYTHON=python), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, text=True)
            try:
                return last_line(process)
            finally:
                process.kill()
                process.wait()
    finally:
        cluster.stop()


def last_line(process):
    """As JSON; the others are passed on as they come."""
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
    """The share of the test rows, and whether it was cut off before the goal."""
    return "%.2f %%%s" % (100 * found["accuracy"],
                          "" if found["accuracy"] >= GOAL else ", not there yet")


def fill(table, say, espalier, root, rounds):
    say("(j) MNIST from Spark: EspalierClassifier, then Spark's perceptron; %d rounds" % rounds)
    found = measure(espalier, root, rounds)
    ours, spark = found["ours"], found["spark"]
    table.add("fit of MNIST to %.0f %% of the test rows" % (100 * GOAL),
              "%.1f s (%s, %d epochs)" % (ours["seconds"], right(ours), ours["epochs"]),
              "Spark's perceptron %.0f s (%s, %d iterations)" % (
                  spark["seconds"], right(spark), spark["iterations"]),
              ours["seconds"] / spark["seconds"], 1 / 40, at_least=False)
    table.add("  step, 2 workers x 1 thread", "%.2f ms" % ours["step_ms"],
              "SparkTorch, elsewhere: %.0f ms" % SPARKTORCH["step_ms"],
              ours["step_ms"] / SPARKTORCH["step_ms"])
    rows = "{:,.0f} rows/s".format
    table.add("transform in Spark, 2 threads", rows(ours["rows_per_s"]),
              "Spark's perceptron " + rows(spark["rows_per_s"]),
              ours["rows_per_s"] / spark["rows_per_s"])
    table.add("", "", "SparkTorch, elsewhere: " + rows(SPARKTORCH["rows_per_s"]),
              ours["rows_per_s"] / SPARKTORCH["rows_per_s"])
