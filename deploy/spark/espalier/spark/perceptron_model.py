"""Members of Spark's MultilayerPerceptronClassificationModel in addition to `transform`."""

from __future__ import annotations

import json
from typing import Any, List, Optional, Tuple

import numpy as np
from pyspark.ml.linalg import DenseVector, Vector
from pyspark.ml.param import Param, TypeConverters
from pyspark.ml.param.shared import HasLabelCol, HasMaxIter, HasSeed, HasStepSize
from pyspark.ml.util import DefaultParamsReader, MLReader
from pyspark.sql import DataFrame

from .._bundle import parse_safetensors
from ..errors import BadInputError, InvalidArgumentError
from .model import EspalierModel, _positions, read_summary
from .params import param, with_getters
from .summary import (MultilayerPerceptronClassificationSummary,
                      MultilayerPerceptronClassificationTrainingSummary)

__all__: List[str] = ["MultilayerPerceptronClassificationModel"]


@with_getters
class PerceptronParams(HasLabelCol, HasMaxIter, HasStepSize, HasSeed):
    """Params of Spark's perceptron, which its models also have."""

    layers: Param[List[int]] = param(
        "layers", "number of features, units of each hidden layer, number of classes",
        TypeConverters.toListInt)
    solver: Param[str] = param("solver", "l-bfgs, or gd: gradient descent over all rows",
                               TypeConverters.toString)
    tol: Param[float] = param("tol", "training ends below this improvement of the loss (l-bfgs) or "
                              "this change of the weights (gd)", TypeConverters.toFloat)
    blockSize: Param[int] = param("blockSize", "as in Spark; has no effect here",
                                  TypeConverters.toInt)
    # Stored as a list. Spark writes its own vectors by Scala.
    initialWeights: Param[List[float]] = param(
        "initialWeights", "weights that training starts with, in Spark's order, as a vector or a "
        "list; for a file, use job='{compat: {spark-mlp: {initialWeights: hdfs://...}}}'",
        TypeConverters.toListFloat)
    thresholds: Param[List[float]] = param(
        "thresholds", "one for each class; the predicted class has the largest ratio of "
        "probability to threshold", TypeConverters.toListFloat)

    def getInitialWeights(self) -> Vector:
        """Returns the value of the Param initialWeights."""
        return DenseVector(self.getOrDefault(self.initialWeights))


