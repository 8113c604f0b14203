// The report of an evaluation: one self-contained HTML page. Styles and charts are part of it. It
// has no scripts and no external addresses.
//
// Thread rule: pure functions.
#pragma once

#include <span>
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
  std::string model, data;                  // names as given by the user
  std::string history;                      // the bundle's history.csv; empty: no history
  std::span<const std::string> notes = {};  // InputPlan::notes
};

// Returns the page. It contains metrics, metrics by class, loss curves and the confusion matrix (up
// to kConfusionShown classes). For two classes, it adds ROC, precision-recall and the effect of the
// threshold. For regression, it adds residuals.
std::string ReportHtml(const ReportInput& input);
inline constexpr size_t kConfusionShown = 50;

// A numeric column of a table. Absent values are NaN.
struct Curve {
  std::string name;
  std::vector<double> values;
};
// Returns the columns of history.csv. kBadInput: the text is not a history, or has more than
// 100,000 lines.
Result<std::vector<Curve>> ParseHistory(std::string_view text);

// Curves from the totals of a two-class evaluation. `roc`: points from (0, 0) to (1, 1), false by
// true positive rate, one for each bin of scores in use, from the highest. `precision_recall`:
// recall by precision, likewise. `precision`, `recall` and `f1`: by the threshold of the positive
// class's probability.
struct ScoreCurves {
  std::vector<std::pair<double, double>> roc, precision_recall;
  std::vector<std::pair<double, double>> precision, recall, f1;
};
ScoreCurves CurvesOf(const model::NetworkShape& shape, const std::vector<double>& totals);

}  // namespace espalier::scoring
