#include "src/scoring/evaluate.h"

#include <algorithm>
#include <utility>

#include "src/base/in_order.h"
#include "src/base/text.h"
#include "src/data/class_text.h"
#include "src/model/metrics.h"

namespace espalier {
namespace {

// What was counted in a shard.
struct Counted {
  Status error;
  std::vector<double> totals;
  std::vector<TargetResiduals> residuals;
  int64_t rows = 0, rejected = 0;
  std::vector<Status> first_rejects;

  void Reject(Status why, int64_t rows_of_it = 1) {
    rejected += rows_of_it;
    if (first_rejects.size() < kRejectsKept) first_rejects.push_back(std::move(why));
  }
};

class ShardEvaluation {
 public:
  ShardEvaluation(const ScoringRun& run, const ClassIndex& index, bool with_residuals,
                  int64_t shard, Scorer* scorer, Counted* counted)
      : run_(run), index_(index), shard_(shard), scorer_(*scorer), counted_(*counted) {
    counted_.totals.assign(
        static_cast<size_t>(TotalsSize(run.model.shape, TotalsKind::kEvaluation)), 0);
    const size_t targets = run.model.document.preprocessing.targets.size();
    if (with_residuals && run.model.document.job.model.task == Task::kRegression)
      counted_.residuals.resize(std::min(targets, kResidualTargetsMax));
  }

  Status Take(const ScanPiece& piece) {
    for (const Status& reject : piece.rejects) counted_.Reject(reject);
    if (piece.rows.rows == 0) return {};
    if (run_.model.classification()) {
      FindClasses(piece);
      scorer_.Evaluate(piece.rows, piece.texts, classes_, &counted_.totals, nullptr);
      counted_.rows += piece.rows.rows - std::count(classes_.begin(), classes_.end(), -1);
      return {};
    }
    const bool residuals = !counted_.residuals.empty();
    scorer_.Evaluate(piece.rows, piece.texts, {}, &counted_.totals, residuals ? &values_ : nullptr);
    if (residuals) AddResiduals(piece.rows);
    counted_.rows += piece.rows.rows;
    return {};
  }

 private:
  void FindClasses(const ScanPiece& piece) {
    for (size_t i = class_of_.size(); i < piece.texts.labels.texts().size(); ++i) {
      class_of_.push_back(index_.Of(piece.texts.labels.texts()[i]));
    }
    classes_.clear();
    for (const int32_t label : piece.rows.labels) {
      classes_.push_back(class_of_[static_cast<size_t>(label)]);
      if (classes_.back() >= 0) continue;
      const Schema& schema = run_.scan.input.schema;
      const Shard& shard = run_.scan.input.shards[static_cast<size_t>(shard_)];
      counted_.Reject(BadInput("the label is no class of the model")
                          .At({.file = run_.scan.input.files[shard.file].path,
                               .column = schema.names[schema.label[0]],
                               .text = Printable(piece.texts.labels.texts()[label])}));
    }
  }

  void AddResiduals(const DecodedRows& rows) {
    const size_t targets = run_.model.document.preprocessing.targets.size();
    for (size_t r = 0; r < static_cast<size_t>(rows.rows); ++r) {
      for (size_t t = 0; t < counted_.residuals.size(); ++t) {
        const double truth = rows.targets[r * targets + t], said = values_[r * targets + t];
        counted_.residuals[t].grid.Add(truth, said);
        counted_.residuals[t].bins.Add(said - truth);
      }
    }
  }

  const ScoringRun& run_;
  const ClassIndex& index_;
  const int64_t shard_;
  Scorer& scorer_;
  Counted& counted_;
  std::vector<int32_t> class_of_;  // by label text
  std::vector<int32_t> classes_;   // by row of a piece
  std::vector<double> values_;
};

Status AddUp(Counted shard, Evaluation* all) {
  ESPALIER_RETURN_IF_ERROR(shard.error);
  AddTotals(all->totals.data(), shard.totals.data(), static_cast<int64_t>(all->totals.size()));
  if (all->residuals.empty()) all->residuals.resize(shard.residuals.size());
  for (size_t t = 0; t < shard.residuals.size(); ++t) {
    all->residuals[t].grid.Add(shard.residuals[t].grid);
    all->residuals[t].bins.Add(shard.residuals[t].bins);
  }
  all->rows += shard.rows;
  all->rejected += shard.rejected;
  for (Status& reject : shard.first_rejects) {
    if (all->first_rejects.size() < kRejectsKept) all->first_rejects.push_back(std::move(reject));
  }
  return {};
}

}  // namespace

Result<Evaluation> Evaluate(const ScoringRun& run, bool with_residuals) {
  const ClassIndex index(run.model.document.preprocessing.classes);
  ScorerPool scorers(run.model);
  const auto count = [&](int64_t shard) {
    Counted counted;
    auto scorer = scorers.Take();
    ShardEvaluation work(run, index, with_residuals, shard, scorer.get(), &counted);
    counted.error =
        ScoreShard(run, shard, [&](const ScanPiece& piece) { return work.Take(piece); });
    scorers.Give(std::move(scorer));
    return counted;
  };
  Evaluation all;
  all.totals.assign(static_cast<size_t>(TotalsSize(run.model.shape, TotalsKind::kEvaluation)), 0);
  ESPALIER_RETURN_IF_ERROR(
      InOrder<Counted>(run.shards(), run.threads, count,
                       [&](int64_t, Counted shard) { return AddUp(std::move(shard), &all); }));
  if (all.rows == 0 && all.rejected > 0) {
    const Status& first = all.first_rejects[0];
    const Status error = BadInput("none of the " + std::to_string(all.rejected) +
                                  " rows can be evaluated; the first of them: " + first.message());
    return first.position() ? error.At(*first.position()) : error;
  }
  all.metrics = MetricsFromTotals(run.model.shape, run.model.document.preprocessing.targets,
                                  TotalsKind::kEvaluation, all.totals);
  return all;
}

}  // namespace espalier
