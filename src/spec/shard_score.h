// The result of a scoring job for one shard and for all shards. Workers fill a ShardScore per
// shard, and the coordinator adds them up in shard order.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/metrics.h"

namespace espalier::spec {

// Maximum number of rejected rows that a result describes.
inline constexpr size_t kRejectsKept = 10;

// For each categorical column, the number of rows with a value outside the model's vocabulary. The
// value was in no training row, or in fewer than min_count of them. The model does not know which.
// Nulls are not counted. Columns without these values are left out. So are columns without a
// vocabulary: hashed columns, and columns whose values were all rare.
using UnseenCounts = std::map<std::string, int64_t>;

struct ShardScore {
  int32_t shard = 0;                  // index into InputPlan::shards
  int64_t rows = 0;                   // rows with a prediction
  int64_t rejected = 0;               // rows without one
  std::vector<Status> first_rejects;  // at most kRejectsKept, with positions
  // Predictions: number of files of rows and of rejects, in the directory of this generation of the
  // job (scoring/staging.h).
  int64_t parts = 0, reject_parts = 0;
  uint64_t generation = 0;
  std::vector<double> totals = {};  // evaluations: see model/metrics.h, kScoring
  UnseenCounts unseen = {};
};

// The result of a scoring job.
struct ScoringResult {
  int64_t rows = 0;
  int64_t rejected = 0;
  std::vector<Status> first_rejects;  // at most kRejectsKept, in the order of the input
  std::string output = {};            // path; empty: an evaluation without a report
  UnseenCounts unseen = {};
  // Predictions:
  int64_t parts = 0;         // files of rows
  int64_t reject_parts = 0;  // files of rejects
  std::string format = {};   // "csv" or "parquet"
  // Evaluations:
  std::optional<Metrics> metrics = {};
  std::vector<std::string> classes = {};  // classification
};

}  // namespace espalier::spec
