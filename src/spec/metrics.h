// Metrics: the result of evaluating a model on a set of rows.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::spec {

struct ClassMetrics {
  double precision = 0, recall = 0, f1 = 0;  // 0 if the denominator is 0
  // Total weight of the class's true rows (number of rows, if unweighted).
  double weight = 0;
};

// Metrics of one target, in its units. r2 is NaN with fewer than two rows. For a constant target,
// it is 1 if all predictions are exact, otherwise 0, as in scikit-learn.
struct TargetMetrics {
  std::string name;
  double rmse = 0, mae = 0, r2 = 0;
  bool constant = false;  // all rows have the same value
  // Weighted share of the rows whose target is in the interval around the prediction, before
  // clip_predictions. Absent: the model has no intervals.
  std::optional<double> coverage = {};
};

// The threshold that `train.threshold` chose. The values are those of the metric that decided, on
// the held-out rows, with this threshold and with 0.5. "cost" is the mean cost per row.
struct ChosenThreshold {
  std::string metric;      // "f1", "cost" and so on, as ThresholdKind
  double threshold = 0.5;  // minimum probability; in (0, 1)
  double value = 0, value_at_half = 0;
  bool reached = true;  // false: no threshold reaches the requested precision or recall
  bool operator==(const ChosenThreshold&) const = default;
};

// Prediction intervals of a regression: prediction +- half-width; for counts (poisson), at least 0.
struct PredictionIntervals {
  double level = 0;  // intended share of rows in the intervals
  // Half-width per target, in its units. Empty: too few held-out rows with a weight above 0, or
  // extreme residuals.
  std::vector<double> half_widths;
  bool operator==(const PredictionIntervals&) const = default;
};

// Metrics of a set of rows. Loss, accuracy, rmse, mae and r2 are NaN if no row, or only rows of
// weight 0, was counted, because their mean is undefined.
struct Metrics {
  int64_t rows = 0;
  double weight = 0;
  double loss = 0;  // weighted mean over rows
  // Classification and multilabel. In multilabel, a row is correct if all its labels are, and
  // labels take the place of classes.
  // The last three: weighted means over classes.
  double accuracy = 0, precision = 0, recall = 0, f1 = 0;
  std::optional<double> auc;  // two classes
  // empty: not counted, and neither are precision, recall and F1.
  std::vector<ClassMetrics> classes;
  std::vector<double> confusion;  // [true class][predicted class], row-major, weights
  // Regression, in the units of the target. Means over rows and targets.
  double rmse = 0, mae = 0, r2 = 0;
  bool classification = true;  // which of the two groups above is valid
  // Multilabel, if labels were counted: F1 of all predictions together, and the unweighted mean
  // over labels.
  std::optional<double> f1_micro, f1_macro;
  // Classification: rows with a label that the model does not know. In accuracy and in the weighted
  // means, they are rows of one more class, which is never predicted. In precision, they count
  // against the predicted class. Loss, AUC, average precision and confusion ignore them.
  int64_t unknown_labels = 0;
  std::vector<TargetMetrics> targets = {};  // regression; empty: not counted
  // Two classes: area under the precision-recall curve, as the sum of the precision at each score
  // times the gain of recall there (scikit-learn's average_precision_score).
  std::optional<double> average_precision = {};
  std::optional<double> coverage = {};  // regression: mean of TargetMetrics::coverage
};

// Returns notes that a reader of the metrics needs: values that are missing or set by convention,
// and rows that some metrics ignore. `classes` holds the names of the classes.
std::vector<std::string> MetricNotes(const Metrics& metrics, std::span<const std::string> classes);

// One row of the history: the state after an evaluation.
struct HistoryRow {
  double epoch = 0;
  int64_t step = 0;
  double learning_rate = 0;
  Metrics train;  // running values of the epoch; no extra pass
  std::optional<Metrics> validation;
  int64_t fit = 0;       // number of the fit, from 1; 0: unknown
  double fit_epoch = 0;  // completed epochs of this fit
};

// Returns the metric with this name (without "val_"; see MetricNames), or nothing if `metrics` does
// not have it. Precision, recall and F1 are derived from the classes, which the running values of
// training do not have. NaN if no row was counted.
std::optional<double> MetricValue(const Metrics& metrics, std::string_view metric);
// Returns whether a higher value of this metric is better. For loss, rmse and mae, a lower value is
// better.
bool HigherIsBetter(std::string_view metric);

// Counters of asynchronous training. `largest_lag`: the most steps taken between handing out
// parameters and applying their gradient. `refused`: gradients that arrived too late and were
// computed again.
struct AsyncCounts {
  int64_t largest_lag = 0;
  int64_t refused = 0;
  bool operator==(const AsyncCounts&) const = default;
};

}  // namespace espalier::spec
