#include "src/scoring/predict.h"

#include <algorithm>
#include <span>
#include <utility>

#include "src/base/in_order.h"
#include "src/model/loss.h"
#include "src/spec/names.h"

namespace espalier {
namespace {

// Answers that are in memory at a time, but for a batch's at least: with many classes those of a
// piece of narrow rows would be gigabytes.
constexpr int64_t kAnswersAtOnce = 64 << 10;

class ShardPrediction {
 public:
  ShardPrediction(const ScoringRun& run, const PredictSpec& spec, const PartColumns& columns,
                  const PartColumns& reject_columns, int64_t shard, Scorer* scorer)
      : run_(run),
        spec_(spec),
        columns_(columns),
        scorer_(*scorer),
        parts_(run.files, spec.output, shard, run.shards(), spec.format, columns, spec.part_bytes),
        rejects_(run.files, spec.output + "/" + kRejectsDirectory, shard, run.shards(),
                 PartFormat::kCsv, reject_columns, spec.part_bytes) {}

  Status Take(const ScanPiece& piece) {
    const int64_t batches = kAnswersAtOnce / (kScoringBatch * run_.model.width());
    const int64_t some = std::max<int64_t>(1, batches) * kScoringBatch;
    for (int64_t first = 0; first < piece.rows.rows; first += some) {
      ESPALIER_RETURN_IF_ERROR(TakeRows(piece, first, std::min(some, piece.rows.rows - first)));
    }
    score_.rows += piece.rows.rows;
    return TakeRejects(piece.rejects);
  }

  Result<ShardScore> Finish() {
    ESPALIER_RETURN_IF_ERROR(parts_.Finish());
    ESPALIER_RETURN_IF_ERROR(rejects_.Finish());
    score_.parts = parts_.parts();
    score_.reject_parts = rejects_.parts();
    return std::move(score_);
  }

 private:
  Status TakeRows(const ScanPiece& piece, int64_t first, int64_t count) {
    scorer_.PredictSome(piece.rows, piece.texts, first, count, &values_);
    classes_.clear();
    const auto width = static_cast<size_t>(run_.model.width());
    for (size_t r = 0; run_.model.classification() && r * width < values_.size(); ++r) {
      classes_.push_back(
          static_cast<int32_t>(PredictedClass(run_.model.shape, values_.data() + r * width)));
    }
    if (run_.model.multilabel()) Decide(width);
    if (columns_.numbers.empty()) values_.clear();
    return parts_.Add(piece.kept, count, classes_, values_, first);
  }

  // Of each row's probabilities makes what is written of it: the labels they decide, themselves.
  void Decide(size_t width) {
    std::vector<double> written;
    for (size_t begin = 0; begin < values_.size(); begin += width) {
      const auto row = std::span(values_).subspan(begin, width);
      for (size_t k = 0; spec_.prediction && k < width; ++k) written.push_back(row[k] > 0.5);
      if (spec_.probabilities) written.insert(written.end(), row.begin(), row.end());
    }
    values_ = std::move(written);
  }

  Status TakeRejects(const std::vector<Status>& rejects) {
    if (rejects.empty()) return {};
    if (score_.rejected == 0) {
      ESPALIER_RETURN_IF_ERROR(run_.files.MakeDirectory(spec_.output + "/" + kRejectsDirectory));
    }
    KeptColumns rows(6);
    for (const Status& reject : rejects) {
      AddReject(reject, &rows);
      if (score_.first_rejects.size() < kRejectsKept) score_.first_rejects.push_back(reject);
    }
    const auto count = static_cast<int64_t>(rejects.size());
    score_.rejected += count;
    return rejects_.Add(rows, count, {}, {});
  }

  const ScoringRun& run_;
  const PredictSpec& spec_;
  const PartColumns& columns_;
  Scorer& scorer_;
  PartWriter parts_, rejects_;
  ShardScore score_;
  std::vector<double> values_;
  std::vector<int32_t> classes_;
};

}  // namespace

Result<ShardScore> PredictShard(const ScoringRun& run, const PredictSpec& spec,
                                const PartColumns& columns, int64_t shard, ScorerPool* scorers) {
  const PartColumns reject_columns = RejectColumns();
  auto scorer = scorers->Take();
  ShardPrediction work(run, spec, columns, reject_columns, shard, scorer.get());
  const Status read =
      ScoreShard(run, shard, [&](const ScanPiece& piece) { return work.Take(piece); });
  scorers->Give(std::move(scorer));
  ESPALIER_RETURN_IF_ERROR(read);
  return work.Finish();
}

Result<ScoringResult> Predict(const ScoringRun& run, const PredictSpec& spec) {
  ESPALIER_ASSIGN_OR_RETURN(const PartColumns columns, PredictionColumns(run.model, spec));
  ScorerPool scorers(run.model);
  ScoringResult result;
  result.format = NameOf(spec.format);
  ESPALIER_RETURN_IF_ERROR(InOrder<Result<ShardScore>>(
      run.shards(), run.threads,
      [&](int64_t shard) { return PredictShard(run, spec, columns, shard, &scorers); },
      [&](int64_t, Result<ShardScore> shard) {
        return shard.ok() ? AddPrediction(spec, *shard, &result) : shard.status();
      }));
  ESPALIER_RETURN_IF_ERROR(JudgePrediction(result));
  ESPALIER_RETURN_IF_ERROR(EndPredictions(run.files, spec.output));
  return result;
}

}  // namespace espalier
