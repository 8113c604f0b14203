// Totals: sums over the rows of one set, as a vector of doubles that leaves fill and the summation
// tree adds; and the metrics that follow from them.
//
// Layout, in order:
//   always          rows, weight, loss (sum of weight * loss of the row), correct (weight of the
//                   rows whose class was predicted), nonfinite (0 unless a row had a NaN or
//                   infinite output, loss or delta)
//   numbers         per target: sum of weight * (p - t)^2, weight * |p - t|, weight * t and
//                   weight * t^2, in the units of the network; p is the prediction (loss.h)
//   kEvaluation, classification:
//     classes <= kConfusionClassesMax   confusion [true][predicted], weights
//     otherwise                         per class: true, predicted and correct weight
//     two classes                       per score bin: weight of class 0, weight of class 1
//   kEvaluation and kScoring, regression with half-widths: per target the weight of the rows whose
//   prediction is within the half-width of the target
//   kEvaluation, multilabel             per label: true, predicted and correct weight of ones
//   kScoring, classification: as kEvaluation, then of rows whose label the model does not know, and
//   which nothing above counts: their number, and by predicted class their weight
// A training step carries the short form (kTraining), because its totals travel with every step.
// Weights are 1 where a job has none, and all counts are then exact integers.
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
  kTotalsFixed = 5,  // how many of these there are
};

inline constexpr int64_t kConfusionClassesMax = 1000;
// Scores (the log-odds of class 1) fall into bins by sign and the first bits of a floating-point
// number, so that models of any confidence are told apart alike: 128 bins in each of the octaves
// from 2^-16 to 2^16, ascending. What is smaller or larger goes to the last bin of its side. Scores
// within one bin count as equal.
inline constexpr int64_t kScoreOctaves = 32, kScoreBinsPerOctave = 128;
inline constexpr int64_t kScoreBins = 2 * kScoreOctaves * kScoreBinsPerOctave;

int64_t TotalsSize(const NetworkShape& shape, TotalsKind kind);

// into[i] += from[i].
void AddTotals(double* into, const double* from, int64_t size);

// The metrics of a set. `targets` are the fitted scales (of numbers; empty: no scaling); rmse, mae
// and r2 are means over targets in their own units, the loss is in the units of training. Without
// rows or weight the means (loss, accuracy, rmse, mae, r2) are NaN. kTraining yields no precision,
// recall, F1, AUC, confusion and no metrics of targets.
// REQUIRES: totals.size() == TotalsSize(shape, kind).
spec::Metrics MetricsFromTotals(const NetworkShape& shape,
                                const std::vector<spec::FittedTarget>& targets, TotalsKind kind,
                                const std::vector<double>& totals);

// Counts a row whose label the model does not know. REQUIRES: kScoring totals of a classification.
void AddUnknownLabel(const NetworkShape& shape, int64_t predicted, double weight,
                     std::vector<double>* totals);

// Where in the totals a row of two-class evaluation with this score is counted. REQUIRES:
// evaluation totals of a shape with two classes.
int64_t ScoreBinIndex(const NetworkShape& shape, double score, int32_t label);
// The scores of the rows in evaluation totals of two classes, as log-odds of the positive class, in
// ascending order. Refers to the totals.
class ScoreBins {
 public:
  ScoreBins(const NetworkShape& shape, const std::vector<double>& totals);
  // The weight of the rows of either class in a bin.
  double positive(int64_t bin) const { return bins_[2 * Place(bin) + (flipped_ ? 0 : 1)]; }
  double negative(int64_t bin) const { return bins_[2 * Place(bin) + (flipped_ ? 1 : 0)]; }
  bool empty(int64_t bin) const { return !(positive(bin) + negative(bin) > 0); }
  // The lower end of a bin; of kScoreBins the upper end of the last one.
  double Edge(int64_t bin) const;

 private:
  int64_t Place(int64_t bin) const { return flipped_ ? kScoreBins - 1 - bin : bin; }
  bool flipped_;  // the positive class is class 0
  const double* bins_;
};

}  // namespace espalier::model
