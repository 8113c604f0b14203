// The model over rows as they were read, batch by batch. Thread rule: one thread a scorer, which
// has called PrepareComputeThread; the model is shared.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/data/table/decoded_rows.h"
#include "src/data/table/label_texts.h"
#include "src/scoring/trained_model.h"
#include "src/spec/shard_score.h"

namespace espalier::scoring {

// Rows that are computed at a time. A row's result may depend in its last bit on where it stands
// in its batch, so batches are cut the same whatever the number of threads.
inline constexpr int64_t kScoringBatch = 512;

class Scorer {
 public:
  // `model` must outlive it.
  static std::unique_ptr<Scorer> Make(const TrainedModel& model);
  virtual ~Scorer() = default;

  // What the model says of each row, whose categories are in `texts`: classification, probabilities
  // [rows, classes]; multilabel, those of 1 [rows, labels]; else values [rows, targets] in the
  // targets' units. Replaces `values`.
  void Predict(const data::DecodedRows& rows, const data::ShardTexts& texts,
               std::vector<double>* values) {
    PredictSome(rows, texts, 0, rows.rows, values);
  }
  // Of `count` rows from `first` on: those that the last call ended at, a multiple of
  // kScoringBatch, or 0. The same bits as of all rows at once.
  virtual void PredictSome(const data::DecodedRows& rows, const data::ShardTexts& texts,
                           int64_t first, int64_t count, std::vector<double>* values) = 0;

  // Adds rows to the totals of an evaluation (model/metrics.h, kScoring). `classes`: by row, or -1
  // where the label is no class of the model (classification). Targets and weights are those of the
  // rows. `values`, if given, is as by Predict, of all rows.
  virtual void Evaluate(const data::DecodedRows& rows, const data::ShardTexts& texts,
                        std::span<const int32_t> classes, std::vector<double>* totals,
                        std::vector<double>* values) = 0;

  // Rows with unseen values since the last call, of all that PredictSome and Evaluate were given.
  virtual spec::UnseenCounts TakeUnseen() = 0;
};

}  // namespace espalier::scoring
