// history.csv: one line an evaluation. Thread rule: pure functions.
#pragma once

#include <span>
#include <string>

#include "src/spec/job_spec.h"
#include "src/spec/metrics.h"

namespace espalier::bundle {

// The figures of validation rows, with precision, recall and F1 (MetricValue), although a history
// is kept without those of single classes, from which these were counted. One empty class stands
// for them.
std::optional<spec::Metrics> CountedValidation(const spec::HistoryRow& row);

// Columns: epoch, step, learning_rate, then the task's metrics (MetricNames) of the training rows,
// then the same of the validation rows with "val_" before the name, if any row has them. "auc" only
// where some row has one. Numbers are the shortest that read back exactly; a field is empty where
// there is no value or none that is finite.
std::string HistoryCsv(std::span<const spec::HistoryRow> history, spec::Task task);

}  // namespace espalier::bundle
