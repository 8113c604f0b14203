"""Espalier for Spark: Estimators that only submit.

>>> from espalier.spark import EspalierClassifier
>>> classifier = EspalierClassifier(coordinator="head:7700", hiddenLayers=[256, 256], maxIter=20,
...                                 workDirectory="hdfs:///tmp/espalier")
>>> model = classifier.fit(frame)          # a job of the cluster; no executor computes a gradient
>>> model.transform(frame)                 # in the executors, by NumPy

``fit`` writes the columns it needs as Parquet where the cluster's workers see them, submits a job,
follows it, and removes what it wrote. Estimators and models work in a ``Pipeline`` and in
``CrossValidator``, and are written and read as Spark's own.

The package comes with the client's wheel and needs pyspark 3.5, pandas and pyarrow; on executors
`espalier` must be importable (the wheel by ``--py-files``), and NumPy.
"""

from .estimator import EspalierClassifier, EspalierRegressor
from .model import EspalierModel

__all__ = ["EspalierClassifier", "EspalierModel", "EspalierRegressor"]
