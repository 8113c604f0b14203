#include "src/scoring/evaluate.h"

#include <utility>

#include "src/base/in_order.h"
#include "src/cluster/shard_totals.h"
#include "src/model/metrics.h"

namespace espalier::scoring {
namespace {

class ShardEvaluation {
 public:
  ShardEvaluation(const ScoringRun& run, const data::ClassIndex& index, int64_t shard,
                  Scorer* scorer, std::vector<TargetResiduals>* residuals)
      : run_(run), index_(index), shard_(shard), scorer_(*scorer), residuals_(residuals) {
    totals_.resize(
        static_cast<size_t>(model::TotalsSize(run.model.shape, model::TotalsKind::kScoring)));
    if (residuals_ != nullptr) residuals_->resize(ResidualTargets(run.model));
  }

  Result<int64_t> Take(const data::RowPiece& piece) {
    score_.rejected += static_cast<int64_t>(piece.rejects.size());
    for (const Status& reject : piece.rejects) {
      if (score_.first_rejects.size() < spec::kRejectsKept) score_.first_rejects.push_back(reject);
    }
    if (piece.rows().rows == 0) return 0;
    if (run_.model.classification()) FindClasses(piece);
    const bool residuals = residuals_ != nullptr && !residuals_->empty();
    scorer_.Evaluate(piece.rows(), piece.texts, classes_, &totals_, residuals ? &values_ : nullptr);
    if (residuals) AddResiduals(piece.rows());
    score_.rows += piece.rows().rows;
    return 0;
  }

  // Checks the sum here, because the receiver of an invalid sum could only blame the sender.
  Result<spec::ShardScore> Finish(spec::UnseenCounts unseen) {
    const spec::InputPlan& input = run_.input();
    const spec::Shard& shard = input.shards[static_cast<size_t>(shard_)];
    const Status sum =
        CheckWeights(input.schema, totals_[model::kTotalWeight], "the rows of one shard");
    if (!sum.ok()) return sum.At({.file = input.files[shard.file].path});
    score_.unseen = std::move(unseen);
    score_.work = spec::EvaluatedShard{std::move(totals_)};
    return std::move(score_);
  }

 private:
  void FindClasses(const data::RowPiece& piece) {
    for (size_t i = class_of_.size(); i < piece.texts.labels.texts().size(); ++i) {
      class_of_.push_back(index_.Of(piece.texts.labels.texts()[i]));
    }
    classes_.clear();
    for (const int32_t label : piece.rows().labels) {
      classes_.push_back(class_of_[static_cast<size_t>(label)]);
    }
  }

  void AddResiduals(const data::DecodedRows& rows) {
    const size_t targets = run_.model.document.preprocessing.targets.size();
    for (size_t r = 0; r < static_cast<size_t>(rows.rows); ++r) {
      for (size_t t = 0; t < residuals_->size(); ++t) {
        const double truth = rows.targets[r * targets + t], said = values_[r * targets + t];
        (*residuals_)[t].grid.Add(truth, said);
        (*residuals_)[t].bins.Add(said - truth);
      }
    }
  }

  const ScoringRun& run_;
  const data::ClassIndex& index_;
  const int64_t shard_;
  Scorer& scorer_;
  std::vector<TargetResiduals>* const residuals_;
  spec::ShardScore score_;
  std::vector<double> totals_;
  std::vector<int32_t> class_of_;  // by label text
  std::vector<int32_t> classes_;   // by row of a piece
  std::vector<double> values_;
};

}  // namespace

Result<spec::ShardScore> EvaluateShard(const ScoringRun& run, const data::ClassIndex& index,
                                       int64_t shard, ScorerPool* scorers,
                                       std::vector<TargetResiduals>* residuals) {
  auto scorer = scorers->Take();
  ShardEvaluation work(run, index, shard, scorer.get(), residuals);
  const Status read =
      ScoreShard(run, shard, [&](const data::RowPiece& piece) { return work.Take(piece); });
  spec::UnseenCounts unseen = scorer->TakeUnseen();
  scorers->Give(std::move(scorer));
  ESPALIER_RETURN_IF_ERROR(read);
  return work.Finish(std::move(unseen));
}

Result<Evaluation> Evaluate(const ScoringRun& run, bool with_residuals) {
  struct Counted {
    Result<spec::ShardScore> score = spec::ShardScore();
    std::vector<TargetResiduals> residuals;
  };
  const data::ClassIndex index(run.model.document.preprocessing.classes);
  ScorerPool scorers(run.model);
  Evaluation all;
  cluster::ShardTotals totals(static_cast<int32_t>(run.shards()));
  ESPALIER_RETURN_IF_ERROR(InOrder<Counted>(
      run.shards(), run.threads,
      [&](int64_t shard) {
        Counted counted;
        counted.score = EvaluateShard(run, index, shard, &scorers,
                                      with_residuals ? &counted.residuals : nullptr);
        return counted;
      },
      [&](int64_t number, Counted shard) -> Status {
        ESPALIER_RETURN_IF_ERROR(shard.score.status());
        AddResiduals(shard.residuals, &all);
        AddEvaluation(*shard.score, &all);
        totals.Add(static_cast<int32_t>(number),
                   std::move(std::get<spec::EvaluatedShard>(shard.score->work).totals));
        return {};
      }));
  ESPALIER_RETURN_IF_ERROR(FinishEvaluation(run.model, totals.Take(), &all));
  return all;
}

}  // namespace espalier::scoring
