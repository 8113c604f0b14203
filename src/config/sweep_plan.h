// What the file of a sweep says, before its runs are made. Thread rule: values and a pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/config/yaml_tree.h"

namespace espalier::config {

// Where the values of one key come from.
struct SweepAxis {
  enum class Kind { kChoices, kUniform, kLogUniform, kWhole };
  std::string key;
  YamlMark mark;
  Kind kind = Kind::kChoices;
  std::vector<YamlNode> choices;
  double from = 0, to = 0;  // of the other kinds
};

struct SweepPlan {
  std::optional<std::string> job_path;
  std::optional<YamlNode> job;  // one of the two
  std::string output;
  YamlMark output_mark;
  std::vector<SweepAxis> grid, random;  // not both
  std::optional<int64_t> trials;        // of random
  uint64_t seed = 1;
  std::optional<int64_t> folds, parallel;
  bool stratify = false;  // each fold has the same share of each class
  bool refit = false;
  std::optional<std::string> metric;
};

// Errors name the place in the file, called `name`.
Result<SweepPlan> ReadSweepPlan(const YamlNode& root, std::string_view name);

}  // namespace espalier::config
