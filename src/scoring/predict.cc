#include "src/scoring/predict.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "src/base/in_order.h"
#include "src/model/loss.h"
#include "src/spec/names.h"

namespace espalier::scoring {
namespace {

// Answers that are in memory at a time, but for a batch's at least: with many classes those of a
// piece of narrow rows would be gigabytes.
constexpr int64_t kAnswersAtOnce = 64 << 10;

Status Overflowed() {
  return BadInput(
      "the model's answer is no finite number; expected a row nearer to those of the "
      "training");
}

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
                 spec::PartFormat::kCsv, reject_columns, spec.part_bytes) {}

  Result<int64_t> Take(const data::RowPiece& piece) {
    overflowed_.clear();
    const int64_t batches = kAnswersAtOnce / (kScoringBatch * run_.model.width());
    const int64_t some = std::max<int64_t>(1, batches) * kScoringBatch;
    for (int64_t first = 0; first < piece.rows().rows; first += some) {
      ESPALIER_RETURN_IF_ERROR(TakeRows(piece, first, std::min(some, piece.rows().rows - first)));
    }
    const auto more = static_cast<int64_t>(overflowed_.size());
    score_.rows += piece.rows().rows - more;
    ESPALIER_RETURN_IF_ERROR(TakeRejects(piece));
    return more;
  }

  Result<spec::ShardScore> Finish() {
    ESPALIER_RETURN_IF_ERROR(parts_.Finish());
    ESPALIER_RETURN_IF_ERROR(rejects_.Finish());
    score_.parts = parts_.parts();
    score_.reject_parts = rejects_.parts();
    return std::move(score_);
  }

 private:
  Status TakeRows(const data::RowPiece& piece, int64_t first, int64_t count) {
    scorer_.PredictSome(piece.rows(), piece.texts, first, count, &values_);
    // From an overflowed row to the next one.
    for (int64_t begin = 0; begin < count; ++begin) {
      const int64_t end = EndOfFinite(begin, count);
      ESPALIER_RETURN_IF_ERROR(WriteRows(piece, first, begin, end));
      begin = end;
      if (end < count) overflowed_.push_back(first + end);
    }
    return {};
  }

  // The first row from `begin` on whose values are not all finite, or `count`.
  int64_t EndOfFinite(int64_t begin, int64_t count) const {
    const auto from = values_.begin() + begin * run_.model.width();
    const auto odd = std::find_if(from, values_.end(), [](double v) { return !std::isfinite(v); });
    return odd == values_.end() ? count : (odd - values_.begin()) / run_.model.width();
  }

  // Rows [begin, end) of values_, which are those from `first` on of the piece.
  Status WriteRows(const data::RowPiece& piece, int64_t first, int64_t begin, int64_t end) {
    const auto width = static_cast<size_t>(run_.model.width());
    const auto values = std::span<const double>(values_).subspan(
        static_cast<size_t>(begin) * width, static_cast<size_t>(end - begin) * width);
    classes_.clear();
    for (size_t r = 0; run_.model.classification() && r * width < values.size(); ++r) {
      classes_.push_back(
          static_cast<int32_t>(model::PredictedClass(run_.model.shape, values.data() + r * width)));
    }
    std::span<const double> written;
    if (!columns_.numbers.empty()) written = run_.model.multilabel() ? Decide(values) : values;
    return parts_.Add(piece.kept, end - begin, classes_, written, first + begin);
  }

  // What is written of each row's probabilities: the labels they decide, themselves.
  std::span<const double> Decide(std::span<const double> values) {
    const auto width = static_cast<size_t>(run_.model.width());
    decided_.clear();
    for (size_t begin = 0; begin < values.size(); begin += width) {
      const auto row = values.subspan(begin, width);
      for (size_t k = 0; spec_.prediction && k < width; ++k) decided_.push_back(row[k] > 0.5);
      if (spec_.probabilities) decided_.insert(decided_.end(), row.begin(), row.end());
    }
    return decided_;
  }

  Status TakeRejects(const data::RowPiece& piece) {
    if (piece.rejects.empty() && overflowed_.empty()) return {};
    if (score_.rejected == 0) {
      ESPALIER_RETURN_IF_ERROR(run_.files.MakeDirectory(spec_.output + "/" + kRejectsDirectory));
    }
    data::KeptColumns rows(6);
    int64_t count = 0;
    MergeRejects(
        piece, overflowed_, [](int64_t) { return Overflowed(); },
        [&](const Status& reject) {
          AddReject(reject, &rows);
          ++count;
          if (score_.first_rejects.size() < spec::kRejectsKept) {
            score_.first_rejects.push_back(reject);
          }
        });
    score_.rejected += count;
    return rejects_.Add(rows, count, {}, {});
  }

  const ScoringRun& run_;
  const PredictSpec& spec_;
  const PartColumns& columns_;
  Scorer& scorer_;
  PartWriter parts_, rejects_;
  spec::ShardScore score_;
  std::vector<double> values_, decided_;
  std::vector<int32_t> classes_;
  std::vector<int64_t> overflowed_;  // rows of the piece
};

}  // namespace

Result<spec::ShardScore> PredictShard(const ScoringRun& run, const PredictSpec& spec,
                                      const PartColumns& columns, int64_t shard,
                                      ScorerPool* scorers) {
  const PartColumns reject_columns = RejectColumns(spec.spreadsheet_safe);
  auto scorer = scorers->Take();
  ShardPrediction work(run, spec, columns, reject_columns, shard, scorer.get());
  const Status read =
      ScoreShard(run, shard, [&](const data::RowPiece& piece) { return work.Take(piece); });
  scorers->Give(std::move(scorer));
  ESPALIER_RETURN_IF_ERROR(read);
  return work.Finish();
}

Result<spec::ScoringResult> Predict(const ScoringRun& run, const PredictSpec& spec) {
  ESPALIER_ASSIGN_OR_RETURN(const PartColumns columns, PredictionColumns(run.model, spec));
  ScorerPool scorers(run.model);
  spec::ScoringResult result;
  result.output = spec.output;
  result.format = spec::NameOf(spec.format);
  ESPALIER_RETURN_IF_ERROR(InOrder<Result<spec::ShardScore>>(
      run.shards(), run.threads,
      [&](int64_t shard) { return PredictShard(run, spec, columns, shard, &scorers); },
      [&](int64_t, Result<spec::ShardScore> shard) {
        return shard.ok() ? AddPrediction(spec, *shard, &result) : shard.status();
      }));
  ESPALIER_RETURN_IF_ERROR(JudgePrediction(result));
  ESPALIER_RETURN_IF_ERROR(EndPredictions(run.files, spec.output));
  return result;
}

}  // namespace espalier::scoring
