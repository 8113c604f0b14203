"""Trains MNIST with EspalierClassifier and with Spark's own MultilayerPerceptronClassifier, in one
Spark application, on the same cached frames and with the same layers. tools/bench runs it in a
Python with PySpark.

usage: bench_spark_program.py COORDINATOR WORK MNIST GOAL LIMIT_S ROUNDS

  COORDINATOR   address, as for EspalierClassifier
  WORK          workDirectory of EspalierClassifier
  MNIST         folder of mnist.py
  GOAL          share of correct test rows that ends the measurement
  LIMIT_S       time limit of Spark's perceptron in seconds
  ROUNDS        number of measurements

The times do not include the evaluation of models. EspalierClassifier is fitted from the start with
1, 2, 3, ... epochs. The measurement is the time of the fit that reaches the goal, from the frame to
the model. Spark reports nothing about a model during its training, so its perceptron runs in rounds
of ITERATIONS iterations. Each round continues with the previous weights, until the goal or LIMIT_S
is reached. The last line of standard output is a JSON object.
"""
import json
import statistics
import sys

from pyspark.ml.classification import MultilayerPerceptronClassifier
from pyspark.ml.evaluation import MulticlassClassificationEvaluator

from bench_spark_frames import CLASSES, HIDDEN, PIXELS, digits, session, timed
from espalier.spark import EspalierClassifier

EPOCHS_MAX = 10
ITERATIONS = 20  # iterations of Spark's perceptron in a round


def accuracy(model, test):
    return MulticlassClassificationEvaluator(metricName="accuracy").evaluate(model.transform(test))


def ours(train, test, goal, coordinator, work, rounds):
    """Returns the model and the times of the fits with the same number of epochs."""
    estimator = EspalierClassifier(
        coordinator=coordinator, workDirectory=work, hiddenLayers=HIDDEN, scale="none",
        stepSize=2e-3, batchSize=256, seed=1, verbose=False)
    for epochs in range(1, EPOCHS_MAX + 1):
        model, seconds = timed(lambda: estimator.setMaxIter(epochs).fit(train))
        right = accuracy(model, test)
        if right >= goal:
            break
    walls = [seconds] + [timed(lambda: estimator.fit(train))[1] for _ in range(rounds - 1)]
    return model, {"seconds": statistics.median(walls), "accuracy": right, "epochs": epochs,
                   "step_ms": model.result.timing.step_ms_p50}


def sparks_own(train, test, goal, limit_s):
    weights, total, iterations, right = None, 0.0, 0, 0.0
    while right < goal and total < limit_s:
        estimator = MultilayerPerceptronClassifier(
            layers=[PIXELS] + HIDDEN + [CLASSES], maxIter=ITERATIONS, seed=1)
        if weights is not None:
            estimator.setInitialWeights(weights)
        model, seconds = timed(lambda: estimator.fit(train))
        weights, total, iterations = model.weights, total + seconds, iterations + ITERATIONS
        right = accuracy(model, test)
        print("Spark's perceptron: %d iterations, %.0f s, %.2f %% right" %
              (iterations, total, 100 * right), flush=True)
    return model, {"seconds": total, "accuracy": right, "iterations": iterations}


def score(model, frame):
    """Returns the seconds for scoring all rows without writing them."""
    columns = ["prediction", "probability"]
    return timed(lambda: model.transform(frame).select(columns).write.format("noop")
                 .mode("overwrite").save())[1]


def main(coordinator, work, mnist, goal, limit_s, rounds):
    spark = session()
    train, test = (digits(spark, "%s/%s" % (mnist, part)) for part in ("train", "test"))
    found, models = {}, {}
    models["ours"], found["ours"] = ours(train, test, goal, coordinator, work, rounds)
    models["spark"], found["spark"] = sparks_own(train, test, goal, limit_s)
    times = {name: [] for name in models}
    for turn in range(rounds + 1):
        for name, model in models.items():
            seconds = score(model, train)
            if turn:  # the first turn warms up
                times[name].append(seconds)
    for name, seconds in times.items():
        found[name]["rows_per_s"] = train.count() / statistics.median(seconds)
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    main(*sys.argv[1:4], float(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6]))
