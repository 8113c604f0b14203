// history.csv: one line for each evaluation.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string>

#include "src/spec/job_spec.h"
#include "src/spec/metrics.h"

namespace espalier::bundle {

// Returns the metrics of the validation rows with precision, recall and F1 (MetricValue). A history
// does not keep the values of single classes from which these were computed. One empty class
// replaces them.
std::optional<spec::Metrics> CountedValidation(const spec::HistoryRow& row);

// Returns the CSV. Columns are epoch, step, learning_rate and the task's metrics (MetricNames) of
// the training rows. The metrics of the validation rows follow with the prefix "val_", if any row
// has them. "auc" appears only if a row has one. Numbers are the shortest text that reads back
// exactly. A field is empty if its value is missing or not finite.
std::string HistoryCsv(std::span<const spec::HistoryRow> history, spec::Task task);

}  // namespace espalier::bundle
