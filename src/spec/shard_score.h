// The result of a scoring job for one shard and for all shards. Workers fill a ShardScore per
// shard, and the coordinator adds them up in shard order.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "src/base/status.h"
#include "src/spec/metrics.h"
#include "src/spec/scoring_spec.h"

namespace espalier::spec {

// Maximum number of rejected rows that a result describes.
inline constexpr size_t kRejectsKept = 10;

// For each categorical column, the number of rows with a value outside the model's vocabulary. The
// value was in no training row, or in fewer than min_count of them. The model does not know which.
// Nulls are not counted. Columns without these values are left out. So are columns without a
// vocabulary: hashed columns, and columns whose values were all rare.
using UnseenCounts = std::map<std::string, int64_t>;

// A shard of a prediction.
struct PredictedShard {
  static constexpr JobKind kKind = JobKind::kPredict;
  int64_t parts = 0, reject_parts = 0;  // files of rows and of rejects
};

// A shard of an evaluation.
struct EvaluatedShard {
  static constexpr JobKind kKind = JobKind::kEvaluate;
  std::vector<double> totals;  // see model/metrics.h, kScoring; empty: added to those of all shards
};

struct ShardScore {
  int32_t shard = 0;                  // index into InputPlan::shards
  int64_t rows = 0;                   // rows with a prediction
  int64_t rejected = 0;               // rows without one
  std::vector<Status> first_rejects;  // at most kRejectsKept, with positions
  // Generation of the job in whose directory the shard's files are (scoring/staging.h).
  uint64_t generation = 0;
  UnseenCounts unseen = {};
  std::variant<PredictedShard, EvaluatedShard> work = {};

  // Return the part of a prediction or of an evaluation, or nullptr for the other one.
  const PredictedShard* predicted() const { return std::get_if<PredictedShard>(&work); }
  const EvaluatedShard* evaluated() const { return std::get_if<EvaluatedShard>(&work); }
};

// The result of a prediction.
struct PredictionResult {
  int64_t parts = 0;         // files of rows
  int64_t reject_parts = 0;  // files of rejects
  std::string format = {};   // "csv" or "parquet"
};

// The result of an evaluation.
struct EvaluationResult {
  Metrics metrics;
  std::vector<std::string> classes = {};  // classification
};

// The result of a scoring job.
struct ScoringResult {
  int64_t rows = 0;
  int64_t rejected = 0;
  std::vector<Status> first_rejects;  // at most kRejectsKept, in the order of the input
  std::string output = {};            // path; empty: an evaluation without a report
  UnseenCounts unseen = {};
  std::variant<PredictionResult, EvaluationResult> work = {};

  // Return the part of a prediction or of an evaluation, or nullptr for the other one.
  const PredictionResult* predicted() const { return std::get_if<PredictionResult>(&work); }
  const EvaluationResult* evaluated() const { return std::get_if<EvaluationResult>(&work); }
  EvaluationResult* evaluated() { return std::get_if<EvaluationResult>(&work); }
};

}  // namespace espalier::spec
