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
#include "src/spec/fields.h"

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

// Keys that hold one value, as in spec/fields.h.
template <typename F>
void Fields(F&& f, spec::Is<RandomSearch> auto& s) {
  f(spec::Key("trials").Whole(1, kSweepRunsMax), s.trials);
  f("seed", s.seed);
}
template <typename F>
void Fields(F&& f, spec::Is<SweepPlan> auto& s) {
  f(spec::Key("folds").Whole(2, kSweepRunsMax), s.folds);
  f("stratify", s.stratify);
  f("refit", s.refit);
  f("metric", s.metric);
  f(spec::Key("parallel").Whole(1, kSweepRunsMax), s.parallel);
}

// Reads the file. Errors contain the place in the file, which is called `name`.
Result<SweepPlan> ReadSweepPlan(const YamlNode& root, std::string_view name);

// Returns everything that a sweep file may contain, each below "sweep".
std::vector<GrammarEntry> SweepGrammar();

}  // namespace espalier::config
