// An evaluation as one HTML page that needs nothing else: styles and charts are part of it, there
// is no script and no address of anything. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/scoring/evaluation.h"
#include "src/scoring/model_outline.h"

namespace espalier::scoring {

struct ReportInput {
  const ModelOutline& trained;
  const Evaluation& evaluation;
  std::string model, data;  // as they were named
  std::string history;      // the bundle's history.csv; empty: there is none
};

// Metrics, those by class, loss curves, the confusion matrix (up to kConfusionShown classes), for
// two classes ROC, precision-recall and the effect of the threshold, for regression residuals.
std::string ReportHtml(const ReportInput& input);
inline constexpr size_t kConfusionShown = 50;

// A column of a table of numbers: absent ones are NaN.
struct Curve {
  std::string name;
  std::vector<double> values;
};
// The columns of history.csv. kBadInput: it is none, or has more than 100,000 lines.
Result<std::vector<Curve>> ParseHistory(std::string_view text);

// Of the totals of a two-class evaluation: points from (0, 0) to (1, 1), false by true positive
// rate, one for each bin of scores in use, from the highest; and recall by precision, likewise.
// Then precision, recall and F1 by the threshold of the positive class's probability.
struct ScoreCurves {
  std::vector<std::pair<double, double>> roc, precision_recall;
  std::vector<std::pair<double, double>> precision, recall, f1;
};
ScoreCurves CurvesOf(const model::NetworkShape& shape, const std::vector<double>& totals);

}  // namespace espalier::scoring
