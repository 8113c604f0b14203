#include "src/config/sweep_yaml.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "src/base/random.h"
#include "src/base/text.h"
#include "src/config/job_sections.h"
#include "src/config/job_yaml.h"
#include "src/config/reader.h"
#include "src/config/yaml_tree.h"
#include "src/storage/uri.h"

namespace espalier {
namespace {

constexpr size_t kKeysMax = 64;

// Where the values of one key come from.
struct Axis {
  enum class Kind { kChoices, kUniform, kLogUniform, kWhole };
  std::string key;
  YamlMark mark;
  Kind kind = Kind::kChoices;
  std::vector<YamlNode> choices;
  double from = 0, to = 0;  // of the other kinds
};

// What the file says, before the trials are made.
struct Plan {
  std::optional<std::string> job_path;
  std::optional<YamlNode> job;
  std::string output;
  YamlMark output_mark;
  std::vector<Axis> grid, random;
  std::optional<int64_t> trials;
  uint64_t seed = 1;
  std::optional<int64_t> folds, parallel;
  std::optional<std::string> metric;
};

YamlNode Scalar(std::string text, bool quoted = false) {
  return {.kind = YamlNode::Kind::kScalar, .text = std::move(text), .quoted = quoted};
}

// A value on one line, as a person would write it.
std::string Flow(const YamlNode& node) {
  std::string text;
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "null";
    case YamlNode::Kind::kScalar:
      return node.text;
    case YamlNode::Kind::kSequence:
      for (const YamlNode& item : node.items) text += (text.empty() ? "" : ", ") + Flow(item);
      return "[" + text + "]";
    case YamlNode::Kind::kMap:
      for (const auto& [key, value] : node.entries) {
        text += (text.empty() ? "" : ", ") + key.text + ": " + Flow(value);
      }
      return "{" + text + "}";
  }
  return text;
}

YamlNode& Entry(YamlNode& map, const std::string& key) {
  if (YamlNode* found = map.Find(key)) return *found;
  map.entries.emplace_back(Scalar(key), YamlNode());
  return map.entries.back().second;
}

// "train.optimizer.adam.learning_rate": a choice on the way that is given by its word alone, such
// as `optimizer: adam`, becomes a map, and so do columns, such as `features: "1..784"`.
Status SetKey(YamlNode& root, const std::string& key, YamlNode value) {
  YamlNode* node = &root;
  for (size_t begin = 0;;) {
    const size_t dot = key.find('.', begin);
    if (node->kind != YamlNode::Kind::kMap) {
      YamlNode given = std::exchange(*node, {.kind = YamlNode::Kind::kMap});
      const std::string path = key.substr(0, begin == 0 ? 0 : begin - 1);
      if (given.kind == YamlNode::Kind::kSequence && path != "data.features") {
        return InvalidArgument(path + " is a list in the job, so there is no '" + Printable(key) +
                               "'; vary " + path + " as a whole");
      }
      if (given.kind != YamlNode::Kind::kNull && path == "data.features") {
        Entry(*node, "columns") = std::move(given);
      }
    }
    node = &Entry(*node, key.substr(begin, dot - begin));
    if (dot == std::string::npos) break;
    begin = dot + 1;
  }
  *node = std::move(value);
  return {};
}

class SweepReader {
 public:
  explicit SweepReader(std::string_view name) : reader_(name) {}

  Result<Plan> Read(const YamlNode& root) {
    Plan plan;
    ESPALIER_RETURN_IF_ERROR(reader_.ReadMap(
        root, "",
        {{"job", [&](const auto& node, const auto& path) { return ReadJob(node, path, plan); }},
         {"output",
          [&](const auto& node, const auto& path) {
            plan.output_mark = node.mark;
            return ReadPath(reader_, node, path, plan.output);
          }},
         {"grid", [&](const auto& node,
                      const auto& path) { return ReadAxes(node, path, false, plan.grid); }},
         {"random",
          [&](const auto& node, const auto& path) { return ReadRandom(node, path, plan); }},
         reader_.Value("folds", plan.folds),
         reader_.Value("metric", plan.metric),
         reader_.Value("parallel", plan.parallel)}));
    ESPALIER_RETURN_IF_ERROR(Check(root, plan));
    return plan;
  }

 private:
  Status ReadJob(const YamlNode& node, const std::string& path, Plan& plan) {
    if (node.kind == YamlNode::Kind::kMap) {
      plan.job = node;
      return {};
    }
    return reader_.Read(node, path, plan.job_path);
  }

