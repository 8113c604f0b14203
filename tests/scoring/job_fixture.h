// Shared parts of the tests of scoring jobs: a table and a model, parts that members write, and
// storage that fails.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/scoring/scoring_job.h"
#include "src/scoring/staging.h"
#include "src/storage/passing_files.h"
#include "tests/scoring/fixture.h"

namespace espalier::scoring {

// Returns all files below a directory, by path.
inline std::map<std::string, std::string> Tree(const storage::FileSystem& files,
                                               const std::string& directory) {
  std::map<std::string, std::string> tree;
  const auto names = files.Names(directory);
  REQUIRE(names.ok());
  for (const std::string& name : *names) {
    const std::string path = directory + "/" + name;
    if (files.Stat(path)->is_directory) {
      for (const auto& [below, bytes] : Tree(files, path)) tree[name + "/" + below] = bytes;
    } else {
      tree[name] = storage::Content(path);
    }
  }
  return tree;
}

class JobFixture : public ScoringFixture {
 public:
  JobFixture() {
    document.job.data.shard_bytes = 4000;
    spec.model = PutBundle(BundleOf(document));
    std::string text = AnswersCsv(900);
    text.replace(text.find("row 500,"), 8, "row 500,x");  // not a number
    spec.data = {dir.Put("t.csv", text)};
    spec.output.path = dir / "out";
    spec.work = spec::PredictionSpec{.keep = {"id"}, .on_bad_row = spec::OnBadRow::kReject};
    model = *LoadTrainedModel(*files, spec.model);
    scan = *data::PlanScan(*files, ScanRequestOf(spec, model));
    REQUIRE(scan.input.shards.size() > 5);
    staging = StagingDirectory(spec.output.path, "request");
  }

  // Writes the parts of the members. Shard i belongs to generation 1 + i % 2.
  std::vector<spec::ShardScore> Score(uint64_t first_generation = 1) const {
    ScorerPool scorers(model);
    const ScoringRun run = Run(model, scan);
    PredictSpec predict = PredictSpecOf(*spec.prediction(), spec.output);
    const PartColumns columns = *PredictionColumns(model, predict);
    std::vector<spec::ShardScore> scores;
    for (int64_t i = 0; i < run.shards(); ++i) {
      const uint64_t generation = first_generation + static_cast<uint64_t>(i % 2);
      predict.output = PartsDirectory(staging, generation);
      REQUIRE(files->MakeDirectory(predict.output).ok());
      const auto score = PredictShard(run, predict, columns, i, &scorers);
      INFO(score.status().ToString());
      REQUIRE(score.ok());
      scores.push_back(*score);
      scores.back().generation = generation;
    }
    return scores;
  }

  Result<spec::ScoringResult> Merge(const storage::FileSystem& through,
                                    std::vector<spec::ShardScore> shards,
                                    const spec::ScoringSpec& of,
                                    std::function<bool()> wanted = {}) const {
    return MergeScores(through, of,
                       {.staging = staging,
                        .model_sha256 = model.sha256,
                        .shards = std::move(shards),
                        .wanted = std::move(wanted)});
  }
  Result<spec::ScoringResult> Merge(std::vector<spec::ShardScore> shards) const {
    return Merge(*files, std::move(shards), spec);
  }

  std::map<std::string, std::string> Local() const {
    PredictSpec predict = PredictSpecOf(*spec.prediction(), spec.output);
    predict.output = dir / "local";
    REQUIRE(BeginPredictions(*files, predict.output).ok());
    REQUIRE(Predict(Run(model, scan), predict).ok());
    return Tree(*files, predict.output);
  }

  bundle::ModelDocument document = ClassesDocument();
  spec::ScoringSpec spec;
  TrainedModel model;
  data::ScanPlan scan;
  std::string staging;
};

// Fails its n-th change and all later ones with kUnavailable, like a killed process.
class DyingFiles : public storage::PassingFiles {
 public:
  DyingFiles(const storage::FileSystem& files, int changes)
      : storage::PassingFiles(files), left_(changes) {}
  Status CreateExclusively(const std::string& p, std::string_view content) const override {
    return Change([&] { return files_.CreateExclusively(p, content); });
  }
  using storage::FileSystem::WriteAtomically;
  Status WriteAtomically(const std::string& p, std::string_view content,
                         const std::string& writer) const override {
    return Change([&] { return files_.WriteAtomically(p, content, writer); });
  }
  Status Rename(const std::string& from, const std::string& to) const override {
    return Change([&] { return files_.Rename(from, to); });
  }
  Status Delete(const std::string& p) const override {
    return Change([&] { return files_.Delete(p); });
  }
  Status MakeDirectory(const std::string& p) const override {
    return Change([&] { return files_.MakeDirectory(p); });
  }
  Status Restrict(const std::string& p) const override {
    return Change([&] { return files_.Restrict(p); });
  }
  Status RemoveTree(const std::string& p) const override {
    return Change([&] { return files_.RemoveTree(p); });
  }
  Status RemoveEmptyDirectory(const std::string& p) const override {
    return Change([&] { return files_.RemoveEmptyDirectory(p); });
  }
  bool died() const { return left_ < 0; }

 private:
  Status Change(const std::function<Status()>& change) const {
    if (left_ < 0 || left_-- == 0) {
      left_ = -1;
      return Unavailable("the process was killed");
    }
    return change();
  }
  mutable int left_;
};

}  // namespace espalier::scoring
