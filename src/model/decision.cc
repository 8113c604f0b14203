#include "src/model/decision.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "src/base/aligned.h"
#include "src/base/check.h"
#include "src/model/log_bins.h"
#include "src/model/metrics.h"
#include "src/model/vector_math.h"
#include "src/spec/names.h"

namespace espalier::model {
namespace {

constexpr LogBins kResidualBins = {.octaves = 128, .bits = 6};
constexpr int64_t kResidualsFixed = 2;

// Returns the probability of log-odds, above 0 and below 1. It has the same bits on all machines,
// unlike that of the C library.
double Probability(double log_odds) {
  AlignedVector<double> padded(static_cast<size_t>(kPadding), log_odds);
  Sigmoid(padded.data(), padded.data(), kPadding);
  return std::clamp(padded[0], std::numeric_limits<double>::min(),
                    1 - std::numeric_limits<double>::epsilon());
}

// Weights of the rows that a threshold predicts as positive, and of all rows.
struct Counts {
  double true_positive = 0, false_positive = 0;
  double positives = 0, negatives = 0;

  double false_negative() const { return positives - true_positive; }
  double accuracy() const {
    return (true_positive + negatives - false_positive) / (positives + negatives);
  }
  double precision() const {
    const double predicted = true_positive + false_positive;
    return predicted > 0 ? true_positive / predicted : 0;
  }
  double recall() const { return positives > 0 ? true_positive / positives : 0; }
  double f1() const {
    const double sum = true_positive + false_positive + positives;
    return sum > 0 ? 2 * true_positive / sum : 0;
  }
};

// Rank of a candidate: first whether it is allowed, then `gain`, then `tie_gain`.
struct Judgement {
  bool allowed = true;
  double value = 0;  // reported value
  double gain = 0, tie_gain = 0;
};

Judgement Judge(const spec::ThresholdSpec& spec, const Counts& c) {
  const double precision = c.precision(), recall = c.recall();
  switch (spec.kind) {
    case spec::ThresholdKind::kF1:
      return {true, c.f1(), c.f1()};
    case spec::ThresholdKind::kRecall: {
      const bool allowed = precision >= spec.min_precision;
      return {allowed, recall, allowed ? recall : precision, allowed ? precision : recall};
    }
    case spec::ThresholdKind::kPrecision: {
      const bool allowed = recall >= spec.min_recall;
      return {allowed, precision, allowed ? precision : recall, allowed ? recall : precision};
    }
    case spec::ThresholdKind::kCost: {
      const double all = c.positives + c.negatives;
      const double cost = spec.false_positive * (c.false_positive / all) +
                          spec.false_negative * (c.false_negative() / all);
      return {true, cost, -cost};
    }
    case spec::ThresholdKind::kAccuracy:
    case spec::ThresholdKind::kNone:
      break;
  }
  return {true, c.accuracy(), c.accuracy()};
}

// Returns the counts of the most probable class, from the confusion matrix.
Counts CountsAtHalf(const NetworkShape& shape, const std::vector<double>& totals) {
  const double* confusion = totals.data() + kTotalsFixed;  // [true][predicted]
  const int64_t p = shape.positive, n = 1 - p;
  return {.true_positive = confusion[2 * p + p],
          .false_positive = confusion[2 * n + p],
          .positives = confusion[2 * p + p] + confusion[2 * p + n],
          .negatives = confusion[2 * n + p] + confusion[2 * n + n]};
}

int64_t ResidualBin(double residual) {
  return std::isnan(residual) ? kResidualBins.size() - 1 : kResidualBins.Of(std::fabs(residual));
}

}  // namespace

ThresholdChoice ChooseThreshold(const NetworkShape& shape, const spec::ThresholdSpec& spec,
                                const std::vector<double>& totals) {
  ESPALIER_CHECK(shape.classes() == 2, std::to_string(shape.classes()) + " classes");
  const ScoreBins bins(shape, totals);
  Counts counts = CountsAtHalf(shape, totals);
  ThresholdChoice choice{{.metric = spec::NameOf(spec.kind)}, {0.5, 0.5}};
  spec::ChosenThreshold& chosen = choice.chosen;
  if (!(counts.positives + counts.negatives > 0)) return choice;
  chosen.value_at_half = Judge(spec, counts).value;
  // Sums in the order of the bins, so that the lowest candidate has exactly all rows, down to the
  // last bit.
  counts = {};
  for (int64_t bin = kScoreBins; bin-- > 0;) {
    counts.positives += bins.positive(bin);
    counts.negatives += bins.negative(bin);
  }
  Judgement best;
  double best_score = 0;
  bool any = false;
  const auto consider = [&](double score) {
    const Judgement j = Judge(spec, counts);
    const auto rank = [](const Judgement& of, double at) {
      return std::tuple(of.allowed, of.gain, of.tie_gain, -std::fabs(at));
    };
    if (any && !(rank(j, score) > rank(best, best_score))) return;
    any = true;
    best = j;
    best_score = score;
  };
  int64_t above = kScoreBins;  // the last bin with rows, counted from above
  for (int64_t bin = kScoreBins; bin-- > 0;) {
    if (bins.empty(bin)) continue;
    // The first candidate is one bin above all rows, so that no score is equal to it.
    consider(above == kScoreBins ? bins.Edge(std::min(bin + 2, kScoreBins))
                                 : (bins.Edge(bin + 1) + bins.Edge(above)) / 2);
    counts.true_positive += bins.positive(bin);
    counts.false_positive += bins.negative(bin);
    above = bin;
  }
  consider(bins.Edge(std::max<int64_t>(0, above - 1)));
  const double positive = Probability(best_score), negative = Probability(-best_score);
  chosen.threshold = positive;
  chosen.value = best.value;
  chosen.reached = best.allowed;
  choice.thresholds = {negative, positive};
  if (shape.positive == 0) std::swap(choice.thresholds[0], choice.thresholds[1]);
  return choice;
}

int64_t ResidualsSize(const NetworkShape& shape) {
  return kResidualsFixed + shape.outputs() * kResidualBins.size();
}

template <typename T>
void AddResiduals(const NetworkShape& shape, const OutputRows<T>& rows, double* sums) {
  const int64_t width = shape.outputs();
  const bool poisson = shape.loss == spec::Loss::kPoisson;
  AlignedVector<T> predicted(static_cast<size_t>(rows.pitch));
  for (int64_t r = 0; r < rows.rows; ++r) {
    const double weight = rows.weights[r];
    if (!(weight > 0)) continue;
    const T* z = rows.outputs + r * rows.pitch;
    const T* y = rows.targets + r * width;
    sums[0] += 1;
    sums[1] += weight;
    if (poisson) {
      Exp(z, predicted.data(), rows.pitch);
      z = predicted.data();
    }
    for (int64_t k = 0; k < width; ++k) {
      const double prediction = shape.Limited(k, static_cast<double>(z[k]));
      const double residual = prediction - static_cast<double>(y[k]);
      sums[kResidualsFixed + k * kResidualBins.size() + ResidualBin(residual)] += weight;
    }
  }
}
template void AddResiduals<float>(const NetworkShape&, const OutputRows<float>&, double*);
template void AddResiduals<double>(const NetworkShape&, const OutputRows<double>&, double*);

std::optional<std::vector<double>> HalfWidths(const NetworkShape& shape, double level,
                                              const std::vector<double>& sums) {
  const double rows = sums[0], weight = sums[1];
  // Converts weights to rows, regardless of their unit.
  const double wanted = std::ceil((rows + 1) * level - 1e-9);
  if (!(weight > 0) || wanted > rows) return std::nullopt;
  std::vector<double> widths;
  for (int64_t k = 0; k < shape.outputs(); ++k) {
    const int64_t last = kResidualBins.size() - 1;
    const double* bins = sums.data() + kResidualsFixed + k * kResidualBins.size();
    double below = 0;
    int64_t bin = 0;
    for (; bin < last; ++bin) {
      below += bins[bin];
      if (below / weight * rows >= wanted - 1e-6) break;
    }
    if (bin == last) return std::nullopt;
    widths.push_back(kResidualBins.Edge(bin + 1));
  }
  return widths;
}

}  // namespace espalier::model