  Status ReadRandom(const YamlNode& node, const std::string& path, Plan& plan) {
    return reader_.ReadMap(node, path,
                           {reader_.Value("trials", plan.trials),
                            reader_.Value("seed", plan.seed),
                            {"keys", [&](const auto& value, const auto& at) {
                               return ReadAxes(value, at, true, plan.random);
                             }}});
  }

  // {KEY: values, ..}.
  Status ReadAxes(const YamlNode& node, const std::string& path, bool drawn,
                  std::vector<Axis>& axes) {
    if (node.kind != YamlNode::Kind::kMap || node.entries.empty()) {
      return reader_.Unexpected(node, path, "keys of the job, such as `train.batch: [32, 64]`");
    }
    for (const auto& [key, value] : node.entries) {
      Axis axis{.key = key.text, .mark = key.mark};
      ESPALIER_RETURN_IF_ERROR(CheckKey(axis, path, axes));
      const std::string at = path + "." + axis.key;
      if (value.kind == YamlNode::Kind::kSequence && !value.items.empty()) {
        axis.choices = value.items;
      } else if (drawn && value.kind == YamlNode::Kind::kMap) {
        ESPALIER_RETURN_IF_ERROR(ReadRange(value, at, axis));
      } else {
        return reader_.Unexpected(value, at,
                                  drawn ? "a list of values, or {uniform: [0, 1]}, {log_uniform: "
                                          "[1e-4, 1]} or {whole: [1, 8]}"
                                        : "a list of values, such as [32, 64]");
      }
      axes.push_back(std::move(axis));
    }
    return {};
  }

  Status CheckKey(const Axis& axis, const std::string& path, const std::vector<Axis>& axes) const {
    const auto wrong = [&](const std::string& what) {
      return reader_.ErrorAt(axis.mark,
                             path + ": found the key '" + Printable(axis.key) + "', " + what);
    };
    const std::string first = axis.key.substr(0, axis.key.find('.'));
    if (axis.key.empty() || axis.key.front() == '.' || axis.key.back() == '.' ||
        axis.key.find("..") != std::string::npos) {
      return wrong("expected one like train.batch");
    }
    for (const char* own : {"name", "output", "resume"}) {
      if (first == own) return wrong("which each trial has of its own");
    }
    if (axes.size() == kKeysMax) {
      return wrong("one more than the " + std::to_string(kKeysMax) + " that are possible");
    }
    for (const Axis& other : axes) {
      const bool same = other.key == axis.key;
      if (same || other.key.starts_with(axis.key + ".") || axis.key.starts_with(other.key + ".")) {
        return wrong(same ? "which is there already" : "which overlaps '" + other.key + "'");
      }
    }
    return {};
  }

  Status ReadRange(const YamlNode& node, const std::string& path, Axis& axis) {
    std::vector<double> ends;
    const auto choice = [&](const char* word, Axis::Kind kind) -> Choice {
      return {word, [&, kind](const YamlNode* body, const std::string& at) -> Status {
                axis.kind = kind;
                if (body == nullptr || body->kind != YamlNode::Kind::kSequence) {
                  return reader_.Unexpected(node, at, "two numbers, such as [0, 1]");
                }
                return reader_.ReadOneOrMany(*body, at, [&](const auto& item, const auto& where) {
                  ends.emplace_back();
                  return reader_.Read(item, where, ends.back());
                });
              }};
    };
    ESPALIER_RETURN_IF_ERROR(reader_.ReadChoice(
        node, path,
        {choice("uniform", Axis::Kind::kUniform), choice("log_uniform", Axis::Kind::kLogUniform),
         choice("whole", Axis::Kind::kWhole)}));
    const bool log = axis.kind == Axis::Kind::kLogUniform, whole = axis.kind == Axis::Kind::kWhole;
    const auto fits = [&](double end) {
      return std::isfinite(end) && (!log || end > 0) &&
             (!whole || (end == std::floor(end) && std::fabs(end) <= 0x1p52));
    };
    if (ends.size() == 2 && fits(ends[0]) && fits(ends[1]) && ends[0] <= ends[1]) {
      axis.from = ends[0], axis.to = ends[1];
      return {};
    }
    return reader_.Unexpected(node, path,
                              std::string("two ") +
                                  (log     ? "numbers above 0"
                                   : whole ? "whole numbers"
                                           : "numbers") +
                                  ", the smaller one first");
  }

