"""Trains the MNIST of bench_spark_program.py with SparkTorch's synchronous mode, on the same number
of threads. tools/bench runs it in a Python with SparkTorch.

usage: bench_sparktorch_program.py MNIST GOAL LIMIT_S

Fits of FEW and of MANY steps measure the time of a step. Then each fit begins from the start with
twice as many steps as the previous one. The fits end when the share GOAL of the test rows is
correct, or when the next fit would exceed LIMIT_S. Accuracy is measured on TEST_ROWS rows, because
SparkTorch scores row by row. The last line of standard output is a JSON object.
"""
import json
import sys

import torch
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from sparktorch import SparkTorch, serialize_torch_obj

from bench_spark_frames import CLASSES, HIDDEN, PIXELS, digits, session, timed

FEW, MANY = 20, 240
BATCH = 128  # rows per partition; two partitions make 256 per step
TEST_ROWS = 1000


def estimator(steps):
    layers = []
    for before, width in zip([PIXELS] + HIDDEN, HIDDEN):
        layers += [torch.nn.Linear(before, width), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers, torch.nn.Linear(HIDDEN[-1], CLASSES))
    described = serialize_torch_obj(model=network, criterion=torch.nn.CrossEntropyLoss(),
                                    optimizer=torch.optim.Adam, lr=2e-3)
    return SparkTorch(inputCol="features", labelCol="label", predictionCol="prediction",
                      torchObj=described, iters=steps, partitions=2, miniBatch=BATCH,
                      useBarrier=True, mode="synchronous")


def main(mnist, goal, limit_s):
    torch.manual_seed(1)
    spark = session()
    train, test = (digits(spark, "%s/%s" % (mnist, part)) for part in ("train", "test"))
    test = test.limit(TEST_ROWS).repartition(2).cache()
    test.count()
    estimator(FEW).fit(train)  # starts the Python workers
    fits = {steps: timed(lambda: estimator(steps).fit(train))[1] for steps in (FEW, MANY)}
    step_s = (fits[MANY] - fits[FEW]) / (MANY - FEW)
    steps, right = MANY // 2, 0.0
    while right < goal and (steps < MANY or fits[FEW] + 2 * steps * step_s < limit_s):
        steps *= 2
        model, seconds = timed(lambda: estimator(steps).fit(train))
        right = MulticlassClassificationEvaluator(metricName="accuracy").evaluate(
            model.transform(test))
        print("SparkTorch: %d steps, %.0f s, %.2f %% right" % (steps, seconds, 100 * right),
              flush=True)
    score_s = timed(lambda: model.transform(test).select("prediction").write.format("noop")
                    .mode("overwrite").save())[1]
    spark.stop()
    print(json.dumps({"seconds": seconds, "accuracy": right, "steps": steps,
                      "step_ms": 1000 * step_s, "rows_per_s": TEST_ROWS / score_s}))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
