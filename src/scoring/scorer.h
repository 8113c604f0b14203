// Scorer: runs the model over decoded rows, batch by batch.
//
// Thread rule: one thread per scorer, which has called PrepareComputeThread. The model is shared.
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

// Rows per batch. The last bit of a row's result may depend on its position in the batch. Batches
// are therefore cut in the same way for any number of threads.
inline constexpr int64_t kScoringBatch = 512;

class Scorer {
 public:
  // `model` must outlive the scorer.
  static std::unique_ptr<Scorer> Make(const TrainedModel& model);
  virtual ~Scorer() = default;

  // Computes the outputs for each row. `texts` contains the rows' categories. Replaces `values`.
  // Classification: probabilities [rows, classes]. Multilabel: probabilities of 1 [rows, labels].
  // Otherwise: values [rows, targets] in the targets' units.
  void Predict(const data::DecodedRows& rows, const data::ShardTexts& texts,
               std::vector<double>* values) {
    PredictSome(rows, texts, 0, rows.rows, values);
  }
  // Predicts `count` rows from `first` on. `first` is the end of the last call, a multiple of
  // kScoringBatch, or 0. The bits are the same as for all rows at once.
  virtual void PredictSome(const data::DecodedRows& rows, const data::ShardTexts& texts,
                           int64_t first, int64_t count, std::vector<double>* values) = 0;

  // Adds rows to the totals of an evaluation (model/metrics.h, kScoring). `classes`
  // (classification) has one entry per row, -1 if the label is not a class of the model. Targets
  // and weights come from the rows. `values`, if not null, receives the output of Predict for all
  // rows.
  virtual void Evaluate(const data::DecodedRows& rows, const data::ShardTexts& texts,
                        std::span<const int32_t> classes, std::vector<double>* totals,
                        std::vector<double>* values) = 0;

  // Returns the number of rows with unseen or rare values since the last call, over all rows passed
  // to PredictSome and Evaluate.
  virtual spec::UnseenCounts TakeUnseen() = 0;
};

}  // namespace espalier::scoring
