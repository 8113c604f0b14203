#include "src/data/input/complete_job.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "src/base/text.h"
#include "src/config/job_yaml.h"
#include "src/data/features/column_judgement.h"
#include "src/data/features/dates.h"
#include "src/data/features/validation_column.h"
#include "src/data/input/column_sample.h"
#include "src/data/input/infer_features.h"
#include "src/data/input/judge_table.h"
#include "src/data/input/keep_columns.h"
#include "src/data/input/listing.h"
#include "src/spec/shard_sums.h"

namespace espalier::data {
namespace {

// Returns the number of columns that the model uses. A date counts once.
int64_t FeatureColumns(const spec::Schema& schema) {
  int64_t columns = 0;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    columns += i == 0 || schema.features[i] != schema.features[i - 1];
  }
  return columns;
}

// Returns the number of rows in shards that could not be read, from the evidence for their labels.
int64_t FailedRows(const spec::InputPlan& plan, std::span<const spec::ShardProfile> profiles) {
  int64_t rows = 0;
  for (const spec::ShardProfile& shard : profiles) {
    for (const spec::ColumnEvidence& e : shard.evidence) {
      if (e.column == plan.schema.label.front()) rows += e.rows;
    }
  }
  return rows;
}

// Returns the date of a place as text. A small number rarely means 1970 and is shown as a number.
std::string MomentOrNumber(double seconds) {
  constexpr double kDay = 86'400, kMicroseconds = 1'000'000;
  std::optional<std::string> text;
  if (std::abs(seconds) >= 1e8 && std::abs(seconds) < 1e11) {
    text = std::fmod(seconds, kDay) == 0
               ? DateText(static_cast<int64_t>(seconds / kDay))
               : MomentText(static_cast<int64_t>(std::round(seconds * kMicroseconds)),
                            static_cast<int64_t>(kMicroseconds));
  }
  return text.value_or(ShortestDouble(seconds));
}

// Returns a text that describes the validation rows within the bounds.
std::string BoundsText(const std::string& column, bool groups, const PlaceBounds& bounds) {
  const double percent =
      100 * static_cast<double>(bounds.rows) / static_cast<double>(std::max<int64_t>(1, bounds.of));
  const std::string share =
      ShortestDouble(std::round(percent * 10) / 10) + " % of the training rows";
  if (groups) return "validation has whole groups by column " + Quoted(column) + ": " + share;
  return "validation has the rows" +
         (bounds.from ? " from " + MomentOrNumber(*bounds.from) + " on" : std::string()) +
         (bounds.to ? (bounds.from ? " and before " : " before ") + MomentOrNumber(*bounds.to)
                    : std::string()) +
         ", by column " + Quoted(column) + ": " + share;
}

// Returns the job with the bounds of its validation rows. REQUIRES: `yaml` is a job with a map of
// data.validation.
Result<std::string> WithBounds(const std::string& yaml, const PlaceBounds& bounds) {
  ESPALIER_ASSIGN_OR_RETURN(config::YamlNode root, config::ParseYaml(yaml, "job"));
  std::vector<config::YamlEntry>& entries = root.Find("data")->Find("validation")->entries;
  const auto add = [&entries](const char* key, const std::optional<double>& bound) {
    if (!bound) return;
    entries.push_back({config::ScalarNode(key), config::ScalarNode(ShortestDouble(*bound))});
  };
  add("from", bounds.from);
  add("to", bounds.to);
  return config::EmitYaml(root);
}

// Returns the deciles of the numbers, without repetitions. A bound is above the smallest number, so
// that no stratum is empty.
std::vector<double> Deciles(std::vector<double> numbers) {
  constexpr size_t kStrata = 10;
  std::sort(numbers.begin(), numbers.end());
  std::vector<double> bounds;
  for (size_t i = 1; i < kStrata && !numbers.empty(); ++i) {
    const double bound = numbers[i * numbers.size() / kStrata];
    if (bound > (bounds.empty() ? numbers.front() : bounds.back())) bounds.push_back(bound);
  }
  return bounds;
}

// Returns whether validation rows are drawn from strata of a number that are still to be chosen.
bool SeeksStrata(const spec::JobSpec& job) {
  const spec::ValidationSpec& v = job.data.validation;
  return v.stratify && job.model.task == spec::Task::kRegression && v.strata.empty();
}

// Returns the job with the strata of its validation rows. REQUIRES: `yaml` is a job with a map of
// data.validation.
Result<std::string> WithStrata(const std::string& yaml, const std::vector<double>& bounds) {
  ESPALIER_ASSIGN_OR_RETURN(config::YamlNode root, config::ParseYaml(yaml, "job"));
  config::YamlNode list{.kind = config::YamlNode::Kind::kSequence};
  for (const double bound : bounds) list.items.push_back(config::ScalarNode(ShortestDouble(bound)));
  root.Find("data")
      ->Find("validation")
      ->entries.push_back({config::ScalarNode("strata"), std::move(list)});
  return config::EmitYaml(root);
}

// Returns a note on the strata of a label. Without bounds, its sample had a single number.
std::string StrataText(const std::string& label, const std::vector<double>& bounds) {
  std::string text = "validation is stratified by the number " + Quoted(Printable(label)) + ": ";
  if (bounds.empty()) return text + "all sampled rows have the same number";
  text += std::to_string(bounds.size() + 1) + " strata, with bounds at ";
  for (const double bound : bounds)
    text += (bound == bounds[0] ? "" : ", ") + ShortestDouble(bound);
  return text;
}

}  // namespace

