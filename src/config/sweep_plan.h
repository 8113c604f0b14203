// SweepPlan: the content of a sweep file, before its runs are made.
//
// Thread rule: values and a pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/config/reader.h"
#include "src/config/yaml_tree.h"
#include "src/spec/field_list.h"

namespace espalier::config {

inline constexpr int64_t kSweepRunsMax = 10'000;

// The source of one key's values.
struct SweepAxis {
  enum class Kind { kChoices, kUniform, kLogUniform, kWhole };
  std::string key;
  YamlMark mark;
  Kind kind = Kind::kChoices;
  std::vector<YamlNode> choices;
  double from = 0, to = 0;  // bounds of the other kinds
};

// Random values for each trial.
struct RandomSearch {
  std::optional<int64_t> trials;
  uint64_t seed = 1;
  std::vector<SweepAxis> keys;
};

struct SweepPlan {
  std::optional<std::string> job_path;
  std::optional<YamlNode> job;  // exactly one of `job_path` and `job` is set
  std::string output;
  YamlMark output_mark;
  std::vector<SweepAxis> grid;
  RandomSearch random;  // instead of a grid
  std::optional<int64_t> folds;
  bool stratify = false;  // each fold has the same share of each class
  bool refit = false;
  std::string metric = "val_loss";
  std::optional<int64_t> parallel;
};

// Reads the file. Errors contain the place in the file, which is called `name`.
Result<SweepPlan> ReadSweepPlan(const YamlNode& root, std::string_view name);

// Returns everything that a sweep file may contain, each below "sweep".
std::vector<GrammarEntry> SweepGrammar();

}  // namespace espalier::config

namespace espalier::spec {

// Keys that hold one value, as in spec/fields.h.
template <>
inline constexpr auto kFields<config::RandomSearch> = Declare(
    Member(&config::RandomSearch::trials,
           Key("trials").Whole(1, config::kSweepRunsMax).Example("20").Doc("Number of draws.")),
    Member(&config::RandomSearch::seed, Key("seed").Doc("The same seed draws the same values.")));

template <>
inline constexpr auto kFields<config::SweepPlan> = Declare(
    Member(&config::SweepPlan::folds,
           Key("folds")
               .Whole(2, config::kSweepRunsMax)
               .Example("5")
               .Doc("Number of folds of cross-validation; by default none.")),
    Member(&config::SweepPlan::stratify,
           Key("stratify").Doc("true: as data.validation.stratify, for the folds.")),
    Member(&config::SweepPlan::refit,
           Key("refit").Doc("true, with folds: a last job, OUTPUT/best-NNN, with the values of the "
                            "best trial, on all "
                            "rows except those of the job's validation.")),
    Member(&config::SweepPlan::metric,
           Key("metric").Doc("Metric of the held-out rows that decides which trial is the best.")),
    Member(&config::SweepPlan::parallel, Key("parallel")
                                             .Whole(1, config::kSweepRunsMax)
                                             .Example("4")
                                             .Doc("Number of jobs that run at a time; by default "
                                                  "as many as there are workers for, with "
                                                  "workers.min of the job each.")));

}  // namespace espalier::spec
