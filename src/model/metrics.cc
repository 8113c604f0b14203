#include "src/model/metrics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "src/base/check.h"
#include "src/model/log_bins.h"
#include "src/model/score_sketch.h"

namespace espalier::model {
namespace {

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

int64_t ClassTotals(int64_t classes) {
  return classes <= kConfusionClassesMax ? classes * classes : 3 * classes;
}

struct ClassWeights {
  double actual = 0, predicted = 0, correct = 0;
};

// Returns the weights of the classes. `t` is the class part of evaluation totals.
std::vector<ClassWeights> WeightsOfClasses(int64_t classes, const double* t) {
  std::vector<ClassWeights> weights(classes);
  for (int64_t a = 0; a < classes; ++a) {
    if (classes > kConfusionClassesMax) {
      weights[a] = {t[3 * a], t[3 * a + 1], t[3 * a + 2]};
      continue;
    }
    for (int64_t p = 0; p < classes; ++p) {
      const double weight = t[a * classes + p];
      weights[a].actual += weight;
      weights[p].predicted += weight;
      if (a == p) weights[a].correct = weight;
    }
  }
  return weights;
}

// Adds the metrics of classes. `unknown` is the weight of rows of one more class, which is never
// predicted.
void AddClasses(const std::vector<ClassWeights>& classes, double unknown, spec::Metrics& metrics) {
  double total = unknown;
  for (const ClassWeights& w : classes) {
    spec::ClassMetrics m;
    m.precision = Ratio(w.correct, w.predicted);
    m.recall = Ratio(w.correct, w.actual);
    m.f1 = Ratio(2 * m.precision * m.recall, m.precision + m.recall);
    m.weight = w.actual;
    metrics.precision += m.weight * m.precision;
    metrics.recall += m.weight * m.recall;
    metrics.f1 += m.weight * m.f1;
    total += m.weight;
    metrics.classes.push_back(m);
  }
  metrics.precision = Ratio(metrics.precision, total);
  metrics.recall = Ratio(metrics.recall, total);
  metrics.f1 = Ratio(metrics.f1, total);
}

// Adds the metrics of labels. `t` is the label part of evaluation totals.
void AddLabels(int64_t labels, const double* t, spec::Metrics& metrics) {
  std::vector<ClassWeights> weights;
  ClassWeights all;
  for (int64_t k = 0; k < labels; ++k, t += 3) {
    weights.push_back({t[0], t[1], t[2]});
    all.actual += t[0];
    all.predicted += t[1];
    all.correct += t[2];
  }
  AddClasses(weights, 0, metrics);
  metrics.f1_micro = Ratio(2 * all.correct, all.actual + all.predicted);
  double sum = 0;
  for (const spec::ClassMetrics& label : metrics.classes) sum += label.f1;
  metrics.f1_macro = sum / static_cast<double>(labels);
}

constexpr LogBins kSizes = {kScoreOctaves, std::countr_zero(uint64_t{kScoreBinsPerOctave})};
static_assert(2 * kSizes.size() == kScoreBins);

// Returns the bin of a score. NaN counts as the lowest score.
int64_t ScoreBin(double score) {
  if (std::isnan(score)) return 0;
  const int64_t place = kSizes.Of(std::fabs(score));
  return score < 0 ? kScoreBins / 2 - 1 - place : kScoreBins / 2 + place;
}

int64_t ScoreBinsOffset(const NetworkShape& shape) {
  return kTotalsFixed + ClassTotals(shape.classes());
}

// Weight of the rows with equal scores.
struct Step {
  double negative = 0, positive = 0;
};

// Returns the rows in ascending order of the score of the positive class: exactly, or by bins.
std::vector<Step> StepsOf(const NetworkShape& shape, const std::vector<double>& totals) {
  const auto scores = ScoresInSketch(totals.data() + ScoreBinsOffset(shape) + 2 * kScoreBins);
  std::vector<Step> steps;
  if (!scores || scores->empty()) {
    const ScoreBins bins(shape, totals);
    for (int64_t bin = 0; bin < kScoreBins; ++bin) {
      if (!bins.empty(bin)) steps.push_back({bins.negative(bin), bins.positive(bin)});
    }
    return steps;
  }
  for (const ScoreWeights& s : *scores) steps.push_back({s.zero, s.one});
  if (shape.positive == 0) {
    std::reverse(steps.begin(), steps.end());
    for (Step& step : steps) std::swap(step.negative, step.positive);
  }
  return steps;
}

// Returns the share of pairs (one row of each class) in which the positive class has the higher
// score. Ties count half.
std::optional<double> Auc(const std::vector<Step>& steps) {
  double zeros = 0, ones = 0, pairs = 0;
  for (const Step& step : steps) {
    pairs += step.positive * (zeros + step.negative / 2);
    zeros += step.negative;
    ones += step.positive;
  }
  if (!(zeros > 0 && ones > 0)) return std::nullopt;
  return pairs / (zeros * ones);
}

// Iterates from the highest score to the lowest.
std::optional<double> AveragePrecision(const std::vector<Step>& steps) {
  double positives = 0, negatives = 0, area = 0, found = 0, predicted = 0;
  for (const Step& step : steps) {
    positives += step.positive;
    negatives += step.negative;
  }
  if (!(positives > 0 && negatives > 0)) return std::nullopt;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    predicted += step->positive + step->negative;
    found += step->positive;
    if (step->positive > 0) area += step->positive / positives * (found / predicted);
  }
  return area;
}

// Returns whether all rows have the same target. `t` are the four sums of the target. If they do,
// the remainder of the squares is rounding: about 1e-11 of them for a million rows.
bool IsConstant(const double* t, double weight) {
  constexpr double kRounding = 1e-10;
  return !(t[3] - t[2] * t[2] / weight > kRounding * t[3]);
}

// Returns r2 with the conventions of scikit-learn for one row and for a constant target.
double Determination(const double* t, const spec::Metrics& metrics) {
  if (metrics.rows < 2) return std::numeric_limits<double>::quiet_NaN();
  if (IsConstant(t, metrics.weight)) return t[0] == 0 ? 1 : 0;
  return 1 - t[0] / (t[3] - t[2] * t[2] / metrics.weight);
}

void AddRegression(const NetworkShape& shape, const std::vector<spec::FittedTarget>& targets,
                   const double* t, bool each, spec::Metrics& metrics) {
  double squares = 0;
  for (int64_t k = 0; k < shape.outputs(); ++k, t += 4) {
    const double factor = targets.empty() ? 1 : targets[k].factor;
    const double unit = factor != 0 ? 1 / factor : 0;  // a unit of training in units of the target
    const double square = t[0] / metrics.weight * unit * unit;
    const double mae = t[1] / metrics.weight * std::fabs(unit);
    const double r2 = Determination(t, metrics);
    squares += square;
    metrics.mae += mae;
    metrics.r2 += r2;
    if (each && !targets.empty() && shape.task != spec::Task::kAutoencoder) {
      metrics.targets.push_back(
          {targets[k].name, std::sqrt(square), mae, r2, IsConstant(t, metrics.weight)});
    }
  }
  const auto count = static_cast<double>(shape.outputs());
  if (each && !shape.half_widths.empty()) {
    double sum = 0;
    for (int64_t k = 0; k < shape.outputs(); ++k, ++t) {
      const double coverage = *t / metrics.weight;
      sum += coverage;
      if (!metrics.targets.empty()) metrics.targets[k].coverage = coverage;
    }
    metrics.coverage = sum / count;
  }
  metrics.rmse = std::sqrt(squares / count);
  metrics.mae /= count;
  metrics.r2 /= count;
}

// Sets the metrics to unknown if nothing was counted. A loss of 0 would look perfect.
spec::Metrics Unknown(spec::Metrics metrics) {
  metrics.loss = std::numeric_limits<double>::quiet_NaN();
  if (metrics.classification) {
    metrics.accuracy = metrics.loss;
  } else {
    metrics.rmse = metrics.mae = metrics.r2 = metrics.loss;
  }
  return metrics;
}

}  // namespace