Result<JobCompletion> JobCompletion::Read(std::string_view yaml_text,
                                          std::string_view name_for_messages) {
  ESPALIER_ASSIGN_OR_RETURN(config::JobRequest request,
                            config::JobRequest::Read(yaml_text, name_for_messages));
  ESPALIER_ASSIGN_OR_RETURN(config::JobRequest::Filled filled, request.Fill(request.Likely()));
  return JobCompletion(std::string(yaml_text), std::move(request), std::move(filled.job));
}

Result<JobCompletion::Completed> JobCompletion::Complete(const storage::FileSystem& files,
                                                         const spec::EarlierModel* earlier) const {
  if (earlier != nullptr) {
    const bool task_open = request_.preset() != spec::Preset::kNone && !request_.task();
    ESPALIER_ASSIGN_OR_RETURN(KeptColumns kept, KeepNetwork(*earlier, likely_, task_open, text_));
    if (!kept.yaml.empty()) {
      ESPALIER_ASSIGN_OR_RETURN(const JobCompletion changed, Read(kept.yaml, "job"));
      ESPALIER_ASSIGN_OR_RETURN(Completed completed, changed.Complete(files, earlier));
      std::move(kept.notes.begin(), kept.notes.end(), std::back_inserter(completed.input.notes));
      return completed;
    }
  }
  return CompleteColumns(files, earlier);
}

Result<JobCompletion::Completed> JobCompletion::CompleteColumns(
    const storage::FileSystem& files, const spec::EarlierModel* earlier) const {
  ESPALIER_ASSIGN_OR_RETURN(spec::InputPlan plan,
                            PlanTable(files, likely_.data, likely_.data.shard_bytes));
  ESPALIER_ASSIGN_OR_RETURN(FeatureFindings findings, FindFeatures(files, likely_.data, plan));
  KeptColumns kept;
  if (earlier != nullptr) {
    ESPALIER_ASSIGN_OR_RETURN(kept, KeepColumns(likely_.data, plan, findings, *earlier, text_));
  }
  Completed completed;
  if (kept.yaml.empty()) {
    ESPALIER_RETURN_IF_ERROR(ApplyFindings(std::move(findings), likely_.data, &plan));
    ESPALIER_ASSIGN_OR_RETURN(completed, CompletePlan(files, std::move(plan)));
  } else {
    ESPALIER_ASSIGN_OR_RETURN(const JobCompletion changed, Read(kept.yaml, "job"));
    ESPALIER_ASSIGN_OR_RETURN(completed, changed.Complete(files));
  }
  std::move(kept.notes.begin(), kept.notes.end(), std::back_inserter(completed.input.notes));
  return completed;
}

