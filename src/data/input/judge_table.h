// The judgement of a provisional plan by the profiling pass. Thread rule: re-entrant.
//
// A sample of the rows judges `features: auto` and the task when a job is submitted. The pass reads
// all rows and judges again, by the same rules (features/column_judgement.h), from what the shards
// counted: statistics of columns, the texts of vocabularies and labels, and evidence of shards with
// values of another type. That depends on the shards alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

struct TableJudgement {
  spec::Schema schema;
  spec::Task task = spec::Task::kClassification;
  std::string task_why;
  std::vector<std::string>
      notes;  // a line for each difference from the plan; none: the plan is right
};

// `profiles`: of all shards. Counts of categories of all may be in the first one, and evidence of
// all in the first one that has any.
// `task_open`: the labels choose the task. kInvalidArgument: a column needs a decision of a person,
// or no feature is left. If the plan is right, the failure of the first shard that has one.
// REQUIRES: plan.provisional.
Result<TableJudgement> JudgeTable(const spec::InputPlan& plan, const spec::JobSpec& job,
                                  std::span<const spec::ShardProfile> profiles, bool task_open);

}  // namespace espalier::data
