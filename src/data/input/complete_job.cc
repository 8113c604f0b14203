#include "src/data/input/complete_job.h"

#include <utility>

#include "src/data/features/column_judgement.h"
#include "src/data/input/column_sample.h"
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
    }
  }
  ESPALIER_ASSIGN_OR_RETURN(config::JobRequest::Filled filled, request_.Fill(outlook));
  completed.job = std::move(filled.job);
  completed.yaml = std::move(filled.yaml);
  return completed;
}

}  // namespace espalier::data