int64_t TotalsSize(const NetworkShape& shape, TotalsKind kind) {
  if (spec::PredictsNumbers(shape.task)) {
    const bool covers = kind != TotalsKind::kTraining && !shape.half_widths.empty();
    return kTotalsFixed + (covers ? 5 : 4) * shape.outputs();
  }
  if (kind == TotalsKind::kTraining) return kTotalsFixed;
  if (shape.task == spec::Task::kMultilabel) return kTotalsFixed + 3 * shape.outputs();
  const int64_t classes = shape.classes();
  return kTotalsFixed + ClassTotals(classes) + (classes == 2 ? 2 * kScoreBins + kSketchSize : 0) +
         (kind == TotalsKind::kScoring ? 1 + classes : 0);
}

void AddTotals(double* into, const double* from, int64_t size) {
  for (int64_t i = 0; i < size; ++i) into[i] += from[i];
}

void AddUnknownLabel(const NetworkShape& shape, int64_t predicted, double weight,
                     std::vector<double>* totals) {
  double* unknown = totals->data() + TotalsSize(shape, TotalsKind::kEvaluation);
  unknown[0] += 1;
  unknown[1 + predicted] += weight;
}

void AddScore(const NetworkShape& shape, double score, int32_t label, double weight,
              double* totals) {
  totals[ScoreBinIndex(shape, score, label)] += weight;
  AddToSketch(score, label, weight, totals + ScoreBinsOffset(shape) + 2 * kScoreBins);
}

