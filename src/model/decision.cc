#include "src/model/decision.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "src/base/aligned.h"
#include "src/base/check.h"
#include "src/model/metrics.h"
#include "src/model/vector_math.h"
#include "src/spec/names.h"

namespace espalier::model {
namespace {

// A threshold is never 0 or 1, by which no probability can be divided.
constexpr double kThresholdMargin = 1e-12;

constexpr int kResidualOctaves = 128, kResidualBinBits = 6;  // 64 bins an octave
constexpr int64_t kResidualBins = int64_t{kResidualOctaves} << kResidualBinBits;
constexpr int64_t kResidualsFixed = 2;

constexpr int kFractionBits = std::numeric_limits<double>::digits - 1;
constexpr int64_t kLeastResidualExponent =
    std::numeric_limits<double>::max_exponent - 1 - kResidualOctaves / 2;

// 1 / (1 + exp(-z)). The same bits on all machines, unlike that of the C library.
double Probability(double z) {
  AlignedVector<double> padded(static_cast<size_t>(kPadding), z);
  Sigmoid(padded.data(), padded.data(), kPadding);
  return std::clamp(padded[0], kThresholdMargin, 1 - kThresholdMargin);
}

struct Counts {
  double true_positive = 0, false_positive = 0, true_negative = 0, false_negative = 0;
};

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

double Precision(const Counts& c) {
  return Ratio(c.true_positive, c.true_positive + c.false_positive);
}
double Recall(const Counts& c) {
  return Ratio(c.true_positive, c.true_positive + c.false_negative);
}

// What a candidate is judged by: first whether it is allowed, then the value, then the second one.
struct Judgement {
  bool allowed = true;
  double value = 0;     // that is reported
  double gain = 0;      // the higher, the better
  double tie_gain = 0;  // of candidates with one gain
};

Judgement Judge(const spec::ThresholdSpec& spec, const Counts& c) {
  const double all = c.true_positive + c.false_positive + c.true_negative + c.false_negative;
  switch (spec.kind) {
    case spec::ThresholdKind::kF1: {
      const double twice = 2 * c.true_positive;
      const double f1 = Ratio(twice, twice + c.false_positive + c.false_negative);
      return {true, f1, f1};
    }
    case spec::ThresholdKind::kRecall: {
      const double precision = Precision(c), recall = Recall(c);
      const bool allowed = precision >= spec.min_precision;
      return {allowed, recall, allowed ? recall : precision, allowed ? precision : recall};
    }
    case spec::ThresholdKind::kPrecision: {
      const double precision = Precision(c), recall = Recall(c);
      const bool allowed = recall >= spec.min_recall;
      return {allowed, precision, allowed ? precision : recall, allowed ? recall : precision};
    }
    case spec::ThresholdKind::kCost: {
      const double cost = spec.false_positive * c.false_positive / all +
                          spec.false_negative * c.false_negative / all;
      return {true, cost, -cost};
    }
    case spec::ThresholdKind::kAccuracy:
    case spec::ThresholdKind::kNone:
      break;
  }
  const double accuracy = (c.true_positive + c.true_negative) / all;
  return {true, accuracy, accuracy};
}

// The scores of rows, as log-odds of the positive class in ascending order.
class ScoreBins {
 public:
  ScoreBins(const NetworkShape& shape, const std::vector<double>& totals)
      : flipped_(shape.positive == 0), bins_(totals.data() + ScoreBinsOffset(shape)) {}

  double positive(int64_t bin) const { return bins_[2 * Place(bin) + (flipped_ ? 0 : 1)]; }
  double negative(int64_t bin) const { return bins_[2 * Place(bin) + (flipped_ ? 1 : 0)]; }
  bool empty(int64_t bin) const { return !(positive(bin) + negative(bin) > 0); }
  // The lower end of a bin; of kScoreBins the upper end of the last one.
  double Edge(int64_t bin) const {
    return flipped_ ? -ScoreBinEdge(kScoreBins - bin) : ScoreBinEdge(bin);
  }

