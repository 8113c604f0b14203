#include "src/config/sweep_plan.h"

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/config/job_sections.h"
#include "src/config/reader.h"
#include "src/spec/check_fields.h"
#include "src/spec/findings.h"

namespace espalier::config {
namespace {

constexpr size_t kKeysMax = 64;

class SweepReader {
 public:
  explicit SweepReader(std::string_view name) : reader_(name) {}
  explicit SweepReader(std::vector<GrammarEntry>* grammar) : reader_(grammar) {}

  Result<SweepPlan> Read(const YamlNode& root) {
    SweepPlan plan;
    ESPALIER_RETURN_IF_ERROR(reader_.ReadMap(root, "", FieldsOfPlan(plan)));
    ESPALIER_RETURN_IF_ERROR(Check(root, plan));
    return plan;
  }

  void Describe() {
    SweepPlan plan;
    (void)reader_.ReadMap(Reader::AnyNode(), "sweep", FieldsOfPlan(plan));
  }

 private:
  std::vector<Field> FieldsOfPlan(SweepPlan& plan) {
    std::vector<Field> fields = {
        {"job", [&](const auto& node, const auto& path) { return ReadJob(node, path, plan); }},
        {"output",
         [&](const auto& node, const auto& path) {
           plan.output_mark = node.mark;
           return ReadPath(reader_, node, path, plan.output);
         }},
        {"grid", [&](const auto& node,
                     const auto& path) { return ReadAxes(node, path, false, plan.grid); }},
        {"random", [&](const auto& node, const auto& path) {
           std::vector<Field> inner = FieldsOf(reader_, plan.random);
           inner.push_back({"keys", [&](const auto& value, const auto& at) {
                              return ReadAxes(value, at, true, plan.random.keys);
                            }});
           return reader_.ReadMap(node, path, inner);
         }}};
    AppendFields(
        reader_, plan, [](const spec::Key&) { return true; }, fields);
    return fields;
  }

  Status ReadJob(const YamlNode& node, const std::string& path, SweepPlan& plan) {
    if (node.kind == YamlNode::Kind::kMap && !reader_.describes()) {
      plan.job = node;
      return {};
    }
    return reader_.Read(node, path, plan.job_path);
  }

  // Reads {KEY: values, ..}.
  Status ReadAxes(const YamlNode& node, const std::string& path, bool drawn,
                  std::vector<SweepAxis>& axes) {
    if (reader_.describes()) return {};
    if (node.kind != YamlNode::Kind::kMap || node.entries.empty()) {
      return reader_.Unexpected(node, path, "keys of the job, such as `train.batch: [32, 64]`");
    }
    for (const auto& [key, value] : node.entries) {
      SweepAxis axis{.key = key.text, .mark = key.mark};
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

  Status CheckKey(const SweepAxis& axis, const std::string& path,
                  const std::vector<SweepAxis>& axes) const {
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
      if (first == own) return wrong("which differs in each trial");
    }
    if (axes.size() == kKeysMax) {
      return wrong("expected at most " + std::to_string(kKeysMax) + " keys");
    }
    for (const SweepAxis& other : axes) {
      const bool same = other.key == axis.key;
      if (same || other.key.starts_with(axis.key + ".") || axis.key.starts_with(other.key + ".")) {
        return wrong(same ? "which is listed already" : "which overlaps '" + other.key + "'");
      }
    }
    return {};
  }

  Status ReadRange(const YamlNode& node, const std::string& path, SweepAxis& axis) {
    std::vector<double> ends;
    const auto choice = [&](const char* word, SweepAxis::Kind kind) -> Choice {
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
    ESPALIER_RETURN_IF_ERROR(
        reader_.ReadChoice(node, path,
                           {choice("uniform", SweepAxis::Kind::kUniform),
                            choice("log_uniform", SweepAxis::Kind::kLogUniform),
                            choice("whole", SweepAxis::Kind::kWhole)}));
    const bool log = axis.kind == SweepAxis::Kind::kLogUniform,
               whole = axis.kind == SweepAxis::Kind::kWhole;
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

  Status Check(const YamlNode& root, const SweepPlan& plan) const {
    const auto wrong = [&](const char* key, const std::string& what) {
      const auto found = std::find_if(root.entries.begin(), root.entries.end(),
                                      [&](const auto& entry) { return entry.first.text == key; });
      const YamlMark mark = found == root.entries.end() ? root.mark : found->first.mark;
      return reader_.ErrorAt(mark, std::string(key) + ": " + what);
    };
    if (!plan.job && !plan.job_path) {
      return wrong("job", "found nothing, expected a job file. Add `job: PATH`");
    }
    if (plan.output.empty()) {
      return wrong("output",
                   "found nothing, expected a directory for the trials. Add `output: "
                   "PATH`");
    }
    const RandomSearch& random = plan.random;
    if (!plan.grid.empty() && (!random.keys.empty() || random.trials)) {
      return wrong("random", "found it next to grid, expected one of them. Remove one");
    }
    if (random.keys.empty() == random.trials.has_value()) {
      return wrong("random", "expected both `trials: N` and `keys: {..}`");
    }
    if (plan.grid.empty() && random.keys.empty() && !plan.folds) {
      return wrong("grid", "found nothing to vary, expected grid, random or folds");
    }
    if (plan.stratify && !plan.folds) {
      return wrong("stratify",
                   "found true without folds, expected both. Set folds, or for one "
                   "split data.validation.stratify");
    }
    if (plan.refit && !plan.folds) {
      return wrong("refit",
                   "found true without folds, expected both: without folds each trial has one job "
                   "already. Set folds, or remove refit");
    }
    for (const auto* axes : {&plan.grid, &random.keys}) {
      for (const SweepAxis& axis : *axes) {
        if (!plan.folds || !(axis.key + ".").starts_with("data.validation.")) continue;
        return wrong("folds", "found it next to values of " + Printable(axis.key) +
                                  ", which each fold replaces (expected one of them)");
      }
    }
    spec::Findings outside;
    spec::FieldVisitor(outside).Check("", plan);
    spec::FieldVisitor(outside).Check("random", random);
    if (!outside.Take().ok()) return reader_.Locate(outside.Take());
    double runs = static_cast<double>(random.trials.value_or(1) * plan.folds.value_or(1));
    for (const SweepAxis& axis : plan.grid) runs *= static_cast<double>(axis.choices.size());
    if (runs <= static_cast<double>(kSweepRunsMax)) return {};
    return wrong("grid", "makes " + ShortestDouble(runs) +
                             " jobs with its folds (expected at most " +
                             std::to_string(kSweepRunsMax) + "). Set fewer values or folds");
  }

  mutable Reader reader_;
};

}  // namespace

Result<SweepPlan> ReadSweepPlan(const YamlNode& root, std::string_view name) {
  return SweepReader(name).Read(root);
}

std::vector<GrammarEntry> SweepGrammar() {
  std::vector<GrammarEntry> grammar;
  SweepReader(&grammar).Describe();
  return grammar;
}

}  // namespace espalier::config
