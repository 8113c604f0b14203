// Evaluation of a model on a table with known labels or targets.
//
// Thread rule: re-entrant functions.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/class_text.h"
#include "src/scoring/evaluation.h"
#include "src/scoring/scoring_run.h"

namespace espalier::scoring {

// Evaluates the model on each row of the table. A row whose label is not a class of the model is a
// mistake (spec::Metrics::unknown_labels). A row that cannot be read is a reject and is not counted
// anywhere else. The totals of shards are added in shard order, so the metrics do not depend on the
// threads.
//
// On a job's own test files, the metrics are those of the job's own evaluation, except for the
// order in which losses are added. Counts, and metrics derived from them, are identical. Sums of
// losses differ by rounding.
//
// Errors: the error of the first shard that has one. kBadInput: there are rows, but none can be
// evaluated, or their weights have no finite sum. kCancelled.
Result<Evaluation> Evaluate(const ScoringRun& run, bool with_residuals);

// Evaluates one shard. `index` is for the model's classes. `residuals` has one entry per target and
// may be null.
Result<spec::ShardScore> EvaluateShard(const ScoringRun& run, const data::ClassIndex& index,
                                       int64_t shard, ScorerPool* scorers,
                                       std::vector<TargetResiduals>* residuals);

}  // namespace espalier::scoring