  Status Check(const YamlNode& root, const Plan& plan) const {
    const auto wrong = [&](const char* key, const std::string& what) {
      const auto found = std::find_if(root.entries.begin(), root.entries.end(),
                                      [&](const auto& entry) { return entry.first.text == key; });
      const YamlMark mark = found == root.entries.end() ? root.mark : found->first.mark;
      return reader_.ErrorAt(mark, std::string(key) + ": " + what);
    };
    if (!plan.job && !plan.job_path) return wrong("job", "found nothing, expected a job's file");
    if (plan.output.empty()) {
      return wrong("output",
                   "found nothing, expected a directory for the trials; add `output: "
                   "PATH`");
    }
    if (!plan.grid.empty() && (!plan.random.empty() || plan.trials)) {
      return wrong("random", "found it beside grid, expected one of them");
    }
    if (plan.random.empty() == plan.trials.has_value()) {
      return wrong("random", "expected both `trials: N` and `keys: {..}`");
    }
    if (plan.grid.empty() && plan.random.empty() && !plan.folds) {
      return wrong("grid", "found nothing to vary, expected grid, random or folds");
    }
    for (const auto* axes : {&plan.grid, &plan.random}) {
      for (const Axis& axis : *axes) {
        if (!plan.folds || !(axis.key + ".").starts_with("data.validation.")) continue;
        return wrong("folds", "found it beside values of " + Printable(axis.key) +
                                  ", which each fold replaces; expected one of them");
      }
    }
    const auto between = [&](const char* key, std::optional<int64_t> value, int64_t min,
                             int64_t max) {
      if (!value || (*value >= min && *value <= max)) return Status();
      return wrong(key, "found " + std::to_string(*value) + ", expected a whole number from " +
                            std::to_string(min) + " to " + std::to_string(max));
    };
    ESPALIER_RETURN_IF_ERROR(between("folds", plan.folds, 2, kSweepRunsMax));
    ESPALIER_RETURN_IF_ERROR(between("parallel", plan.parallel, 1, kSweepRunsMax));
    ESPALIER_RETURN_IF_ERROR(between("random", plan.trials, 1, kSweepRunsMax));
    double runs = static_cast<double>(plan.trials.value_or(1) * plan.folds.value_or(1));
    for (const Axis& axis : plan.grid) runs *= static_cast<double>(axis.choices.size());
    if (runs <= static_cast<double>(kSweepRunsMax)) return {};
    return wrong("grid", "makes " + ShortestDouble(runs) + " jobs with its folds; at most " +
                             std::to_string(kSweepRunsMax) + " are possible");
  }

  mutable Reader reader_;
};

// Six digits: what the last bits of exp are must not matter.
std::string Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

YamlNode Drawn(const Axis& axis, uint64_t bits) {
  const double place = UnitDouble(bits);
  switch (axis.kind) {
    case Axis::Kind::kChoices:
      return axis.choices[static_cast<size_t>(place * static_cast<double>(axis.choices.size()))];
    case Axis::Kind::kUniform:
      return Scalar(Rounded(axis.from + place * (axis.to - axis.from)));
    case Axis::Kind::kLogUniform:
      return Scalar(Rounded(
          std::exp(std::log(axis.from) + place * (std::log(axis.to) - std::log(axis.from)))));
    case Axis::Kind::kWhole:
      break;
  }
  const double whole = axis.from + std::floor(place * (axis.to - axis.from + 1));
  return Scalar(std::to_string(static_cast<int64_t>(std::min(whole, axis.to))));
}

// [trial][key].
std::vector<std::vector<YamlNode>> TrialsOf(const Plan& plan) {
  std::vector<std::vector<YamlNode>> trials;
  if (plan.random.empty()) {
    trials.emplace_back();
    for (const Axis& axis : plan.grid) {
      std::vector<std::vector<YamlNode>> longer;
      for (const auto& trial : trials) {
        for (const YamlNode& choice : axis.choices) {
          longer.push_back(trial);
          longer.back().push_back(choice);
        }
      }
      trials = std::move(longer);
    }
    return trials;
  }
  const PhiloxKey key = MakeKey(plan.seed, RandomUse::kSweep);
  for (int64_t t = 0; t < *plan.trials; ++t) {
    auto& trial = trials.emplace_back();
    for (size_t k = 0; k < plan.random.size(); ++k) {
      trial.push_back(Drawn(plan.random[k], RandomBits(key, static_cast<uint64_t>(t), k)));
    }
  }
  return trials;
}

std::string Numbered(const char* what, int64_t number, int width) {
  char text[48];
  std::snprintf(text, sizeof text, "%s-%0*lld", what, width, static_cast<long long>(number));
  return text;
}

// The metric must be one that every run has.
Status CheckMetric(const std::string& metric, const JobSpec& job) {
  std::vector<std::string> known;
  for (const std::string& name : MetricNames(job.model.task)) known.push_back("val_" + name);
  if (std::find(known.begin(), known.end(), metric) == known.end()) {
    const auto near = Nearest(metric, known);
    return InvalidArgument("metric: found '" + Printable(metric) + "', expected one such as " +
                           known[0] + (near ? "; did you mean '" + *near + "'?" : ""));
  }
  if (job.data.validation.any()) return {};
  return InvalidArgument("metric: found " + metric +
                         " and no validation rows; set `folds: 5`, or the job's data.validation");
}

class Maker {
 public:
  Maker(const Plan& plan, std::string_view name, std::string_view directory, YamlNode job)
      : plan_(plan), name_(name), directory_(directory), job_(std::move(job)) {}

