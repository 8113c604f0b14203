// What an evaluation of a model on a table comes to, shard by shard: all of it but the computing
// (evaluate.h). Thread rule: values and pure functions.
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

// Targets whose residuals are counted, the first ones.
inline constexpr size_t kResidualTargetsMax = 8;

struct TargetResiduals {
  ResidualGrid grid;
  ResidualBins bins;
};

struct Evaluation {
  spec::Metrics metrics;
  std::vector<double> totals;              // of model/metrics.h, TotalsKind::kScoring
  std::vector<TargetResiduals> residuals;  // regression, when they were asked for; by target
  int64_t rows = 0;                        // evaluated
  int64_t rejected = 0;
  std::vector<Status> first_rejects;  // kRejectsKept at most
  spec::UnseenCounts unseen;
};

// Targets of the model whose residuals a report shows.
size_t ResidualTargets(const ModelOutline& model);
// What the weights of `rows` ("all rows", say) add up to. kBadInput: not to a finite number.
Status CheckWeights(const spec::Schema& schema, double sum, const std::string& rows);
// The next shard in order: all but its totals.
void AddEvaluation(const spec::ShardScore& shard, Evaluation* all);
// Residuals of a shard, in any order.
void AddResiduals(const std::vector<TargetResiduals>& shard, Evaluation* all);
// After the last one: fills the metrics from the totals of all shards (cluster/shard_totals.h),
// which are empty when there is none. kBadInput: there are rows, and none could be evaluated, or
// their weights have no finite sum; kInternal: the totals are not of this model.
Status FinishEvaluation(const ModelOutline& model, std::vector<double> totals, Evaluation* all);
// The result of a finished evaluation. `report`: path of its report; empty: none.
spec::ScoringResult ResultOf(const ModelOutline& model, const Evaluation& all, std::string report);

}  // namespace espalier::scoring
