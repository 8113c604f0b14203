// A job that scores, as its coordinator sees it: what is to be read, and what the shards' scores
// come to. Thread rule: re-entrant functions; they read files.
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

// What a job that scores is submitted with.
struct ScoringPlan {
  spec::InputPlan input;
  std::string model_sha256;  // ModelOutline's: all who take part in the job must find that model
};

// Reads the model's description, lists the data and finds the columns in it; of a prediction also
// whether it may be written (CheckPrediction), of an evaluation whether its report may
// (CheckReportPath). Errors are those of LoadModelOutline and PlanScan.
Result<ScoringPlan> PlanScoring(const storage::FileSystem& files, const spec::ScoringSpec& spec);

// Whether members write down the residuals of an evaluation (residual_file.h), for its report.
bool TellsResiduals(const spec::ScoringSpec& spec, const ModelOutline& model);

// What is known when all shards are scored.
struct ScoringMerge {
  std::string staging;                   // of what has an output
  std::string model_sha256;              // ScoringPlan's; empty: not known
  std::vector<spec::ShardScore> shards;  // in their order; without totals
  std::vector<double> totals = {};       // of an evaluation: of all shards (cluster/shard_totals.h)
  std::function<bool()> wanted = {};     // as PutPredictions; a report is not written either
};

// Adds the shards' scores up in their order; a prediction's output is put in place (staging.h), the
// report of an evaluation written, if there is to be one (a job that is cancelled in that moment
// may leave it, whole). Errors are those of local predictions and evaluations, storage's own, and
// kFailedPrecondition: the model of an evaluation is not that of the plan; kDataLoss: residuals
// that members wrote are damaged.
Result<spec::ScoringResult> MergeScores(const storage::FileSystem& files,
                                        const spec::ScoringSpec& spec, const ScoringMerge& merge);

}  // namespace espalier::scoring
