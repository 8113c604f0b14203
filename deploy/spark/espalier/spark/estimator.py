"""Estimators: each `fit` is one job of the cluster."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import os
import secrets
import time
import warnings
from typing import Any, Callable, Dict, Iterator, List, Sequence, Type

from py4j.protocol import Py4JError
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
from .messages import Translation, java_message
from .model import EspalierModel, FitResult
from .params import JobParams, key_params, with_setters
from .rows import job_rows
from .sessions import check_has_driver
from .summary import FitSummary

_SAME_DIRECTORY = ("Spark and the cluster's workers must see the same directory; workDirectory "
                   "says which.")
_HISTORY_BYTES_MAX = 64 << 20
_LATE_SECONDS = (0.5, 1.0, 1.5)  # pauses before the checks for files written in the meantime


class _Submitter(JobParams, Estimator, DefaultParamsReadable, DefaultParamsWritable):
    """Common part of both estimators."""

    _task = ""
    _model_class: Type[EspalierModel] = EspalierModel
    # Params of a section of the job file for another program's words; see Translation.
    _keys: Dict[str, str] = {}
    _compat = ("compat", "compat")

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.set_job_defaults()
        self.setParams(**options)

    def setParams(self, **options: Any) -> Any:
        """Sets Params by name. None leaves a Param unchanged."""
        for name in options:
            if not self.hasParam(name):
                near = difflib.get_close_matches(name, [p.name for p in self.params], 1)
                raise TypeError("%s has no Param '%s'%s" % (
                    type(self).__name__, name, "; did you mean '%s'?" % near[0] if near else ""))
        return self._set(**{k: v for k, v in options.items() if v is not None})

    def _fit(self, dataset: DataFrame) -> EspalierModel:
        """Trains a model. Raises an EspalierError if a column, the cluster or the job is wrong. If
        it ends early, also by a KeyboardInterrupt, it cancels the job and removes all files that
        were written. This includes checkpoints, unless `job` sets train.checkpoint or resume. The
        same happens to the fits of a validator that ends before them (validators.py)."""
        spark = dataset.sparkSession
        check_has_driver(spark)
        rows = job_rows(dataset, self, self._task == "classification")
        work = self._work_directory(spark)
        left: List[str] = []
        with validators.task():
            self._check()  # raises before any file is written
            with _place_in(spark, work, self.uid, left) as where:
                with _jobs_that_end(spark, os.path.basename(where)), _writing(where, work):
                    if not files.make_directory(spark, where):
                        raise _cannot_write(work)
                    rows.write.parquet(where + "/rows")
                if not spark.read.parquet(where + "/rows").head(1):
                    raise InvalidArgumentError("the frame has no rows to train on")
                return self._train_on_copy(dataset, where + "/rows", where, left)

    def _train_on_copy(self, frame: DataFrame, rows: str, where: str,
                       left: List[str]) -> EspalierModel:
        """Trains on `rows`, the copy of the frame below `where`. See _train."""
        return self._train(frame, rows, where, left)

    def fit_on_parquet(self, path: str) -> EspalierModel:
        """Trains as fit(spark.read.parquet(path)) does, without a copy: the cluster's workers read
        the files. Columns may have the types that `fit` accepts. Vectors may be Spark's own or
        arrays. Only the label may not be a boolean: `fit` converts it to 0.0 and 1.0, and the files
        have true and false. If the training ends early, checkpoints next to `output` stay. Use
        job="{resume: OUTPUT}" to continue from them.

        Args:
            path: a file, a directory or a pattern that Spark and the workers can read.
        """
        spark = SparkSession.builder.getOrCreate()
        check_has_driver(spark)
        frame = spark.read.parquet(path)
        job_rows(frame, self, self._task == "classification")  # for its checks of the columns
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
        with _writing(work, work):
            return files.qualified(spark, work)

    def _check(self) -> None:
        """Raises an EspalierError if the coordinator cannot be reached or rejects a Param."""
        spec = self.job_spec(self._task, "rows", self.feature_columns(), "/unused")
        self._leave_out(spec)
        with self._translated("/unused"), self._connect() as cluster:
            cluster._check(spec)

    @contextlib.contextmanager
    def _translated(self, where: str) -> Iterator[None]:
        """Translates errors of the block. `where`: the directory of the fit, as jobs name it."""
        columns = "inputCols" if self.isSet(self.inputCols) else "featuresCol"
        keys = {key: name for name, (key, _) in key_params().items()}
        keys.update({"data.features": columns, "data.features.columns": columns})
        keys.update(self._keys)
        try:
            yield
        except EspalierError as error:
            Translation(keys, self._more(), where, self._compat).apply(error)
            raise

    def _train(self, frame: DataFrame, rows: str, where: str, left: List[str]) -> EspalierModel:
        """Returns the model of a job on `rows`, the files that `frame` was written to or read from.
        If the job ends early, `left` lists files that it may leave and that are of no use without
        its rows."""
        spark = frame.sparkSession
        # A validator's fits run at the same time. Only the best model's output stays.
        output = "" if validators.is_task() else self.getOrDefault(self.output)
        bundle = files.qualified(spark, output) if output else where + "/bundle"
        spec = self.job_spec(self._task, files.for_jobs(rows), self.feature_columns(),
                             files.for_jobs(bundle))
        self._put_beside(spark, spec, where)
        checkpoints = [] if _keeps_checkpoints(spec) else [bundle + ".checkpoints"]
        with self._translated(files.for_jobs(where)):
            result = self._run(spec, lambda: left.extend(checkpoints))
        model = self._model_class._of(
            files.read(spark, "%s/%s" % (bundle, MODEL_FILE), MODEL_BYTES_MAX, _SAME_DIRECTORY),
            files.read(spark, "%s/%s" % (bundle, WEIGHTS_FILE), WEIGHTS_BYTES_MAX, _SAME_DIRECTORY))
        model.model().check_weights(result.weights_sha256)
        model.result = FitResult.of(
            result if output else dataclasses.replace(result, bundle=""), model.model())
        model._resetUid(self.uid)
        model._summary = FitSummary.of(result, _history(spark, bundle))
        self._copyValues(model)
        self._tell(model, frame)
        return model

    def _put_beside(self, spark: SparkSession, spec: Dict[str, Any], where: str) -> None:
        """Writes the parts that do not fit in the job file below `where`, and refers to them in
        `spec`."""

    def _leave_out(self, spec: Dict[str, Any]) -> None:
        """Removes from `spec` the parts that `_put_beside` would write."""

    def _tell(self, model: EspalierModel, frame: DataFrame) -> None:
        """Stores what only the model of a training knows."""

    def _run(self, spec: Dict[str, Any], begun: Callable[[], None]) -> JobResult:
        """Runs the job. It calls `begun` when the job exists."""
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
                raise  # the job has ended
            except BaseException:
                _end(job)
                raise

    def _connect(self) -> Client:
        return connect(self.getOrDefault(self.coordinator) or None)

    def _await_workers(self, job: Job) -> None:
        """Raises DeadlineExceededError if the job has no workers within startTimeout."""
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
                hint="It is cancelled. Use more workers, a smaller minimum, or a longer "
                     "startTimeout.") from None


@contextlib.contextmanager
def _writing(where: str, work: str) -> Iterator[None]:
    """Raises FailedPreconditionError for an error of files below `where`, which are in `work`."""
    try:
        yield
    except Exception as error:
        found = java_message(error)
        if found is None:
            raise
        text = found.replace(where, work).replace(files.for_jobs(where), work)
        raise _cannot_write(work, text) from None


def _cannot_write(work: str, *causes: str) -> FailedPreconditionError:
    return FailedPreconditionError("workDirectory: Spark cannot write to %s" % work, causes=causes,
                                   hint=_SAME_DIRECTORY)


def _history(spark: SparkSession, bundle: str) -> str:
    """Returns the text of history.csv; "" if it is a file of millions of iterations, or cannot be
    read, because the model is more important."""
    try:
        return files.read(spark, bundle + "/history.csv", _HISTORY_BYTES_MAX).decode()
    except (EspalierError, Py4JError, ValueError):
        return ""


def _keeps_checkpoints(spec: Dict[str, Any]) -> bool:
    """Returns whether a job asks for checkpoints, or resumes from some, which may be of its output.
    """
    training = spec.get("train")
    return "resume" in spec or isinstance(training, dict) and "checkpoint" in training


def _end(job: Job) -> None:
    try:
        job.cancel()
    except (FailedPreconditionError, NotFoundError):
        pass  # the job has ended by itself
    except EspalierError as error:
        warnings.warn("%s could not be cancelled and may continue until `espalier cancel %s`: %s" %
                      (job.id, job.id, error), stacklevel=2)


@contextlib.contextmanager
def _place_in(spark: SparkSession, work: str, name: str,
              left: Sequence[str] = ()) -> Iterator[str]:
    """Provides a directory for one fit alone, which does not exist yet and is removed afterwards.
    If the fit ends early, the paths in `left` are removed, too."""
    where = "%s/espalier-%s-%s" % (work.rstrip("/"), name, secrets.token_hex(6))
    late = True
    try:
        yield where
        late = False
    except InvalidArgumentError:
        late = False  # the rows or the job were rejected, and no process writes
        raise
    finally:
        gone = (where, *left) if late else (where,)
        _remove(spark, *gone)
        # Tasks and workers of the ended job may still write a last file and create its directories
        # again.
        for seconds in _LATE_SECONDS if late else ():
            time.sleep(seconds)
            _remove(spark, *gone)


@contextlib.contextmanager
def _jobs_that_end(spark: SparkSession, tag: str) -> Iterator[None]:
    """Ends Spark's jobs of this thread when the block ends with an error. Ctrl-C ends only Python's
    wait for them. PySpark has one connection per thread to its JVM, and that connection cannot
    cancel the job that it waits for."""
    context = spark.sparkContext
    context.addJobTag(tag)
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):  # the JVM may be gone
            context.cancelJobsWithTag(tag)
        raise
    finally:
        with contextlib.suppress(Exception):
            context.removeJobTag(tag)


def _remove(spark: SparkSession, *paths: str) -> None:
    """Removes files. A failure neither replaces an error nor loses a model."""
    for where in paths:
        try:
            files.remove(spark, where)
        except Exception as error:  # Java errors of many kinds, or the JVM is gone
            warnings.warn("%s could not be removed: %s" % (where, files.said(error)), stacklevel=2)


@with_setters
class EspalierClassifier(_Submitter):
    """Trains a classifier on the cluster.

    The label may be a number, as StringIndexer makes it, or text. Params: featuresCol or inputCols,
    categoricalCols with embeddingSizes and hashBuckets, labelCol, weightCol, validationIndicatorCol
    or validationFraction, hiddenLayers, activation, dropout, loss, optimizer, stepSize (learning
    rate), maxIter (epochs), batchSize, patience, classWeight, warmStart, scale, nulls, seed,
    coordinator, workDirectory, output, maxWorkers, startTimeout, verbose, job. predictionCol,
    probabilityCol and rawPredictionCol are the model's. Other scalar keys of the job file are
    Params too: clipNorm, weightDecay, optimizerBeta1, earlyStoppingMetric. ``explainParams()``
    describes each of them.
    """

    _task = "classification"


@with_setters
class EspalierRegressor(_Submitter):
    """Trains a regression on the cluster. Params: see EspalierClassifier."""

    _task = "regression"


__all__: List[str] = ["EspalierClassifier", "EspalierRegressor"]