 private:
  int64_t Place(int64_t bin) const { return flipped_ ? kScoreBins - 1 - bin : bin; }
  const bool flipped_;
  const double* bins_;
};

int64_t ResidualBin(double residual) {
  const double size = std::fabs(residual);
  if (std::isnan(size)) return kResidualBins - 1;
  const auto bits = std::bit_cast<uint64_t>(size) >> (kFractionBits - kResidualBinBits);
  return std::clamp(static_cast<int64_t>(bits) - (kLeastResidualExponent << kResidualBinBits),
                    int64_t{0}, kResidualBins - 1);
}

// The upper end of a bin but the last one, which has none.
double ResidualBinEnd(int64_t bin) {
  const int64_t bits = (kLeastResidualExponent << kResidualBinBits) + bin + 1;
  return std::bit_cast<double>(static_cast<uint64_t>(bits) << (kFractionBits - kResidualBinBits));
}

}  // namespace

spec::ChosenThreshold ChooseThreshold(const NetworkShape& shape, const spec::ThresholdSpec& spec,
                                      const std::vector<double>& totals) {
  ESPALIER_CHECK(shape.classes() == 2, std::to_string(shape.classes()) + " classes");
  const ScoreBins bins(shape, totals);
  Counts counts;  // with a threshold below all rows
  for (int64_t bin = 0; bin < kScoreBins; ++bin) {
    counts.true_positive += bins.positive(bin);
    counts.false_positive += bins.negative(bin);
  }
  spec::ChosenThreshold chosen{.metric = spec::NameOf(spec.kind)};
  if (!(counts.true_positive + counts.false_positive > 0)) return chosen;
  Judgement best;
  double best_score = 0;
  bool any = false;
  int64_t before = 0;  // end of the last bin that has rows
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
  for (int64_t bin = 0; bin < kScoreBins; ++bin) {
    if (bin == kScoreBins / 2) chosen.value_at_half = Judge(spec, counts).value;
    if (bins.empty(bin)) continue;
    consider(before == 0 ? bins.Edge(bin) : (bins.Edge(before) + bins.Edge(bin)) / 2);
    counts.true_positive -= bins.positive(bin);
    counts.false_negative += bins.positive(bin);
    counts.false_positive -= bins.negative(bin);
    counts.true_negative += bins.negative(bin);
    before = bin + 1;
  }
  counts.true_positive = counts.false_positive = 0;  // without what rounding has left
  consider(bins.Edge(before));
  chosen.threshold = Probability(best_score);
  chosen.value = best.value;
  chosen.reached = best.allowed;
  return chosen;
}

std::vector<double> ThresholdsOf(const NetworkShape& shape, double threshold) {
  std::vector<double> thresholds = {1 - threshold, threshold};
  if (shape.positive == 0) std::swap(thresholds[0], thresholds[1]);
  return thresholds;
}

int64_t ResidualsSize(const NetworkShape& shape) {
  return kResidualsFixed + shape.outputs() * kResidualBins;
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
      const double residual = static_cast<double>(z[k]) - static_cast<double>(y[k]);
      sums[kResidualsFixed + k * kResidualBins + ResidualBin(residual)] += weight;
    }
  }
}
template void AddResiduals<float>(const NetworkShape&, const OutputRows<float>&, double*);
template void AddResiduals<double>(const NetworkShape&, const OutputRows<double>&, double*);

std::optional<std::vector<double>> HalfWidths(const NetworkShape& shape, double level,
                                              const std::vector<double>& sums) {
  const double rows = sums[0], weight = sums[1];
  // Weights count as rows, whatever their unit.
  const double wanted = std::ceil((rows + 1) * level - 1e-9);
  if (!(weight > 0) || wanted > rows) return std::nullopt;
  std::vector<double> widths;
  for (int64_t k = 0; k < shape.outputs(); ++k) {
    const double* bins = sums.data() + kResidualsFixed + k * kResidualBins;
    double below = 0;
    int64_t bin = 0;
    for (; bin < kResidualBins - 1; ++bin) {
      below += bins[bin];
      if (below / weight * rows >= wanted - 1e-6) break;
    }
    if (bin == kResidualBins - 1) return std::nullopt;
    widths.push_back(ResidualBinEnd(bin));
  }
  return widths;
}

}  // namespace espalier::model
