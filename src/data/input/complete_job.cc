#include "src/data/input/complete_job.h"

#include <utility>

#include "src/config/job_yaml.h"
#include "src/data/features/column_judgement.h"
#include "src/data/input/column_sample.h"
#include "src/data/input/judge_table.h"
#include "src/data/input/listing.h"

namespace espalier::data {
namespace {

// Columns that the model uses. A date counts once.
int64_t FeatureColumns(const spec::Schema& schema) {
  int64_t columns = 0;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    columns += i == 0 || schema.features[i] != schema.features[i - 1];
  }
  return columns;
}

// Rows of shards that could not be read, by the evidence on their labels.
int64_t FailedRows(const spec::InputPlan& plan, std::span<const spec::ShardProfile> profiles) {
  int64_t rows = 0;
  for (const spec::ShardProfile& shard : profiles) {
    for (const spec::ColumnEvidence& e : shard.evidence) {
      if (e.column == plan.schema.label.front()) rows += e.rows;
    }
  }
  return rows;
}

}  // namespace

Result<JobCompletion> JobCompletion::Read(std::string_view yaml_text,
                                          std::string_view name_for_messages) {
  ESPALIER_ASSIGN_OR_RETURN(config::JobRequest request,
                            config::JobRequest::Read(yaml_text, name_for_messages));
  ESPALIER_ASSIGN_OR_RETURN(config::JobRequest::Filled filled, request.Fill(request.Likely()));
  return JobCompletion(std::move(request), std::move(filled.job));
}

Result<JobCompletion::Completed> JobCompletion::Complete(const storage::FileSystem& files) const {
  Completed completed;
  ESPALIER_ASSIGN_OR_RETURN(completed.input,
                            PlanInput(files, likely_.data, likely_.data.shard_bytes));
  config::TableOutlook outlook;
  outlook.task = likely_.model.task;
  if (request_.preset() != spec::Preset::kNone) {
    ESPALIER_ASSIGN_OR_RETURN(const TableSample sample,
                              SampleLabels(files, likely_.data, completed.input));
    outlook.rows = sample.rows;
    outlook.exact = sample.exact;
    outlook.features = FeatureColumns(completed.input.schema);
    if (!request_.task()) {
      const auto label = static_cast<size_t>(completed.input.schema.label.front());
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
  return completed;
}

Result<std::optional<JobCompletion::Completed>> JobCompletion::Judge(
    const spec::InputPlan& plan, const std::string& yaml,
    std::span<const spec::ShardProfile> profiles) const {
  ESPALIER_ASSIGN_OR_RETURN(spec::JobSpec job, config::ParseJob(yaml, "job"));
  const bool task_open = request_.preset() != spec::Preset::kNone && !request_.task();
  ESPALIER_ASSIGN_OR_RETURN(TableJudgement judged, JudgeTable(plan, job, profiles, task_open));
  if (judged.notes.empty()) return std::optional<Completed>();
  Completed completed;
  completed.input = plan;
  completed.input.provisional = false;
  completed.input.schema = std::move(judged.schema);
  completed.input.notes = std::move(judged.notes);
  completed.task_why = std::move(judged.task_why);
  if (judged.task == job.model.task) {
    completed.yaml = yaml;
    completed.job = std::move(job);
    return std::optional(std::move(completed));
  }
  config::TableOutlook outlook = {.task = judged.task, .exact = true};
  for (const spec::ShardProfile& shard : profiles) {
    outlook.rows += shard.train_rows + shard.validation_rows;
  }
  outlook.rows += FailedRows(plan, profiles);
  outlook.features = FeatureColumns(completed.input.schema);
  ESPALIER_ASSIGN_OR_RETURN(config::JobRequest::Filled filled, request_.Fill(outlook));
  completed.job = std::move(filled.job);
  completed.yaml = std::move(filled.yaml);
  return std::optional(std::move(completed));
}

}  // namespace espalier::data
