"""Estimators: each `fit` is one job of the cluster."""

from __future__ import annotations

import os
import secrets
from typing import Any, Dict, List

from pyspark.ml.base import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType

from .._bundle import MODEL_BYTES_MAX, MODEL_FILE, WEIGHTS_BYTES_MAX, WEIGHTS_FILE
from ..client import Client
from ..errors import DeadlineExceededError, EspalierError, InvalidArgumentError, JobError
from ..job import Job
from ..types import JobResult, StateChanged
from . import files, validators
from .coordinators import connect
from .model import EspalierModel
from .params import JobParams, with_setters
from .rows import job_rows

_SAME_DIRECTORY = ("Spark and the cluster's workers must see the same directory; workDirectory "
                   "says which.")


class _Submitter(JobParams, Estimator, DefaultParamsReadable, DefaultParamsWritable):
    """What both estimators have in common."""

    _task = ""

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
        removed; so are those of a validator's fits that its end leaves behind (validators.py)."""
        rows = job_rows(dataset, self, self._task == "classification")
        spark = dataset.sparkSession
        where = self._work_place(spark)
        with validators.task():
            self._connect().close()  # raises when it is not there, before anything is written
            try:
                rows.write.parquet(where + "/rows")
                if not spark.read.parquet(where + "/rows").head(1):
                    raise InvalidArgumentError("the frame has no rows to train on")
                return self._train(spark, where + "/rows", where)
            finally:
                files.remove(spark, where)

    def fit_on_parquet(self, path: str) -> EspalierModel:
        """As fit(spark.read.parquet(path)), with no copy: the cluster's workers read the files.
        Columns may be what `fit` takes; vectors may be Spark's own or arrays. The label alone may
        not be a boolean: `fit` makes 0.0 and 1.0 of it, the files have true and false.

        Args:
            path: a file, a directory or a pattern that Spark and the workers see.
        """
        spark = SparkSession.builder.getOrCreate()
        frame = spark.read.parquet(path)
        job_rows(frame, self, self._task == "classification")  # for what it says of the columns
        label = self.getLabelCol()
        if isinstance(frame.schema[label].dataType, BooleanType):
            raise InvalidArgumentError(
                "labelCol: column '%s' is of type boolean, expected numbers%s in files that are "
                "trained on as they are" % (label, " or text" * (self._task == "classification")),
                hint="Write it as a double (cast(%s as double)), or use fit." % label)
        where = self._work_place(spark)
        try:
            return self._train(spark, files.qualified(spark, path), where)
        finally:
            files.remove(spark, where)

    def _work_place(self, spark: SparkSession) -> str:
        """A directory for this fit alone, which is not there yet."""
        work = self.getOrDefault(self.workDirectory)
        work = work or os.environ.get("ESPALIER_WORK_DIRECTORY", "")
        if not work and self.getOrDefault(self.output):
            work = self.getOrDefault(self.output).rstrip("/").rpartition("/")[0]
        if not work:
            raise InvalidArgumentError(
                "workDirectory is not set: the rows have to be put where the cluster's workers see "
                "them", hint='For example workDirectory="hdfs:///tmp/espalier", or '
                             "ESPALIER_WORK_DIRECTORY in the environment of the driver.")
        return "%s/espalier-%s-%s" % (files.qualified(spark, work).rstrip("/"), self.uid,
                              secrets.token_hex(6))

    def _train(self, spark: SparkSession, rows: str, where: str) -> EspalierModel:
        # A validator's fits run beside each other; what stays is the best model's.
        output = "" if validators.is_task() else self.getOrDefault(self.output)
        bundle = files.qualified(spark, output) if output else where + "/bundle"
        spec = self.job_spec(self._task, files.for_jobs(rows), self.feature_columns(),
                             files.for_jobs(bundle))
        result = self._run(spec)
        model = EspalierModel._of(
            files.read(spark, "%s/%s" % (bundle, MODEL_FILE), MODEL_BYTES_MAX, _SAME_DIRECTORY),
            files.read(spark, "%s/%s" % (bundle, WEIGHTS_FILE), WEIGHTS_BYTES_MAX, _SAME_DIRECTORY))
        model.model().check_weights(result.weights_sha256)
        model.result = result
        model._resetUid(self.uid)
        return self._copyValues(model)

    def _run(self, spec: Dict[str, Any]) -> JobResult:
        with self._connect() as cluster:
            validators.check()
            job = cluster.submit(spec)
            try:
                with validators.watched(lambda: _end(job)):
                    self._await_workers(job)
                    return job.result(progress=None if self.getOrDefault(self.verbose) else False)
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


def _end(job: Job) -> None:
    try:
        job.cancel()
    except EspalierError:
        pass  # it has ended by itself


@with_setters
class EspalierClassifier(_Submitter):
    """Trains a classifier on the cluster.

    The label may be a number, as StringIndexer makes it, or text. Params: featuresCol or inputCols,
    categoricalCols with embeddingSizes and hashBuckets, labelCol, weightCol, validationIndicatorCol
    or validationFraction, hiddenLayers, activation, dropout, loss, optimizer, stepSize, maxIter
    (epochs), batchSize, patience, warmStart, scale, nulls, seed, coordinator, workDirectory,
    output, maxWorkers, startTimeout, verbose, job; predictionCol, probabilityCol and
    rawPredictionCol are the model's. ``explainParams()`` tells what each is.
    """

    _task = "classification"


@with_setters
class EspalierRegressor(_Submitter):
    """Trains a regression on the cluster; Params as of EspalierClassifier."""

    _task = "regression"


__all__: List[str] = ["EspalierClassifier", "EspalierRegressor"]
