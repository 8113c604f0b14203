"""Estimators: each `fit` is one job of the cluster."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
import warnings
from typing import Any, Callable, Dict, Iterator, List, Sequence, Type

from pyspark.ml.base import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType

from .._facts import MODEL_BYTES_MAX, MODEL_FILE, WEIGHTS_BYTES_MAX, WEIGHTS_FILE
from ..client import Client
from ..errors import (DeadlineExceededError, EspalierError, FailedPreconditionError,
                      InvalidArgumentError, JobError, NotFoundError, PermissionDeniedError)
from ..job import Job
from ..types import JobResult, StateChanged
from . import files, identity, validators
from .coordinators import connect
from .model import EspalierModel
from .params import JobParams, with_setters
from .rows import job_rows
from .sessions import check_has_driver

_SAME_DIRECTORY = ("Spark and the cluster's workers must see the same directory; workDirectory "
                   "says which.")
_LATE_SECONDS = (0.5, 1.0, 1.5)  # after which it is looked again what was written meanwhile


class _Submitter(JobParams, Estimator, DefaultParamsReadable, DefaultParamsWritable):
    """What both estimators have in common."""

    _task = ""
    _model_class: Type[EspalierModel] = EspalierModel

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.set_job_defaults()
        self.setParams(**options)

    def setParams(self, **options: Any) -> Any:
        """Sets Params by name; None leaves one as it is."""
        for name in options:
            if not self.hasParam(name):
                raise TypeError("%s has no Param '%s'" % (type(self).__name__, name))
        return self._set(**{k: v for k, v in options.items() if v is not None})

    def _fit(self, dataset: DataFrame) -> EspalierModel:
        """Raises an EspalierError for what is wrong with a column, the cluster or the job. However
        it ends early, by a KeyboardInterrupt too, the job is cancelled, and what was written is
        removed, checkpoints too, unless `job` says train.checkpoint or resume; so are those of a
        validator's fits that its end leaves behind (validators.py)."""
        spark = dataset.sparkSession
        check_has_driver(spark)
        rows = job_rows(dataset, self, self._task == "classification")
        work = self._work_directory(spark)
        left: List[str] = []
        with validators.task():
            self._connect().close()  # raises when it is not there, before anything is written
            with _place_in(spark, work, self.uid, left) as where:
                with _jobs_that_end(spark, os.path.basename(where)):
                    rows.write.parquet(where + "/rows")
                if not spark.read.parquet(where + "/rows").head(1):
                    raise InvalidArgumentError("the frame has no rows to train on")
                return self._train(dataset, where + "/rows", where, left)

    def fit_on_parquet(self, path: str) -> EspalierModel:
        """As fit(spark.read.parquet(path)), with no copy: the cluster's workers read the files.
        Columns may be what `fit` takes; vectors may be Spark's own or arrays. The label alone may
        not be a boolean: `fit` makes 0.0 and 1.0 of it, the files have true and false. Checkpoints
        beside `output` stay when it ends early: job="{resume: OUTPUT}" goes on from them.

        Args:
            path: a file, a directory or a pattern that Spark and the workers see.
        """
        spark = SparkSession.builder.getOrCreate()
        check_has_driver(spark)
        frame = spark.read.parquet(path)
        job_rows(frame, self, self._task == "classification")  # for what it says of the columns
        label = self.getLabelCol()
        if isinstance(frame.schema[label].dataType, BooleanType):
            raise InvalidArgumentError(
                "labelCol: column '%s' is of type boolean, expected numbers%s in files that are "
                "trained on as they are" % (label, " or text" * (self._task == "classification")),
                hint="Write it as a double (cast(%s as double)), or use fit." % label)
        with _place_in(spark, self._work_directory(spark), self.uid) as where:
            return self._train(frame, files.qualified(spark, path), where, [])

    def _work_directory(self, spark: SparkSession) -> str:
        work = self.getOrDefault(self.workDirectory)
        work = work or os.environ.get("ESPALIER_WORK_DIRECTORY", "")
        if not work and self.getOrDefault(self.output):
            work = files.parent(spark, self.getOrDefault(self.output))
        if not work:
            raise InvalidArgumentError(
                "workDirectory is not set: the rows have to be put where the cluster's workers see "
                "them", hint='For example workDirectory="hdfs:///tmp/espalier", or '
                             "ESPALIER_WORK_DIRECTORY in the environment of the driver.")
        return files.qualified(spark, work)

    def _train(self, frame: DataFrame, rows: str, where: str, left: List[str]) -> EspalierModel:
        """The model of a job on `rows`, the files that `frame` was written to or read from. `left`
        gets what such a job may leave, if it ends early, that is of no use without its rows."""
        spark = frame.sparkSession
        # A validator's fits run beside each other; what stays is the best model's.
        output = "" if validators.is_task() else self.getOrDefault(self.output)
        bundle = files.qualified(spark, output) if output else where + "/bundle"
        spec = self.job_spec(self._task, files.for_jobs(rows), self.feature_columns(),
                             files.for_jobs(bundle))
        self._put_beside(spark, spec, where)
        checkpoints = [] if _keeps_checkpoints(spec) else [bundle + ".checkpoints"]
        result = self._run(spec, lambda: left.extend(checkpoints))
        model = self._model_class._of(
            files.read(spark, "%s/%s" % (bundle, MODEL_FILE), MODEL_BYTES_MAX, _SAME_DIRECTORY),
            files.read(spark, "%s/%s" % (bundle, WEIGHTS_FILE), WEIGHTS_BYTES_MAX, _SAME_DIRECTORY))
        model.model().check_weights(result.weights_sha256)
        model.result = result
        model._resetUid(self.uid)
        self._copyValues(model)
        self._tell(model, frame, bundle)
        return model

    def _put_beside(self, spark: SparkSession, spec: Dict[str, Any], where: str) -> None:
        """Writes below `where` what has no room in the job file, and lets `spec` name it."""

    def _tell(self, model: EspalierModel, frame: DataFrame, bundle: str) -> None:
        """What a model knows of its training alone."""

    def _run(self, spec: Dict[str, Any], begun: Callable[[], None]) -> JobResult:
        """`begun` is called when there is a job."""
        with self._connect() as cluster:
            validators.check()
            try:
                job = cluster.submit(spec)
            except PermissionDeniedError as error:
                if error.message.startswith("output:"):
                    error.hint = identity.who_writes(SparkSession.builder.getOrCreate())
                raise
            try:
                begun()
                with validators.watched(lambda: _end(job)):
                    self._await_workers(job)
                    return job.result(progress=self.getOrDefault(self.verbose))
            except JobError:
                raise  # it has ended
            except BaseException:
                _end(job)
                raise

    def _connect(self) -> Client:
        return connect(self.getOrDefault(self.coordinator) or None)

    def _await_workers(self, job: Job) -> None:
        """Raises DeadlineExceededError when the job has no workers within startTimeout."""
        limit = self.getOrDefault(self.startTimeout)
        if not limit:
            return
        try:
            for event in job.watch(timeout=limit, progress=False):
                if isinstance(event, StateChanged) and event.job.state != "QUEUED":
                    return
        except DeadlineExceededError:
            why = job.info().waiting_because
            raise DeadlineExceededError(
                "%s had no workers within %g s: %s" % (job.id, limit, why or "it is queued"),
                hint="It is cancelled. More workers, a smaller minimum, or a longer startTimeout "
                     "help.") from None


