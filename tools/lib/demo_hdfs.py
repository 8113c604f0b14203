"""Runs the part of `tools/demo --hdfs` after the build: copies MNIST to a real HDFS and trains from
it.

usage: demo_hdfs.py [--parquet] [--keep]

The HDFS is that of tools/hadoop in build/hdfs. If it runs already, the demo uses it and leaves it
running. The files and the model are in its directory /mnist. The demo then trains the same job on
the local files and checks that the weights are equal.
"""
import argparse
import hashlib
import os
import shlex
import signal
import subprocess
import sys
import time

import mnist
from hadoop import Hdfs
from hadoop_cli import DEFAULT_DIR, ROOT
from hadoop_jars import HadoopError
from hadoop_state import has_state
from hadoop_webhdfs import WebHdfsError

TARGET = "hdfs:///mnist"  # on the default file system of HADOOP_CONF_DIR
BUNDLE = [".writer.json", "README.md", "history.csv", "model.json", "weights.safetensors"]


def say(words):
    print("demo: " + words, flush=True)


def fail(words):
    sys.exit("demo: " + words)


def upload(hdfs, local, remote):
    """Uploads the files of a local folder that are missing or incomplete."""
    hdfs.files.mkdirs(remote)
    there = {name: hdfs.files.status(remote + "/" + name)["length"]
             for name in hdfs.files.names(remote)}
    new = [name for name in sorted(os.listdir(local))
           if there.get(name) != os.path.getsize(os.path.join(local, name))]
    for name in new:
        hdfs.files.put_file(remote + "/" + name, os.path.join(local, name), overwrite="true")
    return sum(os.path.getsize(os.path.join(local, name)) for name in new), len(new)


def upload_sets(hdfs, folder):
    started = time.monotonic()
    below = os.path.relpath(folder, os.path.join(ROOT, "build", "mnist"))
    put = [upload(hdfs, os.path.join(folder, name), os.path.normpath("/mnist/%s/%s" %
                                                                     (below, name)))
           for name in ("train", "test")]
    size, count = map(sum, zip(*put))
    say("copied %d files (%.0f MB) to HDFS in %.1f s" %
        (count, size / 1e6, time.monotonic() - started)
        if count else "the files are on HDFS already")


def write_job(name, folder, model, parquet):
    """Copies config/mnist.yaml with other files and another output. Returns the path of the copy.
    """
    with open(os.path.join(ROOT, "config", "mnist.yaml")) as f:
        text = f.read()
    changes = [("build/mnist/model", model), ("build/mnist/train", folder + "/train"),
               ("build/mnist/test", folder + "/test")]
    if parquet:
        changes += [(".csv", ".parquet"), ("  csv: {header: false}\n", "")]
    for old, new in changes:
        if old not in text:
            fail("config/mnist.yaml does not contain %r, so it cannot become %r. Was the file "
                 "edited?" % (old, new))
        text = text.replace(old, new)
    lines = text.splitlines(keepends=True)
    job = os.path.join("build", "mnist", name)
    with open(os.path.join(ROOT, job), "w") as f:
        f.writelines(line for line in lines if not line.startswith("#"))
    return job


def train(job, *flags, **how):
    command = ["build/bin/espalier", "train", job, "--workers", "2"] + list(flags)
    say(" ".join(command))
    done = subprocess.run(command, cwd=ROOT, **how)
    if done.returncode:
        fail("the training ended with %d" % done.returncode)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def compare(hdfs, kind, parquet):
    """Trains the same job on the local files. The weights must be the same."""
    model = "build/mnist/model-" + kind
    folder = "build/mnist/parquet" if parquet else "build/mnist"
    say("the same job on the local files, for comparison")
    job = write_job("local-%s.yaml" % kind, folder, model, parquet)
    train(job, "--json", stdout=subprocess.DEVNULL)
    found = sha256(hdfs.get("/mnist/model-%s/weights.safetensors" % kind))
    with open(os.path.join(ROOT, model, "weights.safetensors"), "rb") as f:
        expected = sha256(f.read())
    if found != expected:
        fail("the weights differ: sha256 %s from HDFS, %s from the local files" %
             (found, expected))
    say("the same weights from HDFS and from the local files: sha256 " + found)


def check_bundle(hdfs, kind):
    names = sorted(hdfs.files.names("/mnist/model-" + kind))
    if names != BUNDLE:
        fail("the bundle on HDFS has the files %s, expected %s" % (names, BUNDLE))
    say("the bundle is on HDFS: %s/model-%s has %s" % (TARGET, kind, ", ".join(names)))


def print_hints(hdfs, kind, running):
    print("\nThe model: %s/model-%s (%s/mnist/model-%s)" % (TARGET, kind, hdfs.uri, kind))
    print("\nWhat to try next:")
    if not running:
        print("  tools/hadoop start                         starts HDFS again with its data")
    for name, value in hdfs.env().items():
        print("  export %s=%s" % (name, shlex.quote(value)))
    job = "build/mnist/hdfs-%s.yaml" % kind
    print("  build/bin/espalier check %s  shows files, rows and memory, without training" % job)
    print("  tools/hadoop run dfs -ls -R /mnist         lists the files")
    print("  tools/hadoop run dfs -get /mnist/model-%s .  copies the model to local files" % kind)
    print("  tools/hadoop kill dn1                      training continues without a DataNode")
    if kind == "csv":
        print("  tools/demo --hdfs --parquet                trains on the same rows as Parquet")
    print("  tools/hadoop stop                          ends HDFS and removes its data")


def run(hdfs, args):
    kind = "parquet" if args.parquet else "csv"
    local = os.path.join(ROOT, "build", "mnist") + ("/parquet" if args.parquet else "")
    say("HDFS %s serves at %s" % (hdfs.state["hadoop"], hdfs.uri))
    upload_sets(hdfs, local)
    folder = TARGET + ("/parquet" if args.parquet else "")
    job = write_job("hdfs-%s.yaml" % kind, folder, "%s/model-%s" % (TARGET, kind), args.parquet)
    train(job, env=dict(os.environ, **hdfs.env()))
    print()
    check_bundle(hdfs, kind)
    compare(hdfs, kind, args.parquet)
    return kind


def main():
    parser = argparse.ArgumentParser(prog="tools/demo --hdfs", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parquet", action="store_true", help="use Parquet files instead of CSV")
    parser.add_argument("--keep", action="store_true", help="keep HDFS running at the end")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if args.parquet:
        mnist.write_parquet(os.path.join(ROOT, "build"))
    try:
        running = has_state(DEFAULT_DIR) and Hdfs.attach(DEFAULT_DIR).alive("nn1")
        hdfs = Hdfs.attach(DEFAULT_DIR) if running else Hdfs.start(dir=DEFAULT_DIR, say=say)
        stays = running or args.keep
        try:
            kind = run(hdfs, args)
        finally:
            if not stays:
                hdfs.stop(keep=True)
    except (HadoopError, WebHdfsError, OSError) as e:
        fail(str(e))
    if not stays:
        say("HDFS is stopped. Its data stay in " + os.path.relpath(hdfs.dir, ROOT))
    print_hints(hdfs, kind, stays)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
