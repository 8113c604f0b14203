// The section `compat` of a job's YAML: the job that it gives, and its errors.
#include <catch2/catch.hpp>
#include <string>

#include "tests/config/parsed_job.h"
#include "tests/testing/says.h"

namespace espalier::config {
namespace {

const std::string kSpark =
    "data: {train: t.txt, format: libsvm}\noutput: m\ncompat: {spark-mlp: {layers: [4, 5, 4, 3]";

TEST_CASE("spark-mlp equals the same job in Espalier's keys") {
  const spec::JobSpec job = Parsed(kSpark +
                                   ", maxIter: 50, tol: 1e-4, blockSize: 32, seed: 7, thresholds: "
                                   "[0.2, 0.5, 0]}}");
  spec::JobSpec same = Parsed(
      "data: {train: t.txt, format: libsvm, label: 0, features: {columns: '1..4', scale: none}}\n"
      "output: m\n"
      "model: {hidden: [5, 4], activation: sigmoid, loss: softmax_cross_entropy, precision: "
      "float64}\n"
      "train: {optimizer: {lbfgs: {max_iterations: 50, tolerance: 1e-4}}, seed: 7}\n");
  same.model.expected_inputs = 4;
  same.model.expected_outputs = 3;
  same.model.thresholds = {0.2, 0.5, 0};
  CHECK(job == same);
  CHECK(job.train.batch == 8192);
  CHECK_FALSE(spec::EpochLimit(job.train));
}

TEST_CASE("spark-mlp has Spark's defaults, and gd as its other solver") {
  const spec::JobSpec job = Parsed(kSpark + "}}");
  CHECK(job.train.optimizer.max_iterations == 100);
  CHECK(job.train.optimizer.tolerance == 1e-6);
  CHECK(job.train.optimizer.history == 10);
  const spec::JobSpec gd = Parsed(kSpark + ", solver: gd, maxIter: 20}}");
  CHECK(gd.train.optimizer.kind == spec::OptimizerKind::kGd);
  CHECK(gd.train.optimizer.learning_rate == 0.03);
  CHECK(gd.train.optimizer.step_tolerance == 1e-6);
  CHECK(job.train.optimizer.step_tolerance == 0);
  CHECK(gd.train.epochs == 20.0);
  CHECK(gd.train.batch == 8192);
  CHECK(Parsed(kSpark + ", solver: gd, stepSize: 0.5}}").train.optimizer.learning_rate == 0.5);
  CHECK(Parsed(kSpark + ", solver: gd, tol: 0}}").train.optimizer.step_tolerance == 0);
}

TEST_CASE("spark-mlp keeps keys of data and train that it does not set") {
  const spec::JobSpec job = Parsed(
      "data: {train: t.csv, label: y, features: {columns: [a, b]}}\noutput: m\n"
      "compat: {spark-mlp: {layers: [2, 3]}}\n"
      "train: {batch: 64, max_time: 1 min, checkpoint: {every_steps: 5}}\n");
  CHECK(job.model.hidden.empty());
  CHECK(job.data.features.columns.size() == 2);
  CHECK(job.data.features.scale.kind == spec::ScaleKind::kNone);
  CHECK(job.train.batch == 64);
  CHECK(job.train.optimizer.kind == spec::OptimizerKind::kLbfgs);
}

TEST_CASE("spark-mlp takes its first weights from a list or a file") {
  const std::string head =
      "data: {train: t, label: y}\noutput: m\ncompat: {spark-mlp: {layers: [1, 2], ";
  const spec::InitialSpec list =
      *Parsed(head + "initialWeights: [1, -2.5, 3, 4e-1]}}").train.initial;
  CHECK(list.spark);
  CHECK(list.values == std::vector<double>{1, -2.5, 3, 0.4});
  const spec::InitialSpec file = *Parsed(head + "initialWeights: w.txt}}").train.initial;
  CHECK(file.spark);
  CHECK(file.from == "w.txt");
  const auto absolute = MakePathsAbsolute(head + "initialWeights: w.txt}}", "/jobs/a");
  CHECK(Parsed(*absolute).train.initial->from == "/jobs/a/w.txt");
  CHECK(Parsed(*MakePathsAbsolute(head + "initialWeights: [1, 2, 3, 4]}}", "/b"))
            .train.initial->values.size() == 4);
}

TEST_CASE("an error in spark-mlp is one message with its place") {
  const std::string at = "job.yaml:3:", path = "compat.spark-mlp.";
  const std::pair<std::string, std::string> rows[] = {
      {", maxIter: 0}}", at + "53: " + path + "maxIter: found '0' ... 1 to 1000000000"},
      {", solver: newton}}",
       at + "52: " + path + "solver: unknown value 'newton'; expected one of l-bfgs, gd"},
      {", maxIters: 5}}", at + "44: unknown key 'maxIters'; did you mean 'maxIter'?"},
      {", tol: -1}}", at + "49: " + path + "tol: found '-1' ... at least 0"},
      {", initialWeights: [1, 2]}}", at + "44: " + path + "initialWeights: found 2 numbers ... 64"},
      {", thresholds: [1, 2]}}",
       at + "44: " + path + "thresholds: found 2 numbers ... one per class, 3"},
      {", thresholds: [0, 1, 0]}}",
       at + "44: " + path + "thresholds: found 3 numbers ... one per class, 3"},
      {"}}\nmodel: {hidden: [3]}", "job.yaml:4:8: model: found a map ... compat.spark-mlp.layers"},
      {"}}\ntrain: {seed: 3}", "job.yaml:4:15: train.seed: found together with compat.spark-mlp"},
  };
  for (const auto& [text, message] : rows) CHECK_THAT(Error(kSpark + text), Says(message));
  CHECK_THAT(Error(kHead + "compat: {spark-mlp: {layers: [4]}}"),
             Says("job.yaml:3:22: compat.spark-mlp.layers: found 1 numbers, expected 2 to 66"));
  CHECK_THAT(Error(kHead + "compat: {spark-mlp: {layers: [4, 0, 3]}}"),
             Says("job.yaml:3:22: compat.spark-mlp.layers: found a layer without units"));
  CHECK_THAT(
      Error(kHead + "compat: spark-mlp"),
      Says(
          "job.yaml:3:9: compat.spark-mlp: found 'spark-mlp', expected a map with its parameters"));
  CHECK_THAT(
      Error(kHead + "compat: {horovod: {}}"),
      Says(
          "job.yaml:3:10: compat: unknown value 'horovod'; expected one of spark-mlp, sparktorch"));
  CHECK_THAT(Error(kHead + "compat: [1]"),
             Says("job.yaml:3:9: compat: found a list, expected one of spark-mlp, sparktorch"));
}

const std::string kTorch = kHead + "model: {hidden: [8]}\ncompat: {sparktorch: {";

TEST_CASE("sparktorch's iterations are steps of miniBatch rows") {
  const spec::JobSpec job = Parsed(kTorch +
                                   "iters: 500, miniBatch: 64, partitions: 4, validationPct: 0.2, "
                                   "earlyStopPatience: 20, verbose: 1, mode: synchronous}}\n"
                                   "train: {optimizer: {sgd: {learning_rate: 0.1}}}");
  CHECK(job.train.steps == 500);
  CHECK_FALSE(job.train.epochs);
  CHECK(job.train.batch == 256);
  CHECK(job.train.optimizer.kind == spec::OptimizerKind::kSgd);
  CHECK(job.workers.max == 4);
  CHECK(job.data.validation.fraction == 0.2);
  CHECK(job.train.early_stopping->patience == 20);
  CHECK(job.model.hidden == std::vector<int64_t>{8});
  CHECK(Parsed(kTorch + "iters: 5, miniBatch: 64, partitions: 4, partitionShuffles: 3}}")
            .train.steps == 15);
  // The number of workers may differ, because the bits are the same.
  CHECK(Parsed(kTorch + "miniBatch: 64, partitions: 4}}\nworkers: {max: 2}").workers.max == 2);
}

TEST_CASE("sparktorch without miniBatch updates from all rows") {
  const spec::JobSpec job = Parsed(kTorch + "iters: 25, earlyStopPatience: -1}}");
  CHECK(job.train.epochs == 25.0);
  CHECK_FALSE(job.train.steps);
  CHECK(job.train.accumulate_steps > 1'000'000);
  CHECK(job.workers.max == 0);
  CHECK_FALSE(job.train.early_stopping);
}

TEST_CASE("sparktorch's patience is for validation or training loss") {
  const spec::JobSpec job = Parsed(kTorch + "iters: 25, earlyStopPatience: 3}}");
  CHECK(job.train.early_stopping->metric == "loss");
  CHECK(job.train.early_stopping->patience == 3);
  CHECK(
      Parsed(kTorch + "validationPct: 0.1, earlyStopPatience: 3}}").train.early_stopping->metric ==
      "val_loss");
}

TEST_CASE("sparktorch's hogwild is asynchronous with all iterations") {
  const spec::JobSpec job =
      Parsed(kTorch + "iters: 50, miniBatch: 64, partitions: 4, mode: hogwild}}");
  CHECK(job.train.mode == spec::TrainMode::kAsync);
  CHECK(job.train.batch == 64);
  CHECK(job.train.steps == 200);
  CHECK(job.workers.max == 4);
  CHECK(job.train.accumulate_steps == 1);
}

TEST_CASE("unsupported sparktorch options are refused") {
  CHECK_THAT(Error(kTorch + "mode: hogwild}}"),
             Says("job.yaml:4:29: compat.sparktorch.mode: found hogwild without miniBatch ... "
                  "divided by partitions"));
  CHECK(
      Error(kTorch + "iters: 5}}\ntrain: {mode: async}").find("together with compat.sparktorch") !=
      std::string::npos);
  CHECK_THAT(
      Error(kTorch + "miniBatch: 3}}"),
      Says("job.yaml:4:34: compat.sparktorch.miniBatch: found it without partitions ... both"));
  for (const char* optimizer : {"lbfgs", "{lbfgs: {history: 5}}"}) {
    CHECK_THAT(Error(kTorch + "iters: 5}}\ntrain: {optimizer: " + optimizer + "}"),
               Says("job.yaml:5:20: train.optimizer: found lbfgs together with compat.sparktorch "
                    "... without miniBatch"));
  }
  CHECK_THAT(
      Error(kTorch + "mode: hogwild, miniBatch: 8, partitions: 2}}\ntrain: {optimizer: gd}"),
      Says("job.yaml:5:20: train.optimizer: found gd together with compat.sparktorch ... hogwild"));
  CHECK_THAT(Error(kTorch + "miniBatch: 0}}"),
             Says("job.yaml:4:34: compat.sparktorch.miniBatch: found '0' ... -1 ... 1 to 1048576"));
  CHECK_THAT(Error(kTorch + "iters: 5}}\ntrain: {epochs: 3}"),
             Says("job.yaml:5:17: train.epochs: found together with compat.sparktorch"));
  CHECK_THAT(Error("data: {train: t, label: y, validation: {fraction: 0.1}}\noutput: m\n"
                   "compat: {sparktorch: {validationPct: 0.2}}"),
             Says("job.yaml:1:40: data.validation: found together with compat.sparktorch"));
}

}  // namespace
}  // namespace espalier::config
