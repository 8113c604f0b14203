#include "src/model/loss.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "src/base/aligned.h"
#include "src/base/check.h"
#include "src/model/vector_math.h"

namespace espalier::model {
namespace {

template <typename T>
using Row = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>, Eigen::Aligned64>;

// One value per row of the micro-batch.
template <typename T>
struct Column {
  alignas(kBufferAlignment) T v[kMicroBatchRows] = {};
};

void CheckLabel(int32_t label, int64_t classes) {
  ESPALIER_CHECK(label >= 0 && label < classes,
                 "label " + std::to_string(label) + " of " + std::to_string(classes));
}

// Returns NaN as the loss of a row whose outputs are not all finite.
template <typename T>
double LossOrNan(double loss, const T* outputs, int64_t pitch) {
  return AllFinite(outputs, pitch) ? loss : static_cast<double>(NAN);
}

void AddRow(double weight, double loss, double* totals) {
  totals[kTotalRows] += 1;
  totals[kTotalWeight] += weight;
  if (weight > 0) totals[kTotalLoss] += weight * loss;  // the loss may be NaN
  if (!std::isfinite(loss)) totals[kTotalNonfinite] += 1;
}

void AddClass(const NetworkShape& shape, TotalsKind kind, int32_t label, int64_t predicted,
              double weight, double score, double* totals) {
  const bool correct = label == predicted;
  if (correct) totals[kTotalCorrect] += weight;
  if (kind == TotalsKind::kTraining) return;
  const int64_t classes = shape.classes();
  double* t = totals + kTotalsFixed;
  if (classes <= kConfusionClassesMax) {
    t[label * classes + predicted] += weight;
  } else {
    t[3 * label] += weight;
    t[3 * predicted + 1] += weight;
    if (correct) t[3 * label + 2] += weight;
  }
  if (classes == 2) AddScore(shape, score, label, weight, totals);
}

// Computes exps = exp(z - max z) with zeros in the padding, their sum and the maximum, row by row.
template <typename T>
void ExpRows(const OutputRows<T>& rows, int64_t width, T* exps, T* sums, T* maxima) {
  for (int64_t r = 0; r < rows.rows; ++r) {
    const T* z = rows.outputs + r * rows.pitch;
    T* e = exps + r * rows.pitch;
    std::copy(z, z + width, e);
    std::fill(e + width, e + rows.pitch, z[0]);
    maxima[r] = Row<T>(e, rows.pitch).maxCoeff();
    for (int64_t i = 0; i < rows.pitch; ++i) e[i] -= maxima[r];
    Exp(e, e, rows.pitch);
    std::fill(e + width, e + rows.pitch, T{0});
    sums[r] = Row<T>(e, rows.pitch).sum();
  }
}

// Labels are smoothed only in training. The loss of an evaluation is the log loss.
double Smoothing(const NetworkShape& shape, TotalsKind kind) {
  return kind == TotalsKind::kTraining ? shape.label_smoothing : 0;
}

template <typename T>
void SoftmaxLoss(const NetworkShape& shape, const OutputRows<T>& rows, TotalsKind kind, T* deltas,
                 double* totals) {
  const int64_t width = shape.outputs();
  const double smooth = Smoothing(shape, kind);
  const T smoothing = static_cast<T>(smooth);
  const T each = static_cast<T>(smooth / static_cast<double>(width));
  Column<T> sums, logs, maxima;
  ExpRows(rows, width, deltas, sums.v, maxima.v);
  std::fill(sums.v + rows.rows, sums.v + kMicroBatchRows, T{1});
  Log(sums.v, logs.v, kMicroBatchRows);
  for (int64_t r = 0; r < rows.rows; ++r) {
    const T* z = rows.outputs + r * rows.pitch;
    T* d = deltas + r * rows.pitch;
    const int32_t label = rows.labels[r];
    CheckLabel(label, width);
    const T weight = rows.weights[r], share = T{1} / sums.v[r];
    T loss = logs.v[r] - (z[label] - maxima.v[r]);
    if (smoothing > 0) {
      const T mean = std::accumulate(z, z + width, T{0}) / static_cast<T>(width);
      loss = (T{1} - smoothing) * loss + smoothing * (logs.v[r] - (mean - maxima.v[r]));
    }
    AddRow(weight, LossOrNan(loss, z, rows.pitch), totals);
    const int64_t predicted =
        shape.decides_plainly() ? std::max_element(z, z + width) - z : PredictedClass(shape, d);
    AddClass(shape, kind, label, predicted, weight,
             width == 2 ? static_cast<double>(z[1]) - static_cast<double>(z[0]) : 0, totals);
    for (int64_t i = 0; i < rows.pitch; ++i) d[i] *= share;
    for (int64_t i = 0; smoothing > 0 && i < width; ++i) d[i] -= each;
    d[label] -= T{1} - smoothing;
    for (int64_t i = 0; i < rows.pitch; ++i) d[i] *= weight;
  }
}

template <typename T>
void BinaryLoss(const NetworkShape& shape, const OutputRows<T>& rows, TotalsKind kind, T* deltas,
                double* totals) {
  const T smoothing = static_cast<T>(Smoothing(shape, kind));
  Column<T> z, sigmoid, exps, logs;
  for (int64_t r = 0; r < rows.rows; ++r) z.v[r] = rows.outputs[r * rows.pitch];
  Sigmoid(z.v, sigmoid.v, kMicroBatchRows);
  for (int64_t r = 0; r < kMicroBatchRows; ++r) logs.v[r] = -std::fabs(z.v[r]);
  Exp(logs.v, exps.v, kMicroBatchRows);
  Log1p(exps.v, logs.v, kMicroBatchRows);
  for (int64_t r = 0; r < rows.rows; ++r) {
    const int32_t label = rows.labels[r];
    CheckLabel(label, 2);
    const T x = z.v[r], weight = rows.weights[r];
    const T y = (T{1} - smoothing) * static_cast<T>(label) + smoothing / 2;
    const T loss = (x > 0 ? x : T{0}) - x * y + logs.v[r];
    AddRow(weight, LossOrNan(loss, rows.outputs + r * rows.pitch, rows.pitch), totals);
    AddClass(shape, kind, label, x > 0 ? 1 : 0, weight, x, totals);
    T* d = deltas + r * rows.pitch;
    std::fill(d, d + rows.pitch, T{0});
    d[0] = (sigmoid.v[r] - y) * weight;
  }
}

// Counts one label: its weight if it is 1, if 1 is predicted, and if both are true.
void AddLabel(TotalsKind kind, bool truth, bool predicted, double weight, double* t) {
  if (kind == TotalsKind::kTraining) return;
  if (truth) t[0] += weight;
  if (predicted) t[1] += weight;
  if (truth && predicted) t[2] += weight;
}

template <typename T>
void MultilabelLoss(const NetworkShape& shape, const OutputRows<T>& rows, TotalsKind kind,
                    T* deltas, double* totals) {
  const int64_t width = shape.outputs();
  const T smoothing = static_cast<T>(Smoothing(shape, kind)), share = T{1} / static_cast<T>(width);
  const bool weighs = kind == TotalsKind::kTraining && !shape.positive_weights.empty();
  Column<T> exps, logs;  // for kMicroBatchRows outputs at a time
  for (int64_t r = 0; r < rows.rows; ++r) {
    const T* z = rows.outputs + r * rows.pitch;
    const T* truth = rows.targets + r * width;
    T* delta = deltas + r * rows.pitch;
    const T weight = rows.weights[r];
    double loss = 0;
    bool right = true;
    Sigmoid(z, delta, rows.pitch);
    for (int64_t begin = 0; begin < width; begin += kMicroBatchRows) {
      const int64_t padded = std::min(kMicroBatchRows, rows.pitch - begin);
      for (int64_t i = 0; i < padded; ++i) logs.v[i] = -std::fabs(z[begin + i]);
      Exp(logs.v, exps.v, padded);
      Log1p(exps.v, logs.v, padded);
      for (int64_t i = 0; i < std::min(padded, width - begin); ++i) {
        const int64_t k = begin + i;
        const T y = (T{1} - smoothing) * truth[k] + smoothing / 2;
        T term = (z[k] > 0 ? z[k] : T{0}) - z[k] * y + logs.v[i], slope = delta[k] - y;
        if (weighs) {  // adds the part of y again, for the excess of its weight over 1
          const T more = static_cast<T>(shape.positive_weights[k] - 1) * y;
          term += more * ((z[k] < 0 ? -z[k] : T{0}) + logs.v[i]);
          slope += more * (delta[k] - T{1});
        }
        loss += static_cast<double>(term);
        const bool is = truth[k] > 0, predicted = z[k] > 0;
        right = right && is == predicted;
        AddLabel(kind, is, predicted, weight, totals + kTotalsFixed + 3 * k);
        delta[k] = slope * share * weight;
      }
    }
    std::fill(delta + width, delta + rows.pitch, T{0});
    AddRow(weight, LossOrNan(loss / static_cast<double>(width), z, rows.pitch), totals);
    if (right) totals[kTotalCorrect] += weight;
  }
}

// The loss of one output's difference, and its derivative.
template <typename T>
struct Penalty {
  T value, slope;
};

template <typename T>
Penalty<T> PenaltyOf(const NetworkShape& shape, T d) {
  const T size = std::fabs(d), sign = d > 0 ? T{1} : d < 0 ? T{-1} : T{0};
  if (shape.loss == spec::Loss::kMse) return {d * d, 2 * d};
  if (shape.loss == spec::Loss::kMae) return {size, sign};
  if (shape.loss == spec::Loss::kQuantile) {
    const T q = static_cast<T>(shape.quantile), slope = d > 0 ? T{1} - q : d < 0 ? -q : T{0};
    return {slope * d, slope};
  }
  const T huber_delta = static_cast<T>(shape.huber_delta);
  if (size < huber_delta) return {d * d / 2, d};
  return {huber_delta * (size - huber_delta / 2), huber_delta * sign};
}

template <typename T>
void RegressionLoss(const NetworkShape& shape, const OutputRows<T>& rows, TotalsKind kind,
                    T* deltas, double* totals) {
  const int64_t width = shape.outputs();
  const bool covers = kind != TotalsKind::kTraining && !shape.half_widths.empty();
  const T share = T{1} / static_cast<T>(width);
  const bool poisson = shape.loss == spec::Loss::kPoisson;
  for (int64_t r = 0; r < rows.rows; ++r) {
    const T* z = rows.outputs + r * rows.pitch;
    const T* y = rows.targets + r * width;
    T* delta = deltas + r * rows.pitch;
    const T weight = rows.weights[r];
    const double w = weight;
    double loss = 0;
    if (poisson) Exp(z, delta, rows.pitch);
    for (int64_t k = 0; k < width; ++k) {
      const T predicted = poisson ? delta[k] : z[k], difference = predicted - y[k];
      const Penalty<T> penalty =
          poisson ? Penalty<T>{predicted - y[k] * z[k], difference} : PenaltyOf(shape, difference);
      loss += static_cast<double>(penalty.value);
      delta[k] = penalty.slope * share * weight;
      const double target = y[k], d = shape.Limited(k, static_cast<double>(predicted)) - target;
      double* t = totals + kTotalsFixed + 4 * k;
      t[0] += w * d * d;
      t[1] += w * std::fabs(d);
      t[2] += w * target;
      t[3] += w * target * target;
      if (covers && std::fabs(d) <= shape.half_widths[k]) {
        totals[kTotalsFixed + 4 * width + k] += w;
      }
    }
    std::fill(delta + width, delta + rows.pitch, T{0});
    AddRow(w, LossOrNan(loss / static_cast<double>(width), z, rows.pitch), totals);
  }
}

}  // namespace

template <typename T>
void LossAndDeltas(const NetworkShape& shape, const OutputRows<T>& rows, TotalsKind kind, T* deltas,
                   double* totals) {
  if (shape.task == spec::Task::kMultilabel)
    return MultilabelLoss(shape, rows, kind, deltas, totals);
  switch (shape.loss) {
    case spec::Loss::kSoftmaxCrossEntropy:
      return SoftmaxLoss(shape, rows, kind, deltas, totals);
    case spec::Loss::kBinaryCrossEntropy:
      return BinaryLoss(shape, rows, kind, deltas, totals);
    default:
      return RegressionLoss(shape, rows, kind, deltas, totals);
  }
}

double PenaltyValue(const NetworkShape& shape, double difference) {
  return PenaltyOf<double>(shape, difference).value;
}

namespace {

// Returns the class with the lowest expected cost, and of equal ones the first. Relative to the sum
// of all shares, a class costs minus its own share, plus what mistakes for it cost more than 1.
template <typename T>
int64_t CheapestClass(const NetworkShape& shape, const T* shares) {
  double costs[spec::kCostClassesMax];  // of the stack, because this runs for each row
  const int64_t classes = shape.classes();
  ESPALIER_CHECK(classes <= spec::kCostClassesMax, std::to_string(classes) + " classes");
  for (int64_t k = 0; k < classes; ++k) costs[k] = -static_cast<double>(shares[k]);
  for (const spec::CostOfClass& c : shape.costs) {
    costs[c.predicted] += static_cast<double>(shares[c.truth]) * (c.cost - 1);
  }
  return std::min_element(costs, costs + classes) - costs;
}

}  // namespace

template <typename T>
int64_t PredictedClass(const NetworkShape& shape, const T* shares) {
  const int64_t classes = shape.classes();
  if (shape.decides_plainly()) return std::max_element(shares, shares + classes) - shares;
  if (shape.thresholds.empty()) return CheapestClass(shape, shares);
  int64_t best = 0;
  double most = -1;
  for (int64_t k = 0; k < classes; ++k) {
    const double multiple = static_cast<double>(shares[k]) / shape.thresholds[k];
    if (!(multiple > most)) continue;
    most = multiple;
    best = k;
  }
  return best;
}

template <typename T>
void Predictions(const NetworkShape& shape, const OutputRows<T>& rows, T* scratch, T* predictions) {
  const int64_t width = shape.outputs();
  if (shape.task == spec::Task::kMultilabel) {
    for (int64_t r = 0; r < rows.rows; ++r) {
      Sigmoid(rows.outputs + r * rows.pitch, scratch, rows.pitch);
      predictions = std::copy(scratch, scratch + width, predictions);
    }
    return;
  }
  Column<T> z, sums, maxima, ones, zeros;
  if (shape.loss == spec::Loss::kSoftmaxCrossEntropy) {
    ExpRows(rows, width, scratch, sums.v, maxima.v);
  } else if (shape.loss == spec::Loss::kBinaryCrossEntropy) {
    for (int64_t r = 0; r < rows.rows; ++r) z.v[r] = rows.outputs[r * rows.pitch];
    Sigmoid(z.v, ones.v, kMicroBatchRows);
    for (int64_t r = 0; r < rows.rows; ++r) z.v[r] = -z.v[r];  // 1 - p has no digits for p near 1
    Sigmoid(z.v, zeros.v, kMicroBatchRows);
  }
  for (int64_t r = 0; r < rows.rows; ++r) {
    const T* output = rows.outputs + r * rows.pitch;
    if (shape.loss == spec::Loss::kPoisson) {
      Exp(output, scratch + r * rows.pitch, rows.pitch);
      output = scratch + r * rows.pitch;
    }
    if (shape.loss == spec::Loss::kSoftmaxCrossEntropy) {
      for (int64_t k = 0; k < width; ++k) *predictions++ = scratch[r * rows.pitch + k] / sums.v[r];
    } else if (shape.loss == spec::Loss::kBinaryCrossEntropy) {
      *predictions++ = zeros.v[r];
      *predictions++ = ones.v[r];
    } else {
      predictions = std::copy(output, output + width, predictions);
    }
  }
}

#define ESPALIER_INSTANTIATE(T)                                                             \
  template void LossAndDeltas<T>(const NetworkShape&, const OutputRows<T>&, TotalsKind, T*, \
                                 double*);                                                  \
  template int64_t PredictedClass<T>(const NetworkShape&, const T*);                        \
  template void Predictions<T>(const NetworkShape&, const OutputRows<T>&, T*, T*);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::model
