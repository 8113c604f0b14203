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
#include "src/config/preset.h"
#include "src/config/sweep_plan.h"
#include "src/config/yaml_tree.h"
#include "src/storage/uri.h"

namespace espalier::config {
namespace {

// Returns a value on one line, in the usual form.
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
  map.entries.emplace_back(ScalarNode(key), YamlNode());
  return map.entries.back().second;
}

// Sets the value of a key ("train.optimizer.adam.learning_rate"). A choice on the path that is a
// word alone (`optimizer: adam`) becomes a map. Columns alone (`features: "1..784"`) do too.
Status SetKey(YamlNode& root, const std::string& key, YamlNode value) {
  YamlNode* node = &root;
  for (size_t begin = 0;;) {
    const size_t dot = key.find('.', begin);
    if (node->kind != YamlNode::Kind::kMap) {
      YamlNode given = std::exchange(*node, {.kind = YamlNode::Kind::kMap});
      const std::string path = key.substr(0, begin == 0 ? 0 : begin - 1);
      if (given.kind == YamlNode::Kind::kSequence && path != "data.features") {
        return InvalidArgument(path + " is a list in the job, without a key '" + Printable(key) +
                               "'. Vary " + path + " as a whole");
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

// Formats six digits, because the last bits of exp must not matter.
std::string Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

YamlNode Drawn(const SweepAxis& axis, uint64_t bits) {
  const double place = UnitDouble(bits);
  switch (axis.kind) {
    case SweepAxis::Kind::kChoices:
      return axis.choices[static_cast<size_t>(place * static_cast<double>(axis.choices.size()))];
    case SweepAxis::Kind::kUniform:
      return ScalarNode(Rounded(axis.from + place * (axis.to - axis.from)));
    case SweepAxis::Kind::kLogUniform:
      return ScalarNode(Rounded(
          std::exp(std::log(axis.from) + place * (std::log(axis.to) - std::log(axis.from)))));
    case SweepAxis::Kind::kWhole:
      break;
  }
  const double whole = axis.from + std::floor(place * (axis.to - axis.from + 1));
  return ScalarNode(std::to_string(static_cast<int64_t>(std::min(whole, axis.to))));
}

// Returns the values by [trial][key].
std::vector<std::vector<YamlNode>> TrialsOf(const SweepPlan& plan) {
  std::vector<std::vector<YamlNode>> trials;
  if (plan.random.keys.empty()) {
    trials.emplace_back();
    for (const SweepAxis& axis : plan.grid) {
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
  const PhiloxKey key = MakeKey(plan.random.seed, RandomUse::kSweep);
  for (int64_t t = 0; t < *plan.random.trials; ++t) {
    auto& trial = trials.emplace_back();
    for (size_t k = 0; k < plan.random.keys.size(); ++k) {
      trial.push_back(Drawn(plan.random.keys[k], RandomBits(key, static_cast<uint64_t>(t), k)));
    }
  }
  return trials;
}

std::string Numbered(const char* what, int64_t number, int width) {
  char text[48];
  std::snprintf(text, sizeof text, "%s-%0*lld", what, width, static_cast<long long>(number));
  return text;
}

// Checks that every run has the metric.
Status CheckMetric(const std::string& metric, const spec::JobSpec& job, bool task_is_known) {
  std::vector<std::string> known;
  for (const std::string& name : spec::MetricNames(job.model.task)) known.push_back("val_" + name);
  if (!task_is_known) {  // the labels decide between the two tasks
    for (const std::string& name : spec::MetricNames(spec::Task::kRegression)) {
      known.push_back("val_" + name);
    }
  }
  if (std::find(known.begin(), known.end(), metric) == known.end()) {
    const auto near = Nearest(metric, known);
    return InvalidArgument("metric: found '" + Printable(metric) + "', expected one such as " +
                           known[0] + (near ? "; did you mean '" + *near + "'?" : ""));
  }
  if (job.data.validation.any() || spec::FoldsOf(job.train) > 0) return {};
  return InvalidArgument("metric: found " + metric +
                         " and no validation rows. Set `folds: 5`, or the job's data.validation");
}

// Sets the spec of a run from its YAML.
Result<JobRequest> ReadRun(SweepRun* run) {
  ESPALIER_ASSIGN_OR_RETURN(JobRequest request, JobRequest::Read(run->yaml, "its job"));
  ESPALIER_ASSIGN_OR_RETURN(JobRequest::Filled filled, request.Fill(request.Likely()));
  run->spec = std::move(filled.job);
  return request;
}

class Maker {
 public:
  Maker(const SweepPlan& plan, std::string_view name, std::string_view directory, YamlNode job)
      : plan_(plan), name_(name), directory_(directory), job_(std::move(job)) {}

  Result<Sweep> Make() {
    sweep_.metric = plan_.metric;
    sweep_.parallel = plan_.parallel;
    ESPALIER_ASSIGN_OR_RETURN(const storage::Uri uri, storage::ParseUri(plan_.output));
    sweep_.output = plan_.output;
    if (uri.kind == storage::Uri::Kind::kLocal) {
      sweep_.output = (std::filesystem::path(directory_) / uri.path).lexically_normal().string();
    }
    sweep_.output = OneSpelling(sweep_.output);  // same form as the outputs of its jobs
    for (const auto* axes : {&plan_.grid, &plan_.random.keys}) {
      for (const SweepAxis& axis : *axes) sweep_.keys.push_back(axis.key);
    }
    const auto trials = TrialsOf(plan_);
    for (size_t t = 0; t < trials.size(); ++t) {
      auto& values = sweep_.values.emplace_back();
      for (const YamlNode& value : trials[t]) values.push_back(Flow(value));
      for (int64_t fold = 0; fold < plan_.folds.value_or(1); ++fold) {
        SweepRun run{.trial = static_cast<int64_t>(t),
                     .name = Numbered("trial", static_cast<int64_t>(t) + 1, 3)};
        if (plan_.folds) {
          run.fold = fold;
          run.name += "/" + Numbered("fold", fold, 1);
        }
        ESPALIER_RETURN_IF_ERROR(AddRun(std::move(run), trials[t], &sweep_.runs));
      }
      if (!plan_.refit) continue;
      SweepRun refit{.trial = static_cast<int64_t>(t),
                     .refit = true,
                     .name = Numbered("best", static_cast<int64_t>(t) + 1, 3)};
      ESPALIER_RETURN_IF_ERROR(AddRun(std::move(refit), trials[t], &sweep_.refits));
    }
    return std::move(sweep_);
  }

 private:
  static YamlNode* Validation(YamlNode& root) {
    YamlNode* const data = root.Find("data");
    return data != nullptr ? data->Find("validation") : nullptr;
  }

  // Returns the keys of the job's data.validation that select the column of the folds.
  static YamlNode Places(YamlNode& root) {
    YamlNode places{.kind = YamlNode::Kind::kMap};
    if (YamlNode* const given = Validation(root)) {
      const bool by_place = given->Find("group") != nullptr || given->Find("time") != nullptr;
      for (const char* key : {"group", "time", "seed"}) {
        YamlNode* const value = given->Find(key);
        if (by_place && value != nullptr) Entry(places, key) = *value;
      }
    }
    return places;
  }

  // Returns whether the job itself selects validation rows.
  static bool HoldsOut(YamlNode& root) {
    YamlNode* const given = Validation(root);
    if (given == nullptr || given->kind != YamlNode::Kind::kMap) return false;  // `none`
    const auto only_places = [](const YamlEntry& entry) {
      return entry.first.text == "group" || entry.first.text == "time" ||
             entry.first.text == "seed";
    };
    return !std::all_of(given->entries.begin(), given->entries.end(), only_places);
  }

  Status AddRun(SweepRun run, const std::vector<YamlNode>& values, std::vector<SweepRun>* runs) {
    YamlNode root = job_;
    std::string told;
    for (size_t k = 0; k < values.size(); ++k) {
      const Status set = SetKey(root, sweep_.keys[k], values[k]);
      if (!set.ok()) return InvalidArgument(std::string(name_) + ": " + set.message());
      told += (k == 0 ? "" : ", ") + sweep_.keys[k] + ": " + sweep_.values.back()[k];
    }
    if (run.fold) {
      YamlNode validation = Places(root);
      Entry(validation, "fold") = ScalarNode(std::to_string(*run.fold));
      Entry(validation, "of") = ScalarNode(std::to_string(*plan_.folds));
      if (plan_.stratify) Entry(validation, "stratify") = ScalarNode("true");
      ESPALIER_RETURN_IF_ERROR(SetKey(root, "data.validation", std::move(validation)));
    }
    if (run.refit && plan_.folds && !HoldsOut(root)) {   // otherwise a preset would hold out rows
      if (YamlNode* const train = root.Find("train")) {  // the folds determine the number of epochs
        std::erase_if(train->entries,
                      [](const YamlEntry& entry) { return entry.first.text == "early_stopping"; });
      }
      ESPALIER_RETURN_IF_ERROR(SetKey(root, "data.validation", ScalarNode("none")));
    }
    ESPALIER_RETURN_IF_ERROR(
        SetKey(root, "output", ScalarNode(sweep_.output + "/" + run.name, true)));
    YamlNode* const workers = root.Find("workers");
    const bool silent = workers == nullptr || workers->kind == YamlNode::Kind::kNull ||
                        (workers->kind == YamlNode::Kind::kMap && !workers->Find("cache_input"));
    if (silent) ESPALIER_RETURN_IF_ERROR(SetKey(root, "workers.cache_input", ScalarNode("true")));
    bool task_is_known = true;
    const auto parsed = Finish(root, &run, &task_is_known);
    if (!parsed.ok()) {
      return parsed.Wrap(std::string(name_) + ": " +
                         (run.refit ? "refit, so without folds, of trial " : "trial ") +
                         std::to_string(run.trial + 1) +
                         (told.empty() ? "" : " (" + Printable(told, 200) + ")"));
    }
    if (sweep_.runs.empty()) {
      sweep_.name = run.spec.name;
      const Status metric = CheckMetric(sweep_.metric, run.spec, task_is_known);
      if (!metric.ok()) return InvalidArgument(std::string(name_) + ": " + metric.message());
    }
    runs->push_back(std::move(run));
    return {};
  }

  Status Finish(const YamlNode& root, SweepRun* run, bool* task_is_known) const {
    ESPALIER_ASSIGN_OR_RETURN(run->yaml, MakePathsAbsolute(EmitYaml(root), directory_));
    ESPALIER_ASSIGN_OR_RETURN(const JobRequest request, ReadRun(run));
    *task_is_known = request.task().has_value() || run->spec.preset == spec::Preset::kNone;
    return {};
  }

  const SweepPlan& plan_;
  const std::string_view name_, directory_;
  const YamlNode job_;
  Sweep sweep_;
};

}  // namespace

Status SetEpochs(double epochs, SweepRun* run) {
  ESPALIER_ASSIGN_OR_RETURN(YamlNode root, ParseYaml(run->yaml, "its job"));
  ESPALIER_RETURN_IF_ERROR(SetKey(root, "train.epochs", ScalarNode(ShortestDouble(epochs))));
  std::erase_if(root.Find("train")->entries,
                [](const YamlEntry& entry) { return entry.first.text == "steps"; });
  run->yaml = EmitYaml(root);
  return ReadRun(run).status();
}

Result<Sweep> ParseSweep(std::string_view yaml_text, std::string_view name,
                         std::string_view directory,
                         const std::function<Result<std::string>(const std::string&)>& read) {
  ESPALIER_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(yaml_text, name));
  ESPALIER_ASSIGN_OR_RETURN(SweepPlan plan, ReadSweepPlan(root, name));
  if (!plan.job) {
    ESPALIER_ASSIGN_OR_RETURN(const std::string text, read(*plan.job_path));
    ESPALIER_ASSIGN_OR_RETURN(plan.job, ParseYaml(text, *plan.job_path));
  }
  return Maker(plan, name, directory, *plan.job).Make();
}

}  // namespace espalier::config