int64_t ScoreBinIndex(const NetworkShape& shape, double score, int32_t label) {
  return ScoreBinsOffset(shape) + 2 * ScoreBin(score) + label;
}

ScoreBins::ScoreBins(const NetworkShape& shape, const std::vector<double>& totals)
    : flipped_(shape.positive == 0), bins_(totals.data() + ScoreBinsOffset(shape)) {}

double ScoreBins::Edge(int64_t bin) const {
  const int64_t place = bin - kScoreBins / 2;
  return place < 0 ? -kSizes.Edge(-place) : kSizes.Edge(place);
}

spec::Metrics MetricsFromTotals(const NetworkShape& shape,
                                const std::vector<spec::FittedTarget>& targets, TotalsKind kind,
                                const std::vector<double>& totals) {
  const int64_t size = TotalsSize(shape, kind);
  ESPALIER_CHECK(static_cast<int64_t>(totals.size()) == size,
                 std::to_string(totals.size()) + " totals, expected " + std::to_string(size));
  spec::Metrics metrics;
  metrics.classification = !spec::PredictsNumbers(shape.task);
  metrics.rows = static_cast<int64_t>(totals[kTotalRows]);
  metrics.weight = totals[kTotalWeight];
  const double known = metrics.weight;
  const bool counts_unknown =
      kind == TotalsKind::kScoring && shape.task == spec::Task::kClassification;
  std::span<const double> unknown;  // by predicted class
  if (counts_unknown) {
    unknown = std::span(totals).last(static_cast<size_t>(shape.classes()));
    metrics.unknown_labels = static_cast<int64_t>(*(unknown.data() - 1));
    metrics.rows += metrics.unknown_labels;
    for (const double weight : unknown) metrics.weight += weight;
  }
  if (!(metrics.weight > 0)) return Unknown(std::move(metrics));
  metrics.loss = totals[kTotalLoss] / known;  // NaN if no label is known
  const double* rest = totals.data() + kTotalsFixed;
  if (!metrics.classification) {
    AddRegression(shape, targets, rest, kind != TotalsKind::kTraining, metrics);
    return metrics;
  }
  metrics.accuracy = totals[kTotalCorrect] / metrics.weight;
  if (kind == TotalsKind::kTraining) return metrics;
  if (shape.task == spec::Task::kMultilabel) {
    AddLabels(shape.outputs(), rest, metrics);
    return metrics;
  }
  const int64_t classes = shape.classes();
  std::vector<ClassWeights> weights = WeightsOfClasses(classes, rest);
  for (size_t k = 0; k < unknown.size(); ++k) weights[k].predicted += unknown[k];
  AddClasses(weights, metrics.weight - known, metrics);
  if (classes <= kConfusionClassesMax) metrics.confusion.assign(rest, rest + classes * classes);
  if (classes != 2) return metrics;
  const std::vector<Step> steps = StepsOf(shape, totals);
  metrics.auc = Auc(steps);
  metrics.average_precision = AveragePrecision(steps);
  return metrics;
}

}  // namespace espalier::model
