// Predictions of a model for a table, written shard by shard as part files (part_files.h).
//
// Thread rule: re-entrant functions.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/scoring/prediction_plan.h"
#include "src/scoring/scoring_run.h"

namespace espalier::scoring {

// Scores the table and writes the output. The bytes do not depend on the number of threads. The
// predicted class is the one with the highest probability, and the first one of equal ones. A row
// whose output overflows is a bad row, which PredictSpec::on_bad_row handles. Each thread needs
// memory for one part and one piece of the input, regardless of the size of the table.
//
// Errors: the error of the first shard that has one. kBadInput: too many bad rows, only bad rows,
// or with OnBadRow::kFail the first bad row. kCancelled. After an error, written files remain,
// without _SUCCESS. REQUIRES: CheckPrediction, then BeginPredictions succeeded.
Result<spec::ScoringResult> Predict(const ScoringRun& run, const PredictSpec& spec);

// Predicts one shard and writes its parts into `spec.output`, which exists. `columns` comes from
// PredictionColumns.
Result<spec::ShardScore> PredictShard(const ScoringRun& run, const PredictSpec& spec,
                                      const PartColumns& columns, int64_t shard,
                                      ScorerPool* scorers);

}  // namespace espalier::scoring
