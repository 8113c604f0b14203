// A model against a table whose answers are known.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/class_text.h"
#include "src/scoring/evaluation.h"
#include "src/scoring/scoring_run.h"

namespace espalier::scoring {

// Evaluates the model on each row of the table. A row whose label is no class of the model is a
// mistake (spec::Metrics::unknown_labels). A row that cannot be read is a reject and counts nowhere
// else. Totals of shards are added in their
// order, so the figures do not depend on the threads. On a job's own test files they are those of
// the job's own evaluation, up to the order in which losses are added (counts, and what follows
// from them, are the same; sums of losses differ by rounding).
//
// Errors: the first shard's that has one; kBadInput, there are rows and none can be evaluated, or
// their weights have no finite sum; kCancelled.
Result<Evaluation> Evaluate(const ScoringRun& run, bool with_residuals);

// One shard of it. `index`: of the model's classes. `residuals`: by target, may be null.
Result<spec::ShardScore> EvaluateShard(const ScoringRun& run, const data::ClassIndex& index,
                                       int64_t shard, ScorerPool* scorers,
                                       std::vector<TargetResiduals>* residuals);

}  // namespace espalier::scoring
