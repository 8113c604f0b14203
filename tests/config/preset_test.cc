// Presets: the keys that they fill and keep, and that a filled job stays equal.
#include "src/config/preset.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "src/config/job_yaml.h"

namespace espalier::config {
namespace {

using spec::Task;

const std::string kMinimal = "data: {train: a.csv, label: y}\noutput: m\n";

JobRequest::Filled Filled(const std::string& yaml, const TableOutlook& outlook) {
  const auto request = JobRequest::Read(yaml, "job.yaml");
  INFO(yaml);
  INFO(request.status().ToString());
  REQUIRE(request.ok());
  auto filled = request->Fill(outlook);
  INFO(filled.status().ToString());
  REQUIRE(filled.ok());
  return *std::move(filled);
}

spec::JobSpec Job(const std::string& yaml,
                  const TableOutlook& outlook = {.rows = 10'000, .features = 20}) {
  return Filled(yaml, outlook).job;
}

std::string Error(const std::string& yaml) {
  const auto request = JobRequest::Read(yaml, "job.yaml");
  if (!request.ok()) return request.status().message();
  return request->Fill(request->Likely()).status().message();
}

TEST_CASE("a preset makes a valid job of every task and size") {
  for (const Task task : {Task::kClassification, Task::kRegression, Task::kMultilabel}) {
    for (const int64_t rows : {0, 1, 40, 60, 1'000, 5'000, 100'000, 10'000'000}) {
      for (const int64_t features : {1, 200, 201, 1'000, 1'001, 50'000}) {
        for (const bool exact : {true, false}) {
          const TableOutlook outlook = {
              .task = task, .rows = rows, .exact = exact, .features = features};
          const auto filled = Filled(kMinimal, outlook);
          CHECK(filled.job.preset == spec::Preset::kGood);
          CHECK(filled.job.model.task == task);
          const auto kept = ParseJob(filled.yaml, "job");
          REQUIRE(kept.ok());
          CHECK(*kept == filled.job);
          CHECK(Filled(filled.yaml, outlook).job == filled.job);  // nothing left to fill
        }
      }
    }
  }
  const auto itself = Filled("data: {train: a.csv}\nmodel: {task: autoencoder}\noutput: m\n",
                             {.task = Task::kAutoencoder, .rows = 500, .features = 9});
  CHECK(itself.job.data.features.numbers.embedding == spec::NumberEmbedding::kNone);
}

TEST_CASE("a job of three lines gets the recommended settings") {
  const spec::JobSpec job = Job(kMinimal);
  CHECK(job.model.hidden == std::vector<int64_t>{128, 128, 128});
  CHECK(job.model.parametrization == spec::Parametrization::kNtp);
  CHECK(job.train.optimizer.kind == spec::OptimizerKind::kAdamW);
  CHECK(job.train.optimizer.learning_rate == 0.03);
  CHECK(job.train.batch == 0);
  CHECK(job.train.epochs == 0.0);
  CHECK(job.train.schedule.warmup_share == 0.05);
  REQUIRE(job.train.early_stopping);
  CHECK(job.train.early_stopping->restore_best);
  CHECK(job.data.validation.fraction == 0.1);
  CHECK(job.data.validation.stratify);
  CHECK(job.data.features.numbers.embedding == spec::NumberEmbedding::kPiecewiseLinear);
  CHECK(job.data.features.categories.embedding == 8);
  CHECK(job.data.features.nulls.kind == spec::NullKind::kMedian);
}

TEST_CASE("small tables and the preset best get several fits") {
  const auto job = [](const std::string& more, int64_t rows) {
    return Job(kMinimal + more, {.rows = rows, .features = 9});
  };
  CHECK(job("", 40).train.ensemble == spec::EnsembleSpec());
  CHECK(job("", 500).train.ensemble == spec::EnsembleSpec{.fits = 5, .shrink = true});
  CHECK(job("", 5'000).train.ensemble == spec::EnsembleSpec{.fits = 5});
  CHECK_FALSE(job("", 5'000).data.validation.any());
  REQUIRE(job("", 5'000).train.early_stopping);
  CHECK(job("", 8'000).train.ensemble == spec::EnsembleSpec());
  CHECK(job("", 8'000).train.calibrate);
  CHECK(job("preset: best\n", 8'000).train.ensemble == spec::EnsembleSpec{.fits = 8, .folds = 10});
  CHECK(job("preset: fast\n", 500).train.ensemble == spec::EnsembleSpec());
  CHECK_FALSE(job("preset: fast\n", 500).train.calibrate);
  for (const char* single : {"{max_time: 5 min}", "{mode: async}", "{optimizer: lbfgs}"}) {
    INFO(single);
    CHECK(job(std::string("train: ") + single + "\n", 500).train.ensemble == spec::EnsembleSpec());
  }
  CHECK(job("train: {ensemble: {fits: 1}}\n", 500).data.validation.fraction == 0.2);
  const std::string given =
      "data: {train: a.csv, label: y, validation: {files: v.csv}}\noutput: m\n";
  CHECK(Job(given, {.rows = 500}).train.ensemble == spec::EnsembleSpec());
  CHECK(Job("preset: best\n" + given, {.rows = 500}).train.ensemble ==
        spec::EnsembleSpec{.fits = 8, .over = spec::FitsOver::kSeeds});
}

TEST_CASE("a given key replaces only that key") {
  const spec::JobSpec plain = Job(kMinimal);
  struct Case {
    std::string more;
    void (*change)(spec::JobSpec&);
  };
  const std::vector<Case> cases = {
      {"model: {hidden: [7]}\n", [](spec::JobSpec& j) { j.model.hidden = {7}; }},
      {"model: {activation: tanh}\n",
       [](spec::JobSpec& j) { j.model.activation = {spec::Activation::kTanh}; }},
      {"model: {scaling_layer: false}\n", [](spec::JobSpec& j) { j.model.scaling_layer = false; }},
      {"train: {epochs: 3}\n", [](spec::JobSpec& j) { j.train.epochs = 3; }},
      {"train: {weight_decay: 0.5}\n", [](spec::JobSpec& j) { j.train.weight_decay = 0.5; }},
      {"train: {schedule: constant}\n", [](spec::JobSpec& j) { j.train.schedule = {}; }},
      {"train: {seed: 9}\n", [](spec::JobSpec& j) { j.train.seed = 9; }},
      {"model: {task: auto}\n", [](spec::JobSpec&) {}},
  };
  for (const Case& c : cases) {
    INFO(c.more);
    spec::JobSpec expected = plain;
    c.change(expected);
    CHECK(Job(kMinimal + c.more) == expected);
  }
  spec::JobSpec columns = plain;
  columns.data.features.columns = {std::string("x")};
  CHECK(Job("data: {train: a.csv, label: y, features: x}\noutput: m\n") == columns);
  const spec::JobSpec all_rows =
      Job("data: {train: a.csv, label: y, validation: none}\noutput: m\n");
  CHECK_FALSE(all_rows.data.validation.any());
  CHECK_FALSE(all_rows.train.early_stopping);
  const spec::JobSpec batch = Job(kMinimal + "train: {batch: 1024}\n");
  CHECK(batch.train.batch == 1024);
  CHECK_FALSE(batch.train.leaves);
}

TEST_CASE("a given optimizer brings its rate and start weights") {
  const spec::JobSpec job = Job(kMinimal + "train: {optimizer: sgd}\n");
  CHECK(job.train.optimizer == spec::DefaultOptimizer(spec::OptimizerKind::kSgd));
  CHECK(job.model.parametrization == spec::Parametrization::kStandard);
  CHECK(job.model.init == spec::Init::kXavier);
  CHECK(job.train.weight_decay == 0);
  CHECK(job.train.rate_by_batch == spec::RateByBatch::kNone);
  CHECK(job.train.schedule.kind == spec::ScheduleKind::kCosine);
  for (const std::string kind : {"lbfgs", "gd"}) {
    const spec::JobSpec whole = Job(kMinimal + "train: {optimizer: " + kind + "}\n");
    CHECK(whole.model.hidden.empty());
    CHECK(whole.train.schedule == spec::ScheduleSpec());
    CHECK(whole.train.batch == 8192);
    CHECK_FALSE(whole.data.validation.any());
  }
}

TEST_CASE("a job with a time limit has constant schedules") {
  const spec::JobSpec job = Job(kMinimal + "train: {max_time: 5 min}\n");
  CHECK_FALSE(job.train.epochs);
  CHECK(job.train.schedule.kind == spec::ScheduleKind::kConstant);
  CHECK(job.train.weight_decay_schedule == spec::DecaySchedule::kConstant);
}

TEST_CASE("categories in groups are encoded like those outside") {
  const spec::JobSpec job = Job(R"(
data:
  train: a.csv
  label: y
  features: {groups: [{columns: c, type: categorical}, {columns: d, type: categorical, hash: 9},
                      {columns: e, type: date}]}
output: m
)");
  const auto& groups = job.data.features.groups;
  CHECK(static_cast<const spec::CategoryOptions&>(groups[0]) == job.data.features.categories);
  CHECK(groups[1].embedding == 0);
  CHECK(groups[1].min_count == 1);
  CHECK(groups[2].embedding == 0);
}

TEST_CASE("weights from a file fit the network that the job describes") {
  const std::string job =
      "data: {train: a.csv, label: y}\noutput: m\ntrain: {initial: w.safetensors}\n";
  CHECK(Filled(job, {.rows = 10'000}).yaml == job);
  CHECK(Filled("preset: good\n" + job, {.rows = 10'000}).job.model.hidden.size() == 3);
  const std::string layers = "{from: w.safetensors, layers: [1]}";
  const std::string some =
      "data: {train: a.csv, label: y}\noutput: m\ntrain: {initial: " + layers + "}\n";
  CHECK(Filled(some, {.rows = 10'000}).job.model.hidden.size() == 3);
  const std::string model = "data: {train: a.csv, label: y}\noutput: m\ntrain: {initial: old}\n";
  CHECK(Filled(model, {.rows = 10'000}).job.model.hidden.size() == 3);
}

TEST_CASE("preset none and compat leave a job unchanged") {
  const std::string none = "preset: none\n" + kMinimal;
  const auto filled = Filled(none, {.rows = 10'000});
  CHECK(filled.yaml == none);
  CHECK(filled.job == *ParseJob(kMinimal, "job"));
  const std::string compat =
      "compat: {spark-mlp: {layers: [4, 5, 3]}}\ndata: {train: a.csv, label: y}\noutput: m\n";
  const auto spark = Filled(compat, {.rows = 10'000});
  CHECK(spark.yaml == compat);
  CHECK(spark.job == *ParseJob(compat, "job"));
}

TEST_CASE("keys of one task select it") {
  const auto task = [](const std::string& more) {
    return JobRequest::Read(kMinimal + more, "job.yaml")->task();
  };
  CHECK_FALSE(task(""));
  CHECK(task("model: {task: multilabel}\n") == Task::kMultilabel);
  CHECK(task("model: {loss: poisson}\n") == Task::kRegression);
  CHECK(task("model: {loss: binary_cross_entropy}\n") == Task::kClassification);
  CHECK(task("train: {class_weight: balanced}\n") == Task::kClassification);
  CHECK(task("model: {clip_predictions: true}\n") == Task::kRegression);
}

TEST_CASE("errors have the lines of the job's original text") {
  CHECK(Error(kMinimal + "train: {epoch: 3}\n").starts_with("job.yaml:3:9: unknown key 'epoch'"));
  CHECK(Error(kMinimal + "preset: better\n").starts_with("job.yaml:3:9: preset"));
  CHECK(Error(kMinimal + "train: {batch: 0}\n").starts_with("job.yaml:3:16: train.batch: found"));
  CHECK(Error("data: {train: a.csv}\noutput: m\n").find("data.label: found nothing") !=
        std::string::npos);
}

TEST_CASE("batch and epochs follow the number of rows") {
  CHECK(spec::BatchFor(1) == 32);
  CHECK(spec::BatchFor(1'999) == 64);
  CHECK(spec::BatchFor(15'000) == 256);
  CHECK(spec::BatchFor(40'000) == 512);
  CHECK(spec::BatchFor(1'000'000) == 4096);
  CHECK(spec::BatchFor(1'000'000'000) == 8192);
  for (int64_t rows = 1; rows < 10'000'000; rows += 1 + rows / 50) {
    CHECK(spec::BatchFor(rows) <= spec::BatchFor(rows + 1));
    CHECK(spec::EpochsFor(spec::Preset::kGood, rows) >=
          spec::EpochsFor(spec::Preset::kGood, rows + 1));
    CHECK(spec::EpochsFor(spec::Preset::kFast, rows) ==
          spec::EpochsFor(spec::Preset::kGood, rows) / 2);
  }
  const spec::JobSpec sized = spec::Sized(Job(kMinimal), 1'000'000);
  CHECK(sized.train.batch == 4096);
  CHECK(sized.train.epochs == 6);
  CHECK(sized.train.optimizer.learning_rate == 0.03 * 4);
  CHECK(spec::Sized(sized, 5) == sized);
}

TEST_CASE("a table of a million rows has leaves for 64 workers") {
  const spec::JobSpec exact = Job(kMinimal, {.rows = 1'000'000, .exact = true, .features = 9});
  CHECK(spec::LeafCount(exact.train) == 64);
  const spec::JobSpec about = Job(kMinimal, {.rows = 1'000'000, .features = 9});
  CHECK(spec::LeafCount(about.train) == 64);
}

}  // namespace
}  // namespace espalier::config
