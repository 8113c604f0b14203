#include "src/config/sweep_yaml.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/testing/says.h"

namespace espalier::config {
namespace {

const std::string kJob =
    "name: iris\npreset: none\n"
    "data: {train: iris.csv, label: y, validation: {fraction: 0.2}}\n"
    "model: {hidden: [8]}\n"
    "train: {optimizer: adam}\n"
    "output: elsewhere\n";

Result<Sweep> Parse(const std::string& text) {
  return ParseSweep(text, "sweep.yaml", "/data/ann",
                    [](const std::string& path) -> Result<std::string> {
                      if (path == "iris.yaml") return kJob;
                      return NotFound("cannot read the job file " + path);
                    });
}

Sweep Parsed(const std::string& text) {
  auto sweep = Parse("job: iris.yaml\noutput: out\n" + text);
  INFO(text << "\n" << sweep.status().ToString());
  REQUIRE(sweep.ok());
  return *std::move(sweep);
}

std::string Error(const std::string& text) {
  const auto sweep = Parse(text);
  return sweep.ok() ? "OK" : sweep.status().ToString();
}

TEST_CASE("a grid makes every combination, the last key first") {
  const Sweep sweep = Parsed(
      "grid:\n  train.optimizer.adam.learning_rate: [1e-3, 1e-2]\n  model.hidden: [[8], [16, "
      "4]]\n");
  CHECK(sweep.name == "iris");
  CHECK(sweep.output == "/data/ann/out");
  CHECK(sweep.metric == "val_loss");
  CHECK(sweep.keys ==
        std::vector<std::string>{"train.optimizer.adam.learning_rate", "model.hidden"});
  CHECK(sweep.values ==
        std::vector<std::vector<std::string>>{
            {"1e-3", "[8]"}, {"1e-3", "[16, 4]"}, {"1e-2", "[8]"}, {"1e-2", "[16, 4]"}});
  REQUIRE(sweep.runs.size() == 4);
  const SweepRun& last = sweep.runs[3];
  CHECK(last.name == "trial-004");
  CHECK_FALSE(last.fold);
  CHECK(last.spec.train.optimizer.learning_rate == 1e-2);
  CHECK(last.spec.model.hidden == std::vector<int64_t>{16, 4});
  CHECK(last.spec.output == spec::OutputSpec{"/data/ann/out/trial-004", false});
  CHECK(last.spec.data.train == std::vector<std::string>{"/data/ann/iris.csv"});
  CHECK(last.spec.data.validation.fraction == 0.2);
}

TEST_CASE("folds replace the job's validation rows") {
  const Sweep sweep = Parsed("folds: 3\nmetric: val_accuracy\nparallel: 2\n");
  CHECK(sweep.trials() == 1);
  CHECK(sweep.parallel == 2);
  REQUIRE(sweep.runs.size() == 3);
  for (int64_t fold = 0; fold < 3; ++fold) {
    const SweepRun& run = sweep.runs[static_cast<size_t>(fold)];
    CHECK(run.fold == fold);
    CHECK(run.name == "trial-001/fold-" + std::to_string(fold));
    spec::ValidationSpec expected;
    expected.fold = fold, expected.of = 3;
    CHECK(run.spec.data.validation == expected);
  }
}

TEST_CASE("folds may have the same share of each class") {
  const Sweep sweep = Parsed("folds: 2\nstratify: true\n");
  spec::ValidationSpec expected;
  expected.fold = 1, expected.of = 2, expected.stratify = true;
  CHECK(sweep.runs.at(1).spec.data.validation == expected);
  CHECK(Parsed("folds: 2\nstratify: false\n").runs[1].yaml == Parsed("folds: 2\n").runs[1].yaml);
}

TEST_CASE("refit adds one job for each trial, with the job's rows") {
  const std::string text = "folds: 2\ngrid: {train.batch: [32, 64]}\n";
  CHECK(Parsed(text).refits.empty());
  CHECK(Parsed(text + "refit: false\n").refits.empty());
  const Sweep sweep = Parsed(text + "refit: true\n");
  CHECK(sweep.runs.size() == 4);
  REQUIRE(sweep.refits.size() == 2);
  for (int64_t trial = 0; trial < 2; ++trial) {
    const SweepRun& refit = sweep.refits[static_cast<size_t>(trial)];
    CHECK(refit.refit);
    CHECK(refit.trial == trial);
    CHECK_FALSE(refit.fold);
    CHECK(refit.name == (trial == 0 ? "best-001" : "best-002"));
    CHECK(refit.spec.output.path == "/data/ann/out/" + refit.name);
    CHECK(refit.spec.train.batch == (trial == 0 ? 32 : 64));
    CHECK(refit.spec.data.validation.fraction == 0.2);
    CHECK_FALSE(sweep.runs[static_cast<size_t>(trial)].refit);
  }
}

TEST_CASE("random values are in their ranges and follow the seed") {
  const std::string keys =
      "keys: {train.batch: [32, 64], model.dropout: {uniform: [0.1, 0.5]}, train.leaves: {whole: "
      "[1, 8]}, train.optimizer.adam.learning_rate: {log_uniform: [1e-4, 1e-1]}}}\n";
  const Sweep sweep = Parsed("random: {trials: 200, seed: 3, " + keys);
  CHECK(sweep.trials() == 200);
  std::set<int64_t> batches, leaves;
  int small = 0;
  for (const SweepRun& run : sweep.runs) {
    batches.insert(run.spec.train.batch);
    leaves.insert(*run.spec.train.leaves);
    CHECK((run.spec.model.dropout[0] >= 0.1 && run.spec.model.dropout[0] <= 0.5));
    const double rate = run.spec.train.optimizer.learning_rate;
    CHECK((rate >= 1e-4 && rate <= 1e-1));
    small += rate < 3.1623e-3;
  }
  CHECK(batches == std::set<int64_t>{32, 64});
  CHECK(leaves == std::set<int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK((small > 70 && small < 130));  // half of the decades
  CHECK(Parsed("random: {trials: 200, seed: 3, " + keys).values == sweep.values);
  CHECK_FALSE(Parsed("random: {trials: 200, seed: 4, " + keys).values == sweep.values);
}

TEST_CASE("a short form in the job is kept if a part of it is varied") {
  const std::string job =
      "job: {data: {train: t.csv, label: y, features: [age, bmi], validation: {fraction: 0.2}}, "
      "train: {optimizer: adam}}\noutput: out\n";
  const auto sweep = Parse(job +
                           "grid: {data.features.scale: [robust], train.optimizer.sgd."
                           "learning_rate: [0.25]}\n");
  INFO(sweep.status().ToString());
  REQUIRE(sweep.ok());
  const spec::JobSpec& spec = sweep->runs[0].spec;
  CHECK(spec.data.features.columns ==
        std::vector<spec::ColumnPattern>{std::string("age"), std::string("bmi")});
  CHECK(spec.data.features.scale.kind == spec::ScaleKind::kRobust);
  CHECK(spec.train.optimizer.learning_rate == 0.25);
}

TEST_CASE("a sweep may contain its job") {
  const auto sweep =
      Parse("job: {data: {train: t.csv, label: y}}\noutput: hdfs://nn/out\nfolds: 2\n");
  INFO(sweep.status().ToString());
  REQUIRE(sweep.ok());
  CHECK(sweep->output == "hdfs://nn/out");
  CHECK(sweep->runs[1].spec.output.path == "hdfs://nn/out/trial-001/fold-1");
}

TEST_CASE("an invalid sweep is one clear error") {
  const std::string start = "job: iris.yaml\noutput: out\n";
  const std::pair<std::string, std::string> cases[] = {
      {"output: out\nfolds: 2\n", "job: found nothing"},
      {"job: none.yaml\noutput: out\nfolds: 2\n", "cannot read the job file none.yaml"},
      {"job: iris.yaml\nfolds: 2\n", "output: found nothing, expected a directory"},
      {start, "grid: found nothing to vary"},
      {start + "gird: {a: [1]}\n", "did you mean 'grid'?"},
      {start + "grid: {}\n", "expected keys of the job"},
      {start + "grid: {train.batch: 32}\n", "such as [32, 64]"},
      {start + "grid: {train.batch: []}\n", "expected a list of values"},
      {start + "grid: {train.batch: {uniform: [1, 2]}}\n", "expected a list of values"},
      {start + "grid: {output: [a, b]}\n", "which differs in each trial"},
      {start + "grid: {train..batch: [1]}\n", "expected one like train.batch"},
      {start + "grid: {train: [{batch: 1}], train.batch: [1]}\n", "overlaps 'train'"},
      {start + "grid: {train.batch: [32]}\nrandom: {trials: 2, keys: {train.l1: [0]}}\n",
       "expected one of them"},
      {start + "random: {trials: 2}\n", "`trials: N` and `keys: {..}`"},
      {start + "random: {trials: 2, keys: {train.l1: {uniform: [1, 0]}}}\n",
       "expected two numbers, the smaller one first"},
      {start + "random: {trials: 2, keys: {train.l1: {log_uniform: [0, 1]}}}\n",
       "expected two numbers above 0"},
      {start + "random: {trials: 2, keys: {train.l1: {whole: [0, 1.5]}}}\n",
       "expected two whole numbers"},
      {start + "folds: 1\n", "folds: found 1 ... 2 to 10000"},
      {start + "folds: 2\nparallel: 0\n", "parallel: found 0"},
      {start + "grid: {train.batch: [8]}\nstratify: true\n", "stratify: found true without folds"},
      {start + "folds: 2\nstratify: 2\n", "stratify: found '2', expected true or false"},
      {"job: {data: {train: t.csv, label: [y, z]}, model: {task: regression}}\noutput: o\n"
       "folds: 2\nstratify: true\n",
       "expected it with one label"},
      {start + "refit: true\ngrid: {train.batch: [1]}\n", "refit: found true without folds"},
      {"job: {data: {train: t.csv, label: y}, train: {calibrate: true}}\n"
       "output: o\nfolds: 2\nrefit: true\n",
       "without folds, of trial 1"},
      {start + "folds: 1000\ngrid: {train.seed: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}\n",
       "makes 11000 jobs with its folds"},
      {start + "folds: 2\nmetric: val_acuracy\n", "did you mean 'val_accuracy'?"},
      {"job: {preset: none, data: {train: t.csv, label: y}}\noutput: o\n"
       "grid: {train.batch: [1]}\n",
       "no validation rows ... `folds: 5`"},
      {start + "grid: {train.batch: [32, 0]}\n", "sweep.yaml: trial 2 (train.batch: 0)"},
      {start + "grid: {train.btach: [32]}\n", "did you mean 'batch'?"},
      {start + "grid: {model.hidden.width: [32]}\n", "model.hidden is a list"},
      {start + "folds: 2\ngrid: {data.validation.fraction: [0.1]}\n",
       "folds: found it next to ... data.validation.fraction"},
  };
  for (const auto& [text, words] : cases) {
    INFO(text);
    CHECK_THAT(Error(text), Says("... " + words));
  }
}

TEST_CASE("folds follow the group or the time of the job") {
  const auto made = [&](const std::string& text, const std::string& more) {
    auto sweep = ParseSweep("job: {" + more + "data: {train: t.csv, label: y, validation: " + text +
                                "}, output: e}\noutput: out\nfolds: 3\nrefit: true\n",
                            "sweep.yaml", "/data", {});
    INFO(sweep.status().ToString());
    REQUIRE(sweep.ok());
    return *std::move(sweep);
  };
  for (const std::string more : {"", "preset: none, train: {epochs: 2}, "}) {
    const Sweep groups = made("{group: customer, seed: 4}", more);
    REQUIRE(groups.runs.size() == 3);
    const spec::ValidationSpec& v = groups.runs[2].spec.data.validation;
    CHECK(v.group == spec::ColumnRef(std::string("customer")));
    CHECK((v.fold == 2 && v.of == 3 && v.seed == 4));
    CHECK_FALSE(groups.refits[0].spec.data.validation.any());
    const Sweep times = made("{time: day}", more);
    CHECK(times.runs[0].spec.data.validation.time == spec::ColumnRef(std::string("day")));
  }
}

TEST_CASE("without validation rows a refit trains on all rows") {
  for (const std::string validation : {"validation: none", "validation: ", "train: t.csv"}) {
    const auto sweep = ParseSweep("job:\n  data:\n    label: y\n    " + validation +
                                      (validation[0] == 't' ? "" : "\n    train: t.csv") +
                                      "\n  output: e\n  train: {early_stopping: {patience: 3}}\n"
                                      "output: out\nfolds: 3\nrefit: true\n",
                                  "sweep.yaml", "/data", {});
    INFO(validation << ": " << sweep.status().ToString());
    REQUIRE(sweep.ok());
    CHECK_FALSE(sweep->refits[0].spec.data.validation.any());
    CHECK_FALSE(sweep->refits[0].spec.train.early_stopping);
  }
}

TEST_CASE("without validation rows a refit does not stop early") {
  const auto sweep = ParseSweep(
      "job: {preset: none, data: {train: t.csv, label: y}, output: e,\n"
      "  train: {steps: 500, early_stopping: {metric: val_loss, patience: 3}}}\n"
      "output: out\nfolds: 3\nrefit: true\n",
      "sweep.yaml", "/data", {});
  INFO(sweep.status().ToString());
  REQUIRE(sweep.ok());
  CHECK(sweep->runs[0].spec.train.early_stopping);
  SweepRun refit = sweep->refits[0];
  CHECK_FALSE(refit.spec.train.early_stopping);
  REQUIRE(SetEpochs(12, &refit).ok());
  CHECK(refit.spec.train.epochs == 12);
  CHECK_FALSE(refit.spec.train.steps);
  CHECK(refit.spec.output.path == "/data/out/best-001");
  CHECK(SetEpochs(-1, &refit).code() == StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::config
