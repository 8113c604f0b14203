// Totals: sums over the rows of one set, as a vector of doubles. Leaves fill it, the summation tree
// adds it up, and the metrics follow from it.
//
// Layout, in order:
//   always          rows, weight, loss (sum of weight * loss of the row), correct (weight of the
//                   rows with a correct class), nonfinite (0 unless a row had a NaN or infinite
//                   output, loss or delta)
//   numbers         per target: sum of weight * (p - t)^2, weight * |p - t|, weight * t and
//                   weight * t^2, in the units of the network; p is the prediction (loss.h),
//                   within the limits of the shape
//   kEvaluation, classification:
//     classes <= kConfusionClassesMax   confusion [true][predicted], weights
//     otherwise                         per class: true, predicted and correct weight
//     two classes                       per score bin: weight of class 0, weight of class 1;
//                                       then a sketch of the exact scores (score_sketch.h)
//   kEvaluation and kScoring, regression with half-widths: per target, the weight of the rows whose
//   prediction is within the half-width of the target
//   kEvaluation, multilabel             per label: true, predicted and correct weight of ones
//   kScoring, classification: as kEvaluation, then rows with a label that the model does not know,
//   which nothing above counts: their number, and their weight by predicted class
//
// A training step carries the short form (kTraining), because its totals travel with every step.
// Without weights in the job, each weight is 1 and all counts are exact integers.
//
// Thread rule: pure functions over the caller's buffers.
#pragma once

#include <cstdint>
#include <vector>

#include "src/model/network.h"
#include "src/spec/input.h"
#include "src/spec/metrics.h"

namespace espalier::model {

enum class TotalsKind { kTraining, kEvaluation, kScoring };

enum TotalsIndex : int64_t {
  kTotalRows = 0,
  kTotalWeight = 1,
  kTotalLoss = 2,
  kTotalCorrect = 3,
  kTotalNonfinite = 4,
  kTotalsFixed = 5,  // number of the entries above
};

inline constexpr int64_t kConfusionClassesMax = 1000;
// Bins of scores (the log-odds of class 1), by sign and the first bits of a floating-point number.
// They have the same relative resolution for models of any confidence: 128 bins in each octave from
// 2^-16 to 2^16, ascending. Smaller and larger scores are in the last bin of their side. Thresholds
// and curves treat the scores in a bin as equal. So do the AUC and the average precision, if there
// are too many scores for the sketch.
inline constexpr int64_t kScoreOctaves = 32, kScoreBinsPerOctave = 128;
inline constexpr int64_t kScoreBins = 2 * kScoreOctaves * kScoreBinsPerOctave;

int64_t TotalsSize(const NetworkShape& shape, TotalsKind kind);

// Computes into[i] += from[i].
void AddTotals(double* into, const double* from, int64_t size);

// Returns the metrics of a set. `targets` are the fitted scales (of numbers; empty: no scaling).
// rmse, mae and r2 are means over targets in their own units. The loss is in the units of training.
// Without rows or weight, the means (loss, accuracy, rmse, mae, r2) are NaN. kTraining gives no
// precision, recall, F1, AUC, confusion and no metrics of targets. REQUIRES: totals.size() ==
// TotalsSize(shape, kind).
spec::Metrics MetricsFromTotals(const NetworkShape& shape,
                                const std::vector<spec::FittedTarget>& targets, TotalsKind kind,
                                const std::vector<double>& totals);

// Counts a row with a label that the model does not know. REQUIRES: kScoring totals of a
// classification.
void AddUnknownLabel(const NetworkShape& shape, int64_t predicted, double weight,
                     std::vector<double>* totals);

// Counts a row of class 0 or 1 with this score, in its bin and in the sketch. REQUIRES: evaluation
// totals of a shape with two classes.
void AddScore(const NetworkShape& shape, double score, int32_t label, double weight,
              double* totals);
// Returns the index in the totals of the bin that counts this row. REQUIRES: as AddScore.
int64_t ScoreBinIndex(const NetworkShape& shape, double score, int32_t label);
// The scores of the rows in two-class evaluation totals, as log-odds of the positive class, in
// ascending order. Refers to the totals, which must outlive it.
class ScoreBins {
 public:
  ScoreBins(const NetworkShape& shape, const std::vector<double>& totals);
  // Return the weight of the rows of either class in a bin.
  double positive(int64_t bin) const { return bins_[2 * Place(bin) + (flipped_ ? 0 : 1)]; }
  double negative(int64_t bin) const { return bins_[2 * Place(bin) + (flipped_ ? 1 : 0)]; }
  bool empty(int64_t bin) const { return !(positive(bin) + negative(bin) > 0); }
  // Returns the lower end of a bin, or for kScoreBins the upper end of the last one.
  double Edge(int64_t bin) const;

 private:
  int64_t Place(int64_t bin) const { return flipped_ ? kScoreBins - 1 - bin : bin; }
  bool flipped_;  // true: the positive class is class 0
  const double* bins_;
};

}  // namespace espalier::model
