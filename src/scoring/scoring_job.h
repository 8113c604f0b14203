// The coordinator's part of a scoring job: the plan of the input, and the merge of the shards'
// scores.
//
// Thread rule: re-entrant functions, which read files.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/scoring/model_outline.h"
#include "src/scoring/prediction_plan.h"
#include "src/spec/input.h"
#include "src/spec/scoring_spec.h"
#include "src/spec/shard_score.h"
#include "src/storage/file_system.h"

namespace espalier::scoring {

// The plan that a scoring job is submitted with.
struct ScoringPlan {
  spec::InputPlan input;
  std::string model_sha256;  // sha256 of the ModelOutline, which all members of the job check
};

// Reads the model's description, lists the data and finds the columns in it. For a prediction,
// checks whether its output may be written (CheckPrediction). For an evaluation, checks its report
// (CheckReportPath). Errors are those of LoadModelOutline and PlanScan, and of these checks.
Result<ScoringPlan> PlanScoring(const storage::FileSystem& files, const spec::ScoringSpec& spec);

// Returns whether members write the residuals of an evaluation (residual_file.h) for its report.
bool TellsResiduals(const spec::ScoringSpec& spec, const ModelOutline& model);

// The state after all shards are scored.
struct ScoringMerge {
  std::string staging;                   // staging directory of a job with an output
  std::string model_sha256;              // from ScoringPlan; empty: unknown
  std::vector<spec::ShardScore> shards;  // in order, without totals
  // Evaluation: totals of all shards (cluster/shard_totals.h).
  std::vector<double> totals = {};
  std::vector<std::string> notes = {};  // InputPlan::notes, for the report
  // As in PutPredictions. If it returns false, no report is written either.
  std::function<bool()> wanted = {};
};

// Adds up the shards' scores in order. Puts a prediction's output in place (staging.h), or writes
// the report of an evaluation, if requested. A job that is cancelled at that moment may leave its
// complete report. Errors are those of local predictions and evaluations, and of storage.
// kFailedPrecondition: the model of an evaluation differs from the plan's model. kDataLoss:
// residuals from members are damaged.
Result<spec::ScoringResult> MergeScores(const storage::FileSystem& files,
                                        const spec::ScoringSpec& spec, const ScoringMerge& merge);

}  // namespace espalier::scoring
