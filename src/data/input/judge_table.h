// Judges a provisional plan by the profiling pass. Thread rule: re-entrant.
//
// At submission, a sample of the rows decides `features: auto` and the task. The profiling pass
// reads all rows and decides again, by the same rules (features/column_judgement.h). It uses what
// the shards counted: statistics of columns, the texts of vocabularies and labels, and evidence
// from shards with values of another type. The result depends only on the shards.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/features/column_judgement.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

struct TableJudgement {
  spec::Schema schema;
  spec::Task task = spec::Task::kClassification;
  std::string task_why;
  std::vector<std::string> notes;  // one line per difference from the plan; none: the plan is right
};

// Checks a label whose task is open. kInvalidArgument: it is written as numbers or dates, and only
// the user can decide whether they are targets or classes (UndecidedLabel).
Status CheckLabel(const spec::InputPlan& plan, const spec::JobSpec& job,
                  const ColumnSample& labels);

// `profiles`: profiles of all shards. The first one may hold the counts of categories of all, and
// the first one with evidence may hold the evidence of all. `task_open`: the labels decide the
// task.
//
// kInvalidArgument: a column needs a decision by the user, or no feature is left. If the plan is
// right but shards failed, returns the failure of the first of them. REQUIRES: plan.provisional.
Result<TableJudgement> JudgeTable(const spec::InputPlan& plan, const spec::JobSpec& job,
                                  std::span<const spec::ShardProfile> profiles, bool task_open);

}  // namespace espalier::data
