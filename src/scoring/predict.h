// A model's answers to a table, written shard by shard as part files (part_files.h).
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/scoring/prediction_plan.h"
#include "src/scoring/scoring_run.h"

namespace espalier::scoring {

// Scores the table and writes the output, the same bytes for any number of threads. A class is that
// of the highest probability, the first of equal ones. A row whose answer overflowed is a bad row,
// with which PredictSpec::on_bad_row deals.
// Memory is that of one part and one piece of the input for each thread, whatever the table's
// size.
//
// Errors: the first shard's that has one, kBadInput for too many bad rows or nothing else, or with
// OnBadRow::kFail for the first one, kCancelled. They leave what was written, without _SUCCESS.
// REQUIRES: CheckPrediction, then BeginPredictions succeeded.
Result<spec::ScoringResult> Predict(const ScoringRun& run, const PredictSpec& spec);

// One shard of it: writes its parts into `spec.output`, a directory that exists. `columns`: as by
// PredictionColumns.
Result<spec::ShardScore> PredictShard(const ScoringRun& run, const PredictSpec& spec,
                                      const PartColumns& columns, int64_t shard,
                                      ScorerPool* scorers);

}  // namespace espalier::scoring
