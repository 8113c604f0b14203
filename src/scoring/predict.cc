#include "src/scoring/predict.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "src/base/in_order.h"
#include "src/model/loss.h"

namespace espalier::scoring {
namespace {

// Maximum number of outputs in memory, but at least those of one batch. With many classes, the
// outputs for a piece of narrow rows would take gigabytes.
constexpr int64_t kAnswersAtOnce = 64 << 10;

Status Overflowed() {
  return BadInput(
      "the model's answer is not a finite number; expected a row closer to the training "
      "rows");
}

class ShardPrediction {
 public:
  ShardPrediction(const ScoringRun& run, const PredictSpec& spec, const PartColumns& columns,
                  const PartColumns& reject_columns, int64_t shard, Scorer* scorer)
      : run_(run),
        spec_(spec),
        columns_(columns),
        scorer_(*scorer),
        first_(shard == 0),
        parts_(run.files, spec.output, shard, run.shards(), spec.format, columns, spec.part_bytes),
        rejects_(run.files, spec.output + "/" + kRejectsDirectory, shard, run.shards(),
                 spec::PartFormat::kCsv, reject_columns, spec.part_bytes) {}

  Result<int64_t> Take(const data::RowPiece& piece) {
    const int64_t rows = piece.rows().rows;
    const int64_t batches = kAnswersAtOnce / (kScoringBatch * run_.model.width());
    const int64_t some = std::max<int64_t>(1, batches) * kScoringBatch;
    const int64_t answered = score_.rows;
    entry_ = reject_ = 0;
    int64_t first = 0;
    do {
      const int64_t count = std::min(some, rows - first);
      ESPALIER_RETURN_IF_ERROR(TakeRows(piece, first, count));
      first += count;
    } while (first < rows);
    return rows - (score_.rows - answered);
  }

  Result<spec::ShardScore> Finish(spec::UnseenCounts unseen) {
    // With one part at least, other programs find the columns of an output without rows.
    ESPALIER_RETURN_IF_ERROR(parts_.Finish(first_));
    ESPALIER_RETURN_IF_ERROR(rejects_.Finish());
    score_.work = spec::PredictedShard{parts_.parts(), rejects_.parts()};
    score_.unseen = std::move(unseen);
    return std::move(score_);
  }

 private:
  // Processes rows [first, first + count) of a piece, and the rejects before each of them. After
  // the last row, also processes the rejects after it.
  Status TakeRows(const data::RowPiece& piece, int64_t first, int64_t count) {
    if (count > 0) scorer_.PredictSome(piece.rows(), piece.texts, first, count, &values_);
    const auto width = static_cast<size_t>(run_.model.width());
    for (int64_t r = 0; r < count; ++r) {
      ESPALIER_RETURN_IF_ERROR(TakeRejects(piece, piece.slots[static_cast<size_t>(first + r)]));
      const auto answer =
          std::span<const double>(values_).subspan(static_cast<size_t>(r) * width, width);
      const bool finite = std::all_of(answer.begin(), answer.end(),
                                      [](double value) { return std::isfinite(value); });
      if (finite) {
        AddAnswer(answer);
      } else {
        ESPALIER_RETURN_IF_ERROR(TakeBad(piece, Overflowed().At(piece.places.OfRow(first + r))));
      }
    }
    const auto rejects = static_cast<int64_t>(piece.rejects.size());
    if (first + count == piece.rows().rows) {
      ESPALIER_RETURN_IF_ERROR(TakeRejects(piece, piece.rows().rows + rejects));
    }
    ESPALIER_RETURN_IF_ERROR(WriteRun(piece));
    return WriteRejects();
  }

  // Processes the rejects before the entry `end` of the piece, in the order of the input.
  Status TakeRejects(const data::RowPiece& piece, int64_t end) {
    while (entry_ < end) ESPALIER_RETURN_IF_ERROR(TakeBad(piece, piece.rejects[reject_++]));
    return {};
  }

  // Processes the entry at entry_, which has a prediction.
  void AddAnswer(std::span<const double> answer) {
    if (run_.model.classification()) {
      classes_.push_back(
          static_cast<int32_t>(model::PredictedClass(run_.model.shape, answer.data())));
    }
    if (run_.model.multilabel()) {
      for (const double p : answer) {
        if (spec_.prediction) numbers_.push_back(p > 0.5);
      }
    }
    const bool written = !run_.model.multilabel() || spec_.probabilities;
    if (written && !columns_.numbers.empty()) {
      numbers_.insert(numbers_.end(), answer.begin(), answer.end());
    }
    AddIntervals(answer);
    if (!reasons_.empty()) reasons_.emplace_back();
    ++run_rows_;
    ++entry_;
    ++score_.rows;
  }

