// What an evaluation of a model on a set of rows yields. Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::spec {

struct ClassMetrics {
  double precision = 0, recall = 0, f1 = 0;  // 0 where the denominator is 0
  double weight = 0;                         // true weight (rows, when unweighted) of the class
};

// Of one target, in its units. r2 is NaN with fewer than two rows. Of a constant target it is 1
// when all predictions are exact, otherwise 0, as in scikit-learn.
struct TargetMetrics {
  std::string name;
  double rmse = 0, mae = 0, r2 = 0;
  bool constant = false;  // all rows have one value
  // Share of the weight of the rows whose target is in the interval around the prediction, before
  // clip_predictions; absent: the model has no intervals.
  std::optional<double> coverage = {};
};

// Threshold that `train.threshold` chose, and the metric that decided, measured on the held-out
// rows with this threshold and with 0.5. "cost" is the mean cost of a row.
struct ChosenThreshold {
  std::string metric;      // "f1", "cost" and so on, as ThresholdKind
  double threshold = 0.5;  // of the probability; in (0, 1)
  double value = 0, value_at_half = 0;
  bool reached = true;  // false: no threshold has the precision or recall that was asked for
  bool operator==(const ChosenThreshold&) const = default;
};

// Prediction intervals of a regression: prediction +- half-width; for counts (poisson), at least 0.
struct PredictionIntervals {
  double level = 0;  // share of rows that they are meant to contain
  // By target, in its units. Empty: too few held-out rows with a weight above 0, or extreme
  // residuals.
  std::vector<double> half_widths;
  bool operator==(const PredictionIntervals&) const = default;
};

// Loss, accuracy, rmse, mae and r2 are NaN when no row (or only rows of weight 0) was counted:
// there is nothing they could be the mean of.
struct Metrics {
  int64_t rows = 0;
  double weight = 0;
  double loss = 0;  // weighted mean over rows
  // Classification; multilabel, where a row is right when all its labels are, and labels stand for
  // classes.
  double accuracy = 0, precision = 0, recall = 0, f1 = 0;  // the last three: weighted over classes
  std::optional<double> auc;                               // two classes
  std::vector<ClassMetrics> classes;  // empty: never counted, and so are precision, recall and F1
  std::vector<double> confusion;      // [true class][predicted class], row-major, weights
  // Regression, in the units of the target; means over rows and targets.
  double rmse = 0, mae = 0, r2 = 0;
  bool classification = true;  // which of the two groups above holds
  // Multilabel, once labels are counted: F1 of all answers together, and the plain mean over
  // labels.
  std::optional<double> f1_micro, f1_macro;
  // Classification: rows with a label that the model does not know. In accuracy and in the weighted
  // means they are rows of one more class, which is never predicted. In precision they count
  // against the predicted class. Loss, AUC, average precision and confusion leave them out.
  int64_t unknown_labels = 0;
  std::vector<TargetMetrics> targets = {};  // regression; empty: never counted
  // Two classes: area under the curve of precision by recall, as the sum of precisions at each
  // score times the gain of recall there (scikit-learn's average_precision_score).
  std::optional<double> average_precision = {};
  std::optional<double> coverage = {};  // regression: mean of TargetMetrics::coverage
};

// What a reader of the metrics must know of them: values that are missing or set by convention, and
// rows that some of them leave out. `classes` names the classes.
std::vector<std::string> MetricNotes(const Metrics& metrics, std::span<const std::string> classes);

// One line of history: the state after an evaluation.
struct HistoryRow {
  double epoch = 0;
  int64_t step = 0;
  double learning_rate = 0;
  Metrics train;  // running values of the epoch; no extra pass
  std::optional<Metrics> validation;
};

// The metric of that name (without "val_"; see MetricNames), or nothing when `metrics` has none
// such: precision, recall and F1 follow from the classes, which the running values of training do
// not have. NaN for what no row speaks of.
std::optional<double> MetricValue(const Metrics& metrics, std::string_view metric);
// Whether a model is the better the higher this metric is (loss, rmse and mae: the lower).
bool HigherIsBetter(std::string_view metric);

// Of asynchronous training: how many steps were taken, at the most, between the moment when
// parameters were handed out and that when the gradient at them was applied; and how many gradients
// were computed again because they came too late.
struct AsyncCounts {
  int64_t largest_lag = 0;
  int64_t refused = 0;
  bool operator==(const AsyncCounts&) const = default;
};

}  // namespace espalier::spec
