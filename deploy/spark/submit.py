"""Submits an Espalier job by spark-submit, follows it, and exits with its result.

    spark-submit --py-files espalier.zip submit.py job.yaml --coordinator head:7700
    spark-submit --deploy-mode cluster --py-files espalier.zip --files job.yaml \\
        submit.py job.yaml --coordinator hdfs:///espalier/address
    spark-submit --num-executors 4 --py-files espalier.zip submit.py job.yaml --workers 4 \\
        --package hdfs:///espalier-0.1.0-linux-x86_64.tar.gz

Exit codes: 0 the model is saved; 1 the job failed or was cancelled; 2 wrong usage or job file;
3 the coordinator is unreachable (with --workers: 1); 130 interrupted. In client mode, spark-submit
has the same codes. In cluster mode, it exits with 1 for each code except 0, and the application's
diagnostics contain the code.

The job lives as long as the driver. Ctrl-C, a SIGTERM to either of its processes and `yarn
application -kill` cancel it, unless it was submitted with --detach.
"""
import argparse
import contextlib
import ctypes
import os
import signal
import sys
import urllib.parse

import espalier
from espalier._jobtext import JOB_BYTES_MAX, job_text
from espalier.progress import headline
from espalier.spark import coordinators, files, launch_on_spark
from espalier.spark.sessions import check_has_driver
from pyspark import SparkConf, SparkFiles
from pyspark.sql import SparkSession

PR_SET_PDEATHSIG = 1
BEFORE_A_JOB = (espalier.InvalidArgumentError, espalier.NotFoundError, espalier.AlreadyExistsError,
                espalier.BadInputError, espalier.PermissionDeniedError,
                espalier.FailedPreconditionError, espalier.UnimplementedError)
UNREACHED = (espalier.UnavailableError, espalier.DeadlineExceededError)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="submit.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", help="job file: a path, one of --files, or a URI that Spark reads")
    parser.add_argument("--coordinator", default=None,
                        help="host:port, or file:PATH or hdfs://PATH of a file with it (default: "
                             "ESPALIER_COORDINATOR)")
    parser.add_argument("--workers", type=int, default=0,
                        help="number of workers to start in Spark's executors for this job, with a "
                             "coordinator next to the driver")
    parser.add_argument("--package", default=None,
                        help="with --workers: tarball of tools/package, a path or a URI (default: "
                             "programs on the executors' hosts)")
    parser.add_argument("--memory", default="512MiB",
                        help="with --workers: memory for the rows of each worker (default: "
                             "%(default)s)")
    parser.add_argument("--coordinator-memory", default="1GiB",
                        help="with --workers: memory of the coordinator, which in cluster mode "
                             "counts as spark.driver.memoryOverhead (default: %(default)s)")
    parser.add_argument("--start-timeout", type=float, default=120.0, metavar="SECONDS",
                        help="with --workers: time limit of their start (default: %(default)g)")
    parser.add_argument("--detach", action="store_true",
                        help="exit with 0 as soon as the job is accepted")
    args = parser.parse_args(arguments)
    if args.workers and (args.coordinator or args.detach):
        parser.error("--workers cannot be combined with --coordinator or --detach")
    return args


def session(executors):
    """Returns Spark's session, with that many executors unless the user specified others."""
    builder = SparkSession.builder.appName("espalier-submit")
    if not SparkConf().contains("spark.executor.instances"):
        builder = builder.config("spark.executor.instances", str(executors))
    return builder.getOrCreate()


def interrupt(*_):
    ignore_signals()
    raise KeyboardInterrupt


def ignore_signals():
    """Ignores signals for the clean-up, which is short. The cause of the end sends more of them.
    Ctrl-C ends the JVM, and its end is a SIGTERM. Its death also breaks the pipe that the progress
    is written to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def obey_signals():
    """Makes SIGINT, SIGTERM and the end of the JVM that started this process interrupt it. Spark's
    own handler of SIGINT would first ask the JVM, which Ctrl-C has ended as well."""
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def read_job(spark, name):
    """Returns the job's text, with paths that have the same meaning everywhere."""
    in_cluster = spark.conf.get("spark.submit.deployMode", "client") == "cluster"
    if urllib.parse.urlsplit(name).scheme:
        raw = files.read(spark, name, JOB_BYTES_MAX)
    else:
        # Files of --files lose their directories. In a YARN container, they are in the working
        # directory.
        places = [SparkFiles.get(name), SparkFiles.get(os.path.basename(name))]
        if in_cluster:
            places.append(os.path.basename(name))
        path = name if os.path.exists(name) else next(filter(os.path.isfile, places), None)
        if path is None:
            raise espalier.NotFoundError("the job file %s does not exist" % name,
                                         hint="In cluster mode, also add it to --files.")
        with open(path, "rb") as f:
            raw = f.read(JOB_BYTES_MAX + 1)
    try:
        text = raw.decode("utf-8") + "\n"  # text of one line would be a path
    except UnicodeDecodeError as error:
        raise espalier.InvalidArgumentError("%s is not UTF-8 text: byte %d" %
                                            (name, error.start)) from error
    absolute = job_text(text)
    if absolute != text and in_cluster:
        raise espalier.InvalidArgumentError(
            "%s has relative paths, which are not valid on the driver's host" % name,
            hint="In cluster mode, use absolute paths, or paths with a scheme, such as "
                 "hdfs:///data.")
    return absolute


def follow(job):
    try:
        result = job.result(progress=True)
    except BaseException:
        try:
            ignore_signals()
        finally:
            with contextlib.suppress(espalier.EspalierError):  # the job has ended by itself
                job.cancel()
        raise
    scoring = result.scoring
    for name in ("test",) if scoring else ("train", "validation", "test"):
        metrics = getattr(result, name)
        if metrics is not None:
            print("%-11s%s" % (name, headline(metrics)))
    if scoring is None:
        print("bundle     %s\nweights    %s" % (result.bundle, result.weights_sha256), flush=True)
    else:
        print("rows       %d scored, %d rejected" % (scoring.rows, scoring.rejected))
        if result.bundle:
            print("output     %s" % result.bundle)
        sys.stdout.flush()


def run(spark, args):
    check_has_driver(spark)
    text = read_job(spark, args.job)
    if args.workers:
        with launch_on_spark(spark, args.workers, memory=args.memory, package=args.package,
                             coordinator_memory=args.coordinator_memory,
                             start_timeout=args.start_timeout) as cluster:
            follow(cluster.submit(text))
        return
    with coordinators.connect(args.coordinator) as cluster:
        job = cluster.submit(text)
        if args.detach:
            print("%s at %s" % (job.id, cluster.address), flush=True)
        else:
            follow(job)


def code_of(error, own_cluster=False):
    if isinstance(error, espalier.JobError):
        return 1
    if isinstance(error, UNREACHED):
        return 1 if error.answered or own_cluster else 3
    return 2 if isinstance(error, BEFORE_A_JOB) else 1


def outcome(spark, args):
    """Runs the command and returns the exit code."""
    try:
        run(spark, args)
        return 0
    except espalier.EspalierError as error:
        print("submit.py: error: %s" % error, file=sys.stderr, flush=True)
        return code_of(error, own_cluster=args.workers > 0)
    except KeyboardInterrupt:
        print("submit.py: interrupted", file=sys.stderr, flush=True)
        return 130


def main(arguments):
    args = parse(arguments)
    spark = session(args.workers)
    obey_signals()
    try:
        return outcome(spark, args)
    finally:
        with contextlib.suppress(Exception):  # the JVM may have been interrupted, too
            spark.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