  Result<Sweep> Make() {
    sweep_.metric = plan_.metric.value_or("val_loss");
    sweep_.parallel = plan_.parallel;
    ESPALIER_ASSIGN_OR_RETURN(const Uri uri, ParseUri(plan_.output));
    sweep_.output = plan_.output;
    if (uri.kind == Uri::Kind::kLocal) {
      sweep_.output = (std::filesystem::path(directory_) / uri.path).lexically_normal().string();
    }
    while (sweep_.output.size() > 1 && sweep_.output.back() == '/') sweep_.output.pop_back();
    for (const auto* axes : {&plan_.grid, &plan_.random}) {
      for (const Axis& axis : *axes) sweep_.keys.push_back(axis.key);
    }
    const auto trials = TrialsOf(plan_);
    for (size_t t = 0; t < trials.size(); ++t) {
      auto& values = sweep_.values.emplace_back();
      for (const YamlNode& value : trials[t]) values.push_back(Flow(value));
      for (int64_t fold = 0; fold < plan_.folds.value_or(1); ++fold) {
        ESPALIER_RETURN_IF_ERROR(AddRun(static_cast<int64_t>(t), fold, trials[t]));
      }
    }
    return std::move(sweep_);
  }

 private:
  Status AddRun(int64_t trial, int64_t fold, const std::vector<YamlNode>& values) {
    SweepRun run{.trial = trial, .name = Numbered("trial", trial + 1, 3)};
    YamlNode root = job_;
    std::string told;
    for (size_t k = 0; k < values.size(); ++k) {
      const Status set = SetKey(root, sweep_.keys[k], values[k]);
      if (!set.ok()) return InvalidArgument(std::string(name_) + ": " + set.message());
      told += (k == 0 ? "" : ", ") + sweep_.keys[k] + ": " + sweep_.values.back()[k];
    }
    if (plan_.folds) {
      run.fold = fold;
      run.name += "/" + Numbered("fold", fold, 1);
      YamlNode validation{.kind = YamlNode::Kind::kMap};
      Entry(validation, "fold") = Scalar(std::to_string(fold));
      Entry(validation, "of") = Scalar(std::to_string(*plan_.folds));
      ESPALIER_RETURN_IF_ERROR(SetKey(root, "data.validation", std::move(validation)));
    }
    ESPALIER_RETURN_IF_ERROR(SetKey(root, "output", Scalar(sweep_.output + "/" + run.name, true)));
    const auto parsed = Finish(root, &run);
    if (!parsed.ok()) {
      return parsed.Wrap(std::string(name_) + ": trial " + std::to_string(trial + 1) +
                         (told.empty() ? "" : " (" + Printable(told, 200) + ")"));
    }
    if (sweep_.runs.empty()) {
      sweep_.name = run.spec.name;
      const Status metric = CheckMetric(sweep_.metric, run.spec);
      if (!metric.ok()) return InvalidArgument(std::string(name_) + ": " + metric.message());
    }
    sweep_.runs.push_back(std::move(run));
    return {};
  }

  Status Finish(const YamlNode& root, SweepRun* run) const {
    ESPALIER_ASSIGN_OR_RETURN(run->yaml, MakePathsAbsolute(EmitYaml(root), directory_));
    ESPALIER_ASSIGN_OR_RETURN(run->spec, ParseJob(run->yaml, "its job"));
    return {};
  }

  const Plan& plan_;
  const std::string_view name_, directory_;
  const YamlNode job_;
  Sweep sweep_;
};

}  // namespace

Result<Sweep> ParseSweep(std::string_view yaml_text, std::string_view name,
                         std::string_view directory,
                         const std::function<Result<std::string>(const std::string&)>& read) {
  ESPALIER_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(yaml_text, name));
  ESPALIER_ASSIGN_OR_RETURN(Plan plan, SweepReader(name).Read(root));
  if (!plan.job) {
    ESPALIER_ASSIGN_OR_RETURN(const std::string text, read(*plan.job_path));
    ESPALIER_ASSIGN_OR_RETURN(plan.job, ParseYaml(text, *plan.job_path));
  }
  return Maker(plan, name, directory, *plan.job).Make();
}

}  // namespace espalier
