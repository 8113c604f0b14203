// Output of `espalier evaluate` and `espalier predict`.
//
// Thread rule: pure functions.
//
// As JSON, the last line:
//   {"status":"SUCCEEDED","rows":..,"rejected":..,"parts":..,"unseen_values":{COLUMN:ROWS,..},
//    "notes":[..],"output":"..","format":"csv",
//    "rejects":[{"code":..,"message":..,"file":..,"row":..,"column":..,"offset":..},..],
//    "seconds":..}
//   {"status":"SUCCEEDED","rows":..,"rejected":..,"unknown_labels":..,
//    "unseen_values":{COLUMN:ROWS,..},"notes":[..],"metrics":{..},"report":".."|null,
//    "rejects":[..],"seconds":..}
// Before it, once a second:
//   {"event":"progress","shards":..,"shards_total":..,"rows":..,"rejected":..}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/cli/json.h"
#include "src/spec/shard_score.h"
#include "src/spec/snapshots.h"

namespace espalier::cli {

// Returns the progress: "scoring [====> ] 34 % 1,234,567 rows 12,345 rows/s".
std::string ScoringLine(int64_t shards, int64_t shards_total, int64_t rows, int64_t elapsed_ms);
Json ScoringProgressJson(int64_t shards, int64_t shards_total, int64_t rows, int64_t rejected);

// `notes`: spec::InputPlan::notes.
std::string PredictText(const spec::ScoringResult& result, const std::vector<std::string>& notes,
                        int64_t elapsed_ms, bool color);
Json PredictJson(const spec::ScoringResult& result, const std::vector<std::string>& notes,
                 int64_t elapsed_ms);

// REQUIRES: result.metrics.
std::string EvaluateText(const spec::ScoringResult& result, const std::vector<std::string>& notes,
                         int64_t elapsed_ms, bool color);
Json EvaluateJson(const spec::ScoringResult& result, const std::vector<std::string>& notes,
                  int64_t elapsed_ms);

// Return the result of a cluster job that has succeeded. The JSON object also contains the job. The
// text has no notes, because a view shows them when the job is planned. REQUIRES: job.scored().
std::string ScoredJobText(const spec::JobSnapshot& job, bool color);
Json ScoredJobJson(const spec::JobSnapshot& job);

Json ExportJson(const std::string& path, int64_t bytes);

}  // namespace espalier::cli
