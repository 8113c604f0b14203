#include "src/scoring/evaluation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/text.h"
#include "src/model/metrics.h"

namespace espalier::scoring {

Status CheckWeights(const spec::Schema& schema, double sum, const std::string& rows) {
  if (std::isfinite(sum)) return {};
  const std::string column =
      schema.weight < 0
          ? ""
          : " ('" + Printable(schema.names[static_cast<size_t>(schema.weight)]) + "')";
  return BadInput("the weights of " + rows + column + " add up to " + ShortestDouble(sum) +
                  "; expected a finite number: look for extreme ones in the data");
}

void AddEvaluation(const spec::ShardScore& shard, Evaluation* all) {
  all->rows += shard.rows;
  all->rejected += shard.rejected;
  for (const Status& reject : shard.first_rejects) {
    if (all->first_rejects.size() < spec::kRejectsKept) all->first_rejects.push_back(reject);
  }
  for (const auto& [column, rows] : shard.unseen) all->unseen[column] += rows;
}

size_t ResidualTargets(const ModelOutline& model) {
  if (model.document.job.model.task != spec::Task::kRegression) return 0;
  return std::min(model.document.preprocessing.targets.size(), kResidualTargetsMax);
}

void AddResiduals(const std::vector<TargetResiduals>& shard, Evaluation* all) {
  if (all->residuals.empty()) all->residuals.resize(shard.size());
  for (size_t t = 0; t < shard.size(); ++t) {
    all->residuals[t].grid.Add(shard[t].grid);
    all->residuals[t].bins.Add(shard[t].bins);
  }
}

Status FinishEvaluation(const ModelOutline& model, std::vector<double> totals, Evaluation* all) {
  const auto size =
      static_cast<size_t>(model::TotalsSize(model.shape, model::TotalsKind::kScoring));
  if (totals.empty()) totals.assign(size, 0);
  if (totals.size() != size) {
    return Internal("the evaluation has " + std::to_string(totals.size()) +
                    " totals, this model's have " + std::to_string(size));
  }
  all->totals = std::move(totals);
  if (all->rows == 0 && all->rejected > 0) {
    const Status& first = all->first_rejects[0];
    const Status error =
        BadInput("no row can be evaluated (found " + Counted(all->rejected, "row") +
                 "); the first of them: " + first.message());
    return first.position() ? error.At(*first.position()) : error;
  }
  all->metrics = model::MetricsFromTotals(model.shape, model.document.preprocessing.targets,
                                          model::TotalsKind::kScoring, all->totals);
  return CheckWeights(model.document.schema, all->metrics.weight, "all rows");
}

spec::ScoringResult ResultOf(const ModelOutline& model, const Evaluation& all, std::string report) {
  return {
      .rows = all.rows,
      .rejected = all.rejected,
      .first_rejects = all.first_rejects,
      .output = std::move(report),
      .unseen = all.unseen,
      .work = spec::EvaluationResult{all.metrics, spec::ClassNames(model.document.job.model.task,
                                                                   model.document.preprocessing)}};
}

}  // namespace espalier::scoring
