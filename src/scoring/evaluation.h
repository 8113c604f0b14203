// The result of evaluating a model on a table, shard by shard. The computation itself is in
// evaluate.h.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/scoring/model_outline.h"
#include "src/scoring/residuals.h"
#include "src/spec/input.h"
#include "src/spec/metrics.h"
#include "src/spec/shard_score.h"

namespace espalier::scoring {

// Maximum number of targets with residuals. Later targets have none.
inline constexpr size_t kResidualTargetsMax = 8;

struct TargetResiduals {
  ResidualGrid grid;
  ResidualBins bins;
};

struct Evaluation {
  spec::Metrics metrics;
  std::vector<double> totals;              // of model/metrics.h, TotalsKind::kScoring
  std::vector<TargetResiduals> residuals;  // regression, on request; one per target
  int64_t rows = 0;                        // evaluated rows
  int64_t rejected = 0;
  std::vector<Status> first_rejects;  // at most kRejectsKept
  spec::UnseenCounts unseen;
};

// Returns the number of the model's targets whose residuals a report shows.
size_t ResidualTargets(const ModelOutline& model);
// Checks the sum of the weights of `rows` (for example "all rows"). kBadInput: it is not finite.
Status CheckWeights(const spec::Schema& schema, double sum, const std::string& rows);
// Adds the next shard in order, except for its totals.
void AddEvaluation(const spec::ShardScore& shard, Evaluation* all);
// Adds the residuals of a shard. The order of the shards does not matter.
void AddResiduals(const std::vector<TargetResiduals>& shard, Evaluation* all);
// Fills the metrics from the totals of all shards (cluster/shard_totals.h), which are empty without
// shards. Call it after the last shard. kBadInput: there are rows, but none could be evaluated, or
// their weights have no finite sum. kInternal: the totals do not match this model.
Status FinishEvaluation(const ModelOutline& model, std::vector<double> totals, Evaluation* all);
// Returns the result of a finished evaluation. `report` is the path of its report; empty: no
// report.
spec::ScoringResult ResultOf(const ModelOutline& model, const Evaluation& all, std::string report);

}  // namespace espalier::scoring
