#include "src/bundle/history.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/base/text.h"

namespace espalier::bundle {
namespace {

// A column of metrics of the training or validation rows.
struct Column {
  std::string metric;
  bool validation = false;
};

std::optional<double> ValueOf(const spec::HistoryRow& row, const Column& column) {
  if (!column.validation) return spec::MetricValue(row.train, column.metric);
  const auto validation = CountedValidation(row);
  return validation ? spec::MetricValue(*validation, column.metric) : std::nullopt;
}

std::vector<Column> Columns(std::span<const spec::HistoryRow> history, spec::Task task) {
  std::vector<Column> columns;
  for (const bool validation : {false, true}) {
    for (const std::string& metric : spec::MetricNames(task)) {
      const Column column{metric, validation};
      const bool seen = std::any_of(
          history.begin(), history.end(),
          [&](const spec::HistoryRow& row) { return ValueOf(row, column).has_value(); });
      const bool always = metric == "loss" || metric == "accuracy" || spec::PredictsNumbers(task);
      if (seen || (!validation && always)) columns.push_back(column);
    }
  }
  return columns;
}

}  // namespace

std::optional<spec::Metrics> CountedValidation(const spec::HistoryRow& row) {
  auto validation = row.validation;
  if (validation && validation->weight > 0) validation->classes.resize(1);
  return validation;
}

std::string HistoryCsv(std::span<const spec::HistoryRow> history, spec::Task task) {
  const std::vector<Column> columns = Columns(history, task);
  std::string out = "epoch,step,learning_rate";
  for (const Column& column : columns) {
    out += (column.validation ? ",val_" : ",") + column.metric;
  }
  out += '\n';
  for (const spec::HistoryRow& row : history) {
    out += ShortestDouble(row.epoch) + "," + std::to_string(row.step) + "," +
           ShortestDouble(row.learning_rate);
    for (const Column& column : columns) {
      const auto value = ValueOf(row, column);
      out += ',';
      if (value && std::isfinite(*value)) out += ShortestDouble(*value);
    }
    out += '\n';
  }
  return out;
}

}  // namespace espalier::bundle
