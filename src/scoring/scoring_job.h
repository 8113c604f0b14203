// A job that scores, as its coordinator sees it: what is to be read, and what the shards' scores
// come to. Thread rule: re-entrant functions; they read files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/scoring/prediction_plan.h"
#include "src/spec/input.h"
#include "src/spec/metrics.h"
#include "src/spec/scoring_spec.h"
#include "src/spec/shard_score.h"
#include "src/storage/file_system.h"

namespace espalier {

// Reads the model's description, lists the data and finds the columns in it; of a prediction also
// whether it may be written (CheckPrediction). Errors are those of LoadModelOutline and PlanScan.
Result<InputPlan> PlanScoring(const FileSystem& files, const ScoringSpec& spec);

struct ScoredJob {
  ScoringResult result;
  std::optional<Metrics> metrics;    // evaluations
  std::vector<std::string> classes;  // evaluations of a classification
};

// Adds the shards' scores up in their order; a prediction's output is put in place (staging.h).
// Errors are those of local predictions and evaluations.
Result<ScoredJob> MergeScores(const FileSystem& files, const ScoringSpec& spec,
                              const std::string& staging, const std::vector<ShardScore>& shards);

}  // namespace espalier
