// Shared parts of the tests of scoring/: bundles of small random models, and tables.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/bundle/bundle.h"
#include "src/data/input/listing.h"
#include "src/data/profile/table_scan.h"
#include "src/model/arithmetic.h"
#include "src/scoring/predict.h"
#include "src/scoring/scoring_run.h"
#include "src/scoring/trained_model.h"
#include "tests/storage/temporary_directory.h"

namespace espalier::scoring {

// Returns a model of the features a and b, with the classes "no", "so so" and "yes" in `answer`.
inline bundle::ModelDocument ClassesDocument() {
  bundle::ModelDocument d;
  d.job.name = "classes";
  d.job.data.train = {"train.csv"};
  d.job.data.label = {std::string("answer")};
  d.job.model.hidden = {5};
  d.job.output.path = "unused";
  d.schema = {{"id", "a", "answer", "b"}, {1, 3}, {2}};
  d.preprocessing.features = {{"a", 0.5, 2, 0}, {"b", -1, 0.25, 7}};
  d.preprocessing.classes = {"no", "so so", "yes"};
  d.storage = spec::StorageType::kFloat64;
  d.stopped_because = "epochs";
  return d;
}

// Returns a model of the same features with the targets u and v.
inline bundle::ModelDocument NumbersDocument() {
  bundle::ModelDocument d = ClassesDocument();
  d.job.name = "numbers";
  d.job.model.task = spec::Task::kRegression;
  d.job.data.label = {std::string("u"), std::string("v")};
  d.schema = {{"a", "b", "u", "v"}, {0, 1}, {2, 3}};
  d.preprocessing.classes.clear();
  d.preprocessing.targets = {{"u", 100, 0.5}, {"v", -3, 4}};
  return d;
}

inline bundle::Bundle BundleOf(const bundle::ModelDocument& d, uint64_t seed = 5) {
  const size_t outputs = d.job.model.task == spec::Task::kClassification
                             ? d.preprocessing.classes.size()
                             : d.preprocessing.targets.size();
  const auto shape = model::MakeNetworkShape(d.job, spec::InputsOf(d.preprocessing),
                                             static_cast<int64_t>(outputs));
  INFO(shape.status().ToString());
  REQUIRE(shape.ok());
  const auto count = static_cast<size_t>(model::ParameterCount(*shape));
  if (d.job.model.precision == spec::Precision::kFloat64) {
    AlignedVector<double> parameters(count);
    model::InitialParameters(*shape, seed, parameters.data());
    return bundle::MakeBundle(d, model::Tensors(*shape), parameters.data(),
                              bundle::ElementType::kFloat64, {});
  }
  AlignedVector<float> parameters(count);
  model::InitialParameters(*shape, seed, parameters.data());
  return bundle::MakeBundle(d, model::Tensors(*shape), parameters.data(),
                            bundle::ElementType::kFloat32, {});
}

// Returns the totals of a shard of an evaluation and leaves none, as the coordinator does.
inline std::vector<double> TakeTotals(spec::ShardScore* score) {
  return std::exchange(std::get<spec::EvaluatedShard>(score->work).totals, {});
}

class ScoringFixture {
 public:
  ScoringFixture() { model::InitArithmetic(); }

  std::string PutBundle(const bundle::Bundle& bundle, const std::string& name = "model") const {
    REQUIRE(files->MakeDirectory(dir / name).ok());
    for (const auto& [file, bytes] : bundle.files) dir.Put(name + "/" + file, bytes);
    return dir / name;
  }

  TrainedModel Model(const bundle::ModelDocument& document) const {
    auto model = LoadTrainedModel(*files, PutBundle(BundleOf(document)));
    INFO(model.status().ToString());
    REQUIRE(model.ok());
    return *std::move(model);
  }

  Result<data::ScanPlan> Scan(const TrainedModel& model, std::vector<std::string> data, bool labels,
                              std::vector<std::string> keep = {},
                              int64_t shard_bytes = 1 << 20) const {
    return data::PlanScan(*files, {.job = model.document.job,
                                   .schema = model.document.schema,
                                   .data = std::move(data),
                                   .labels = labels,
                                   .keep = std::move(keep),
                                   .format = std::nullopt,
                                   .shard_bytes = shard_bytes,
                                   .sparse = model.document.sparse});
  }

  ScoringRun Run(const TrainedModel& model, const data::ScanPlan& scan, int threads = 1) const {
    return {.files = *files,
            .model = model,
            .reader = data::MakeScanReader(*files, scan),
            .threads = threads};
  }

  // Returns names and content of an output's part files, in order.
  std::vector<std::pair<std::string, std::string>> Parts(const std::string& output) const {
    std::vector<std::pair<std::string, std::string>> parts;
    const auto names = files->Names(output);
    REQUIRE(names.ok());
    for (const std::string& name : *names) {
      if (name.starts_with("part-"))
        parts.emplace_back(name, storage::Content(output + "/" + name));
    }
    return parts;
  }

  storage::TemporaryDirectory dir;
  std::unique_ptr<storage::FileSystem> files = storage::MakeFileSystem();
};

// Returns a table with the columns id, a and b, and `answer` if requested.
inline std::string AnswersCsv(int64_t rows, bool answer = true) {
  std::string text = answer ? "id,a,b,answer\n" : "id,a,b\n";
  const char* const kAnswers[] = {"no", "so so", "yes"};
  for (int64_t i = 0; i < rows; ++i) {
    const double a = static_cast<double>(i * 37 % 101) / 10 - 5;
    const double b = static_cast<double>(i * 53 % 97) / 7 - 6;
    text += "row " + std::to_string(i) + "," + std::to_string(a) + "," + std::to_string(b);
    if (answer) text += std::string(",") + kAnswers[i * 7 % 3];
    text += '\n';
  }
  return text;
}

}  // namespace espalier::scoring
