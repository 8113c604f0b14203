// What a job that scores found in one shard, and in all of them. Plain structs: workers fill the
// first one, the coordinator adds them up in shard order.
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

// Rejected rows that a result describes.
inline constexpr size_t kRejectsKept = 10;

// By categorical column: rows with a value that the vocabulary of the model does not have. The
// value was not among the training rows, or fewer of them than min_count had it. Columns without
// any are left out, and so are hashed ones, which have no vocabulary.
using UnseenCounts = std::map<std::string, int64_t>;

struct ShardScore {
  int32_t shard = 0;                  // index into InputPlan::shards
  int64_t rows = 0;                   // that have an answer
  int64_t rejected = 0;               // that have none
  std::vector<Status> first_rejects;  // kRejectsKept at most, with positions
  // Predictions: files of rows and of rejects that were written, below the directory of this
  // generation of the job (scoring/staging.h).
  int64_t parts = 0, reject_parts = 0;
  uint64_t generation = 0;
  std::vector<double> totals = {};  // evaluations: of model/metrics.h, kScoring
  UnseenCounts unseen = {};
};

// Result of a job that scores.
struct ScoringResult {
  int64_t rows = 0;
  int64_t rejected = 0;
  std::vector<Status> first_rejects;  // kRejectsKept at most, in the order of the input
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
