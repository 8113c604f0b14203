"""A cluster in Spark's own executors, for sites that have Spark and no YARN services.

    with launch_on_spark(spark, workers=4, package="hdfs:///espalier.tar.gz") as cluster:
        cluster.submit("job.yaml").result()
        EspalierClassifier(workDirectory="hdfs:///tmp", ...).fit(frame)

Each worker is a Spark job of one task, which starts it and stays with it (keeper.py). Spark would
start barrier tasks all or none. However, the loss of one fails their whole stage, and every worker
with it. Spark also gives up a stage of ordinary tasks when one of them has failed four times. As
separate jobs, the tasks share only a name. A task that dies ends its own worker. It is started
again, while the other workers continue the training. This module itself implements "all or none":
tasks take a place and wait, and workers start only when all tasks have one (roll.py).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import tempfile
import threading
import time
import warnings
from typing import Any, Dict, List, Optional, Set, Tuple, Union

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from .._jobtext import JobSource
from ..client import Client
from ..errors import (DeadlineExceededError, EspalierError, FailedPreconditionError,
                      InvalidArgumentError, NotFoundError)
from ..job import Job
from . import hadoop
from .coordinators import connect
from .keeper import Order, keep
from .own_coordinator import PEM, OwnCoordinator, memory_limits
from .roll import Roll
from .sessions import check_has_driver

__all__ = ["SparkCluster", "launch_on_spark"]

_PAUSE_SECONDS, _PAUSE_SECONDS_MAX = 1.0, 30.0  # pause before a place is requested again
_LONG_LIFE_SECONDS = 60.0
_STOP_SECONDS = 60.0  # limit for workers that leave
_CANCEL_SECONDS, _CANCEL_AGAIN_SECONDS = 10.0, 1.0
_LOOK_SECONDS = 0.1

PathLike = Union[str, "os.PathLike[str]"]


def launch_on_spark(spark: SparkSession, workers: int, *, threads: int = 0,
                    memory: str = "512MiB", package: Optional[str] = None,
                    coordinator: Optional[str] = None, coordinator_memory: str = "1GiB",
                    tls: Optional[Tuple[PathLike, PathLike, PathLike]] = None,
                    insecure: bool = False, name: str = "spark",
                    start_timeout: float = 120.0) -> SparkCluster:
    """Starts workers in tasks of `spark`, and a coordinator next to its driver.

    Returns when all workers are attached. All of them start, or none. Each holds one of Spark's
    slots until :meth:`SparkCluster.stop`. `fit` and `transform` need at least one more.

    Args:
        workers: number of workers.
        threads: threads per worker; 0: as many as a Spark task has (``spark.task.cpus``).
        memory: memory per worker, for rows. Rows that do not fit go to files.
            ``spark.executor.memoryOverhead`` must hold this and about 300 MiB more, for each of an
            executor's workers.
        package: the tarball that ``tools/package`` builds, a path here or a URI that Spark reads.
            Spark sends it to the executors, also to those that start later, so it stays there
            until the application ends. None: the programs are found there, by ``ESPALIER_HOME``
            or on ``PATH``.
        coordinator: address of an existing cluster's coordinator; None: this function starts one,
            with certificates for this cluster alone. While it runs, the environment of this
            process contains it (``ESPALIER_COORDINATOR`` and ``ESPALIER_TLS_*``), so that
            `connect()` and Estimators without `coordinator` find it.
        coordinator_memory: memory of the coordinator that is started here, at least 512MiB. A
            quarter each is for incoming data, for data that waits for a slow worker, and for
            profiles of the rows. In cluster mode, the coordinator lives in the driver's container.
            Its ``spark.driver.memoryOverhead`` must hold this in addition to Spark's own 384 MiB.
        tls: with `coordinator`: PEM files of the authority, and of a worker's certificate and key.
            The certificate's name is `name`.
        insecure: with `coordinator` and without `tls`: consent to plain text between hosts.
        name: prefix of the workers' names: "spark:1", "spark:2", ...
        start_timeout: seconds until all must be attached.

    Raises:
        DeadlineExceededError: they were not. The message says which were missing, and why as far
            as known.
        FailedPreconditionError: a worker, or the coordinator, ended at its start. The message says
            why.
        NotFoundError: the programs are missing.
        InvalidArgumentError: an argument is wrong.
        UnimplementedError: a session of Spark Connect.
    """
    if workers < 1 or start_timeout <= 0 or threads < 0:
        raise InvalidArgumentError("workers and start_timeout must be above 0, threads at least 0")
    if coordinator is None and (tls is not None or insecure):
        raise InvalidArgumentError("tls and insecure are for a `coordinator` argument. "
                                       "Add it, or remove them")
    limits = memory_limits(coordinator_memory)
    check_has_driver(spark)
    cluster = SparkCluster(spark, workers, name)
    try:
        cluster._start(threads, memory, package, coordinator, limits, tls, insecure,
                       time.monotonic() + start_timeout, start_timeout)
    except BaseException:
        cluster.stop()
        raise
    return cluster


class SparkCluster:
    """Workers in Spark's tasks, from :func:`launch_on_spark`. A context manager that ends them.

    Attributes:
        address: the coordinator's address.
    """

    def __init__(self, spark: SparkSession, workers: int, name: str) -> None:
        self.address = ""
        self._context: Any = spark.sparkContext
        self._workers, self._name = workers, name
        self._folder = tempfile.mkdtemp(prefix="espalier-spark-")
        self._stopping = threading.Event()
        self._threads: List[threading.Thread] = []
        self._roll: Optional[Roll] = None
        self._own: Optional[OwnCoordinator] = None
        self._client: Optional[Client] = None
        self._environment: Dict[str, Optional[str]] = {}
        self._security: Dict[str, str] = {}
        atexit.register(self.stop)

    def __enter__(self) -> SparkCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def connect(self) -> Client:
        """Returns a client of its coordinator. Raises as `espalier.connect` does."""
        return connect(self.address, **self._security)  # type: ignore[arg-type]

    def submit(self, job: JobSource) -> Job:
        """Queues a job; see `Client.submit`."""
        if self._client is None:
            self._client = self.connect()
        return self._client.submit(job)

    def losses(self) -> List[str]:
        """Reasons why workers were lost so far, the latest last."""
        return self._roll.reasons() if self._roll else []

    def stop(self) -> None:
        """Ends what this object started: cancels the jobs of its coordinator, dismisses the
        workers, ends the tasks and removes the files. A second call does nothing."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        atexit.unregister(self.stop)
        for variable, value in self._environment.items():
            os.environ.pop(variable, None)
            if value is not None:
                os.environ[variable] = value
        if self._own is not None and self.address:
            self._cancel_jobs()
        if self._client is not None:
            self._client.close()
        if self._roll is not None:
            self._end_tasks(self._roll.end())
        if self._own is not None:
            self._own.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end_tasks(self, leaving: Set[int]) -> None:
        """Waits for the tasks of the places in `leaving`, while their workers hand over their
        shares. Other Spark jobs of ours have nothing to hand over, and do not end by themselves
        while they wait for a slot. This method cancels them repeatedly, because Spark may not have
        known them before."""
        now = time.monotonic()
        patience = now + (_STOP_SECONDS if leaving else 0)
        end, again = patience + _CANCEL_SECONDS, now
        while now < end:
            alive = {seat for seat, thread in enumerate(self._threads) if thread.is_alive()}
            if not alive:
                return
            if now >= again:
                again = now + _CANCEL_AGAIN_SECONDS
                for seat in alive - leaving if now < patience else alive:
                    with contextlib.suppress(Exception):  # the JVM may be gone
                        self._context.cancelJobGroup(self._group_of(seat))
            time.sleep(_LOOK_SECONDS / 4)
            now = time.monotonic()

    def _group_of(self, seat: int) -> str:
        """Returns the group of Spark's jobs for that place, which can be cancelled separately."""
        return "espalier-%s-%d" % (os.path.basename(self._folder), seat + 1)

    # ---- Start

    def _start(self, threads: int, memory: str, package: Optional[str], coordinator: Optional[str],
               limits: List[str], tls: Optional[Tuple[PathLike, PathLike, PathLike]],
               insecure: bool, until: float, start_timeout: float) -> None:
        conf = self._context.getConf()
        host = conf.get("spark.driver.host")
        bind = conf.get("spark.driver.bindAddress") or host
        files: Dict[str, bytes] = {}
        site = hadoop.site(self._context)
        if site:
            files["core-site.xml"] = site
        if package:
            self._context.addArchive(package)
        if coordinator is None:
            self._own = OwnCoordinator(self._folder, host, bind, site, self._context.sparkUser(),
                                     package, self._name, limits)
            self.address = self._own.start(until)
            self._security = self._own.security()
            self._announce()
            tls = self._own.of_workers()
        else:
            self.address = coordinator
        for path, name in zip(tls or (), PEM):
            files[name] = _read(path)
        self.connect().close()  # raises if it is missing, before anything looks for it
        self._roll = Roll(bind, self._workers)
        order = Order(
            roll=(host, self._roll.port), key=self._roll.key, coordinator=self.address,
            name=self._name, files=files, insecure=insecure,
            package=os.path.basename(package.rstrip("/")) if package else "",
            flags=("--threads", str(threads or int(conf.get("spark.task.cpus", "1"))),
                   "--memory-bytes-max", memory, "--hadoop-user", self._context.sparkUser()))
        for seat in range(self._workers):
            thread = InheritableThread(target=self._hold, args=(order, seat),
                                       name="espalier worker %d" % seat)
            thread.daemon = True
            self._threads.append(thread)
            thread.start()
        if not self._roll.wait(until):
            raise self._incomplete("had a place", set(self._roll.hosts().values()),
                                   len(self._roll.hosts()), start_timeout)
        with self.connect() as client:
            others = {w.id for w in client.workers()}  # services that may call with our identity
        self._roll.begin()
        self._await_attached(others, until, start_timeout)
        slots = self._slots()
        if slots is not None and slots <= self._workers:
            warnings.warn("workers hold all %d slots of Spark. `fit` and `transform` would wait "
                          "until the cluster is stopped" % slots, stacklevel=3)

    def _announce(self) -> None:
        told = {"ESPALIER_COORDINATOR": self.address,
                "ESPALIER_TLS_CA": self._security["ca"],
                "ESPALIER_TLS_CERTIFICATE": self._security["cert"],
                "ESPALIER_TLS_KEY": self._security["key"]}
        hidden = ("ESPALIER_TOKEN", "ESPALIER_TOKEN_FILE", "ESPALIER_TLS_SERVER_NAME")
        self._environment = {v: os.environ.get(v) for v in tuple(told) + hidden}
        os.environ.update(told)
        for variable in hidden:
            os.environ.pop(variable, None)

    def _await_attached(self, others: Set[str], until: float, start_timeout: float) -> None:
        assert self._roll is not None
        with self.connect() as client:
            while True:
                there = {w.name for w in client.workers()
                         if w.name.startswith(self._name + ":") and w.id not in others}
                if len(there) >= self._workers:
                    return
                if self._roll.reasons() or time.monotonic() > until:
                    raise self._incomplete("were attached", there, len(there), start_timeout)
                time.sleep(_LOOK_SECONDS)

    def _incomplete(self, what: str, who: Any, count: int, start_timeout: float) -> EspalierError:
        assert self._roll is not None
        reasons = self._roll.reasons()
        if reasons:
            return FailedPreconditionError("a worker in Spark's executors could not start",
                                           causes=reasons[:3])
        slots = self._slots()
        return DeadlineExceededError(
            "%d of %d workers %s within %g s (%s)%s" % (
                count, self._workers, what, start_timeout, ", ".join(sorted(who)) or "none",
                "" if slots is None else "; Spark can run %d tasks at a time now" % slots),
            hint="Use more executors or cores, fewer workers, or a longer start_timeout. Other "
                 "jobs of this application also hold slots. Nothing was left running.")

    def _slots(self) -> Optional[int]:
        """Returns the number of tasks that Spark could run at the same time; None if Spark does not
        say."""
        try:
            scala: Any = self._context._jsc.sc()
            profile = scala.resourceProfileManager().defaultResourceProfile()
            return int(scala.maxNumConcurrentTasks(profile))
        except Exception:  # it is not part of Spark's public interface
            return None

    # ---- Life of one worker

    def _hold(self, order: Order, seat: int) -> None:
        """Keeps one place, and takes it again whenever it was lost."""
        assert self._roll is not None
        pause = _PAUSE_SECONDS
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self._context.setJobGroup(self._group_of(seat),
                                          "Espalier's worker %d" % (seat + 1), True)
                reason, = self._context.parallelize([seat], 1).map(
                    functools.partial(keep, order)).collect()
            except Exception as error:  # any error of Spark about a lost task
                reason = "Spark gave a task up: " + _first_words(error)
            if self._stopping.is_set():
                return
            self._roll.note(reason or "a task lost the driver")
            long_life = time.monotonic() - began > _LONG_LIFE_SECONDS
            pause = _PAUSE_SECONDS if long_life else min(2 * pause, _PAUSE_SECONDS_MAX)
            self._stopping.wait(pause)

    def _cancel_jobs(self) -> None:
        """Cancels jobs, so that workers leave at once instead of handing over to each other."""
        try:
            with self.connect() as client:
                for job in client.jobs():
                    if not job.state.final:
                        client.cancel(job.id)
        except EspalierError:
            pass  # a job or the coordinator has ended by itself


def _read(path: PathLike) -> bytes:
    try:
        with open(path, "rb") as f:
            return f.read(1 << 20)
    except OSError as error:
        raise NotFoundError("tls: cannot read %s: %s" % (path, error.strerror)) from error


def _first_words(error: BaseException) -> str:
    """Returns the first informative line of a Java exception."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("org.apache.spark.", "Caused by:"))]
    return (told or lines or [type(error).__name__])[0][:500]
