#include "src/scoring/evaluation.h"

#include "src/model/metrics.h"

namespace espalier {

Evaluation EmptyEvaluation(const ModelOutline& model) {
  Evaluation all;
  all.totals.assign(static_cast<size_t>(TotalsSize(model.shape, TotalsKind::kEvaluation)), 0);
  return all;
}

Status AddEvaluation(const ShardScore& shard, Evaluation* all) {
  if (shard.totals.size() != all->totals.size()) {
    return Internal("a shard's evaluation has " + std::to_string(shard.totals.size()) +
                    " totals, this model's have " + std::to_string(all->totals.size()));
  }
  AddTotals(all->totals.data(), shard.totals.data(), static_cast<int64_t>(all->totals.size()));
  all->rows += shard.rows;
  all->rejected += shard.rejected;
  for (const Status& reject : shard.first_rejects) {
    if (all->first_rejects.size() < kRejectsKept) all->first_rejects.push_back(reject);
  }
  return {};
}

Status FinishEvaluation(const ModelOutline& model, Evaluation* all) {
  if (all->rows == 0 && all->rejected > 0) {
    const Status& first = all->first_rejects[0];
    const Status error = BadInput("none of the " + std::to_string(all->rejected) +
                                  " rows can be evaluated; the first of them: " + first.message());
    return first.position() ? error.At(*first.position()) : error;
  }
  all->metrics = MetricsFromTotals(model.shape, model.document.preprocessing.targets,
                                   TotalsKind::kEvaluation, all->totals);
  return {};
}

}  // namespace espalier
