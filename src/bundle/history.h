// history.csv: one line an evaluation. Thread rule: pure functions.
#pragma once

#include <span>
#include <string>

#include "src/spec/job_spec.h"
#include "src/spec/metrics.h"

namespace espalier {

// Columns: epoch, step, learning_rate, then the task's metrics (MetricNames) of the training rows,
// then the same of the validation rows with "val_" before the name, if any row has them. "auc" only
// where some row has one. Numbers are the shortest that read back exactly; a field is empty where
// there is no value or none that is finite.
std::string HistoryCsv(std::span<const HistoryRow> history, Task task);

}  // namespace espalier