def _keeps_checkpoints(spec: Dict[str, Any]) -> bool:
    """Whether a job asks for checkpoints, or goes on from some, which may be its own output's."""
    training = spec.get("train")
    return "resume" in spec or isinstance(training, dict) and "checkpoint" in training


def _end(job: Job) -> None:
    try:
        job.cancel()
    except (FailedPreconditionError, NotFoundError):
        pass  # it has ended by itself
    except EspalierError as error:
        warnings.warn("%s could not be cancelled and may go on, until `espalier cancel %s`: %s" %
                      (job.id, job.id, error), stacklevel=2)


@contextlib.contextmanager
def _place_in(spark: SparkSession, work: str, name: str,
              left: Sequence[str] = ()) -> Iterator[str]:
    """A directory for one fit alone, which is not there yet, and is not there afterwards; nor is
    what `left` has by then, when the fit ends early."""
    where = "%s/espalier-%s-%s" % (work.rstrip("/"), name, secrets.token_hex(6))
    late = True
    try:
        yield where
        late = False
    except InvalidArgumentError:
        late = False  # the rows or the job were refused, and nobody writes
        raise
    finally:
        gone = (where, *left) if late else (where,)
        _remove(spark, *gone)
        # The tasks and workers of what was ended may write a last file, and its directories again.
        for seconds in _LATE_SECONDS if late else ():
            time.sleep(seconds)
            _remove(spark, *gone)


@contextlib.contextmanager
def _jobs_that_end(spark: SparkSession, tag: str) -> Iterator[None]:
    """Spark's jobs of this thread end with it. Ctrl-C ends but Python's wait for them: PySpark has
    one connection a thread to its JVM, and by that one cannot cancel what it waits for."""
    context = spark.sparkContext
    context.addJobTag(tag)
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):  # there may be no JVM any more
            context.cancelJobsWithTag(tag)
        raise
    finally:
        with contextlib.suppress(Exception):
            context.removeJobTag(tag)


def _remove(spark: SparkSession, *paths: str) -> None:
    """It neither takes the place of an error nor takes a model away."""
    for where in paths:
        try:
            files.remove(spark, where)
        except Exception as error:  # Java's of many kinds, or there is no JVM any more
            warnings.warn("%s could not be removed: %s" % (where, files.said(error)), stacklevel=2)


@with_setters
class EspalierClassifier(_Submitter):
    """Trains a classifier on the cluster.

    The label may be a number, as StringIndexer makes it, or text. Params: featuresCol or inputCols,
    categoricalCols with embeddingSizes and hashBuckets, labelCol, weightCol, validationIndicatorCol
    or validationFraction, hiddenLayers, activation, dropout, loss, optimizer, stepSize (learning
    rate), maxIter (epochs), batchSize, patience, warmStart, scale, nulls, seed, coordinator,
    workDirectory, output, maxWorkers, startTimeout, verbose, job; predictionCol, probabilityCol and
    rawPredictionCol are the model's. ``explainParams()`` tells what each is.
    """

    _task = "classification"


@with_setters
class EspalierRegressor(_Submitter):
    """Trains a regression on the cluster; Params as of EspalierClassifier."""

    _task = "regression"


__all__: List[str] = ["EspalierClassifier", "EspalierRegressor"]