  // Adds the ends of the prediction intervals, if the model has them. Counts are never negative.
  void AddIntervals(std::span<const double> answer) {
    const bundle::ModelDocument& document = run_.model.document;
    if (!document.intervals) return;
    const bool counts = run_.model.shape.loss == spec::Loss::kPoisson;
    for (const double sign : {-1.0, 1.0}) {
      for (size_t k = 0; k < answer.size(); ++k) {
        const double end = answer[k] + sign * document.intervals->half_widths[k];
        numbers_.push_back(counts ? std::max(0.0, end) : end);
      }
    }
  }

  // Processes the entry at entry_, which has no prediction.
  Status TakeBad(const data::RowPiece& piece, const Status& reject) {
    if (spec_.on_bad_row == spec::OnBadRow::kFail) {
      return reject.Wrap("a row cannot be scored, and on_bad_row is fail");
    }
    ++score_.rejected;
    if (score_.first_rejects.size() < spec::kRejectsKept) score_.first_rejects.push_back(reject);
    if (spec_.on_bad_row == spec::OnBadRow::kReject) {
      AddReject(reject, &reject_rows_);
      ++rejects_waiting_;
      ESPALIER_RETURN_IF_ERROR(WriteRun(piece));
      ++entry_;
      return {};
    }
    if (run_.model.classification()) classes_.push_back(-1);
    numbers_.resize(numbers_.size() + columns_.numbers.size(),
                    std::numeric_limits<double>::quiet_NaN());
    reasons_.resize(static_cast<size_t>(run_rows_));
    reasons_.push_back(ReasonOf(reject));
    ++run_rows_;
    ++entry_;
    return {};
  }

  // Writes the entries before entry_ that were processed since the last run.
  Status WriteRun(const data::RowPiece& piece) {
    const PartRows rows{.kept = piece.kept,
                        .first = entry_ - run_rows_,
                        .rows = run_rows_,
                        .word_of = classes_,
                        .numbers = numbers_,
                        .reasons = reasons_};
    const Status added = parts_.Add(rows);
    run_rows_ = 0;
    classes_.clear();
    numbers_.clear();
    reasons_.clear();
    return added;
  }

  Status WriteRejects() {
    if (rejects_waiting_ == 0) return {};
    if (!has_rejects_) {
      ESPALIER_RETURN_IF_ERROR(run_.files.MakeDirectory(spec_.output + "/" + kRejectsDirectory));
      has_rejects_ = true;
    }
    const Status added = rejects_.Add({.kept = reject_rows_, .rows = rejects_waiting_});
    reject_rows_.Clear();
    rejects_waiting_ = 0;
    return added;
  }

  const ScoringRun& run_;
  const PredictSpec& spec_;
  const PartColumns& columns_;
  Scorer& scorer_;
  const bool first_;  // this is the first shard
  PartWriter parts_, rejects_;
  spec::ShardScore score_;
  std::vector<double> values_;
  int64_t entry_ = 0;  // index in the piece, over rows and rejects
  size_t reject_ = 0;  // index into the rejects of the piece
  data::PassthroughColumns reject_rows_{kRejectColumns};
  int64_t rejects_waiting_ = 0;  // number of rows in reject_rows_
  bool has_rejects_ = false;
  // Entries not written yet, as in PartRows.
  int64_t run_rows_ = 0;
  std::vector<int32_t> classes_;
  std::vector<double> numbers_;
  std::vector<std::string> reasons_;
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
  spec::UnseenCounts unseen = scorer->TakeUnseen();
  scorers->Give(std::move(scorer));
  ESPALIER_RETURN_IF_ERROR(read);
  return work.Finish(std::move(unseen));
}

Result<spec::ScoringResult> Predict(const ScoringRun& run, const PredictSpec& spec) {
  ESPALIER_ASSIGN_OR_RETURN(const PartColumns columns, PredictionColumns(run.model, spec));
  ScorerPool scorers(run.model);
  spec::ScoringResult result = EmptyPrediction(spec);
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