Result<JobCompletion::Completed> JobCompletion::CompletePlan(const storage::FileSystem& files,
                                                             spec::InputPlan plan) const {
  Completed completed;
  completed.asked = text_;
  completed.input = std::move(plan);
  config::TableOutlook outlook;
  outlook.task = likely_.model.task;
  TableSample sample;
  if (request_.preset() != spec::Preset::kNone || SeeksStrata(likely_)) {
    ESPALIER_ASSIGN_OR_RETURN(sample, SampleLabels(files, likely_.data, completed.input));
  }
  if (request_.preset() != spec::Preset::kNone) {
    outlook.rows = sample.rows;
    outlook.exact = sample.exact;
    outlook.features = FeatureColumns(completed.input.schema);
    if (!request_.task()) {
      const auto label = static_cast<size_t>(completed.input.schema.label.front());
      ESPALIER_RETURN_IF_ERROR(CheckLabel(completed.input, likely_, sample.columns[label]));
      LabelTask task = TaskOfLabel(sample.columns[label]);
      outlook.task = task.task;
      completed.task_why = std::move(task.why);
      const std::string& first = completed.input.files.front().path;
      const bool records = spec::FormatOf(likely_.data, first) != spec::DataFormat::kLibsvm;
      completed.input.provisional = completed.input.provisional || (records && !sample.complete);
    }
  }
  ESPALIER_ASSIGN_OR_RETURN(config::JobRequest::Filled filled, request_.Fill(outlook));
  completed.job = std::move(filled.job);
  completed.yaml = std::move(filled.yaml);
  if (!SeeksStrata(completed.job)) return completed;
  const auto label = static_cast<size_t>(completed.input.schema.label.front());
  const std::vector<double> bounds = Deciles(sample.columns[label].counted());
  completed.input.notes.push_back(StrataText(completed.input.schema.names[label], bounds));
  ESPALIER_ASSIGN_OR_RETURN(completed.yaml, WithStrata(completed.yaml, bounds));
  ESPALIER_ASSIGN_OR_RETURN(completed.job, config::ParseJob(completed.yaml, "job"));
  return completed;
}

Result<std::optional<JobCompletion::Completed>> JobCompletion::Judge(
    const spec::InputPlan& plan, const std::string& yaml,
    std::span<const spec::ShardProfile> profiles) const {
  ESPALIER_ASSIGN_OR_RETURN(spec::JobSpec job, config::ParseJob(yaml, "job"));
  Completed completed;
  completed.input = plan;
  completed.yaml = yaml;
  completed.asked = text_;
  completed.input.provisional = false;
  completed.input.notes.clear();
  if (plan.provisional) ESPALIER_RETURN_IF_ERROR(JudgeColumnsAndTask(job, profiles, &completed));
  if (job.data.validation.seeks_bounds()) {
    ESPALIER_ASSIGN_OR_RETURN(job,
                              config::ParseJob(completed.yaml, "job"));  // its fraction may differ
    ESPALIER_RETURN_IF_ERROR(BoundValidation(job, profiles, &completed));
  }
  if (completed.input.notes.empty()) return std::optional<Completed>();
  completed.input.notes.insert(completed.input.notes.begin(), plan.notes.begin(), plan.notes.end());
  ESPALIER_ASSIGN_OR_RETURN(completed.job, config::ParseJob(completed.yaml, "job"));
  return std::optional(std::move(completed));
}

Status JobCompletion::JudgeColumnsAndTask(const spec::JobSpec& job,
                                          std::span<const spec::ShardProfile> profiles,
                                          Completed* completed) const {
  const bool task_open = request_.preset() != spec::Preset::kNone && !request_.task();
  const spec::InputPlan& plan = completed->input;
  ESPALIER_ASSIGN_OR_RETURN(TableJudgement judged, JudgeTable(plan, job, profiles, task_open));
  completed->input.schema = std::move(judged.schema);
  completed->input.notes = std::move(judged.notes);
  completed->task_why = std::move(judged.task_why);
  if (judged.task == job.model.task) return {};
  config::TableOutlook outlook = {.task = judged.task, .exact = true};
  for (const spec::ShardProfile& shard : profiles) {
    outlook.rows += shard.train_rows + shard.validation_rows;
  }
  outlook.rows += FailedRows(plan, profiles);
  outlook.features = FeatureColumns(plan.schema);
  ESPALIER_ASSIGN_OR_RETURN(config::JobRequest::Filled filled, request_.Fill(outlook));
  completed->yaml = std::move(filled.yaml);
  if (SeeksStrata(filled.job)) {
    completed->input.notes.push_back(
        "validation is not stratified by the number, because the sampled labels were classes. Set "
        "data.validation.strata");
  }
  return {};
}

Status JobCompletion::BoundValidation(const spec::JobSpec& job,
                                      std::span<const spec::ShardProfile> profiles,
                                      Completed* completed) {
  spec::RowSample places;
  for (const spec::ShardProfile& shard : profiles) {
    if (!shard.failure.ok()) return {};  // this shard has no places yet
    ESPALIER_RETURN_IF_ERROR(spec::MergeSample(shard.places, &places));
  }
  ESPALIER_ASSIGN_OR_RETURN(const PlaceBounds bounds, ChooseBounds(job.data.validation, places));
  ESPALIER_ASSIGN_OR_RETURN(completed->yaml, WithBounds(completed->yaml, bounds));
  const spec::Schema& schema = completed->input.schema;
  completed->input.notes.push_back(BoundsText(schema.names[static_cast<size_t>(schema.validation)],
                                              job.data.validation.group.has_value(), bounds));
  return {};
}

}  // namespace espalier::data