class MultilayerPerceptronClassificationModel(EspalierModel, PerceptronParams):
    """An EspalierModel that Spark's programs accept as their own: pyspark.ml.classification's class
    of this name.

    You may set `thresholds` again. `from_bundle` accepts any classifier. `weights` may not be able
    to represent all of them.
    """

    def __init__(self) -> None:
        super().__init__()
        # The frame of the fit, and the loss of each iteration. None if the model was loaded.
        self._trained_on: Optional[Tuple[DataFrame, List[float]]] = None
        self._decided: Optional[MultilayerPerceptronClassificationModel] = None

    @classmethod
    def _of(cls, model_json: bytes, weights: bytes) -> MultilayerPerceptronClassificationModel:
        out: Any = super()._of(model_json, weights)
        document = out.model()._document
        if not document.classification:
            raise InvalidArgumentError("found a model of task %s, expected classification; "
                                       "EspalierModel takes it" % document.task)
        out._set(layers=[document.layers[0].inputs] + [layer.outputs for layer in document.layers])
        if document.thresholds:
            out._set(thresholds=list(document.thresholds))
        return out  # type: ignore[no-any-return]

    @property
    def weights(self) -> DenseVector:
        """Returns for each layer the matrix of outputs x inputs by columns, then the bias. This is
        the format of Spark's `weights` and of `initialWeights`. The features are those that the
        network gets, which differ from the frame's if the fit had a `scale`.

        Raises:
            InvalidArgumentError: the network is not a perceptron of Spark's and has other weights,
                too.
        """
        tensors = parse_safetensors(self._bundle[1])
        if any(name.startswith("fits.") for name in tensors):
            raise InvalidArgumentError("weights: the model averages several fits, which Spark's "
                                       "format cannot represent. Train one fit with `ensemble: "
                                       "{fits: 1}`.")
        parts = []
        for i in range(len(self.model()._document.layers)):
            parts.append(tensors.pop("layers.%d.weight" % i).T.ravel())
            parts.append(tensors.pop("layers.%d.bias" % i))
        if tensors:
            raise InvalidArgumentError("weights: the network has '%s', which Spark's format cannot "
                                       "represent" % sorted(tensors)[0])
        return DenseVector(np.concatenate(parts).astype(float))

    def setThresholds(self, value: List[float]) -> MultilayerPerceptronClassificationModel:
        """Sets the Param thresholds."""
        self._set(thresholds=value)
        return self

    def predict(self, value: Vector) -> Any:
        """Returns the class of one vector: a float, as Spark's labels are, or the text if the
        classes are not whole numbers."""
        said = self._current().model().predict(self._row(value))[0]
        return float(said) if isinstance(said, np.integer) else said

    def predictRaw(self, value: Vector) -> DenseVector:
        """Returns the network's outputs for one vector, before the softmax."""
        outputs = self.model().predict_raw(self._row(value)).astype(float)
        if outputs.shape[1] < len(self.classes):  # one output: the log of the odds
            outputs = np.concatenate([-outputs, outputs], axis=1)
        return self._vector(outputs, -np.inf)

    def predictProbability(self, value: Vector) -> DenseVector:
        """Returns the probabilities of the classes for one vector."""
        return self._vector(self.model().predict_proba(self._row(value)), 0.0)

    def evaluate(self, dataset: DataFrame) -> MultilayerPerceptronClassificationSummary:
        """Returns the summary of rows with known labels, in labelCol."""
        return MultilayerPerceptronClassificationSummary(*self._scored(dataset))

    @property
    def hasSummary(self) -> bool:
        """Whether this is the model of a fit, in its own program."""
        return self._trained_on is not None

    def summary(self) -> MultilayerPerceptronClassificationTrainingSummary:  # type: ignore
        """Returns the summary of the frame that it was fitted to, and the loss of each iteration.
        """
        if self._trained_on is None:
            raise RuntimeError("No training summary available for this %s: it is the fitted "
                               "model's, and is not saved with it" % type(self).__name__)
        frame, losses = self._trained_on
        return MultilayerPerceptronClassificationTrainingSummary(*self._scored(frame),
                                                                 losses=losses)

    def _scored(self, frame: DataFrame) -> Tuple[DataFrame, str, str]:
        """Returns the rows with predictions, and the names of the columns of both."""
        model = self
        if not self.getPredictionCol():
            model = self.copy({self.getParam("predictionCol"): "prediction_" + self.uid})
        return model.transform(frame), model.getPredictionCol(), self.getLabelCol()

    def _row(self, value: Vector) -> Any:
        if not isinstance(value, Vector) or len(value) != self.numFeatures:
            found = "%d numbers" % len(value) if isinstance(value, Vector) else type(value).__name__
            raise InvalidArgumentError("found %s, expected a vector of %d numbers" %
                                       (found, self.numFeatures))
        return value.toArray().reshape(1, -1)

    def _vector(self, rows: Any, empty: float) -> DenseVector:
        places, size = _positions(self.classes)
        out = np.full(size, empty)
        out[places] = rows[0]
        return DenseVector(out)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        return EspalierModel._transform(self._current(), dataset)

    def _current(self) -> MultilayerPerceptronClassificationModel:
        """Returns the model with the current thresholds of the Param."""
        wanted = list(self.getOrDefault(self.thresholds)) if self.isDefined(self.thresholds) else []
        if wanted == list(self.model()._document.thresholds):
            return self
        if self._decided is None or wanted != list(self._decided.model()._document.thresholds):
            document = json.loads(self._bundle[0])
            document["spec"]["model"]["thresholds"] = wanted
            document.pop("thresholds", None)  # chosen by training
            try:
                self._decided = type(self)._of(json.dumps(document).encode(), self._bundle[1])
            except BadInputError as error:
                raise InvalidArgumentError(
                    "thresholds: found %s, expected one per class, %d: each at least 0, one at "
                    "most 0" % (wanted, len(self.classes))) from error
        self._decided._paramMap.clear()  # except for values set now
        self._decided._resetUid(self.uid)
        return self._copyValues(self._decided)

    @classmethod
    def read(cls) -> MLReader:
        return _Reader()


class _Reader(MLReader):
    """Reads files that EspalierModel's writer writes."""

    def load(self, path: str) -> MultilayerPerceptronClassificationModel:
        kind = MultilayerPerceptronClassificationModel
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession.sparkContext,
                                                    "%s.%s" % (kind.__module__, kind.__name__))
        model: Any = kind.from_bundle(path + "/bundle")
        model._summary = read_summary(path)
        model._resetUid(metadata["uid"])
        model.clear(model.thresholds)  # the saved model says whether it has thresholds
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model  # type: ignore[no-any-return]
