#include "src/cli/metrics_text.h"

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/cli/format.h"

namespace espalier::cli {
namespace {

// Formats a weight. Row counts are integers, weights may not be.
std::string FormatWeight(double weight) {
  if (std::isfinite(weight) && std::fabs(weight) < 1e15 && weight == std::floor(weight)) {
    return HumanCount(static_cast<int64_t>(weight));
  }
  return FormatValue(weight);
}

std::string ClassName(const std::vector<std::string>& classes, size_t k) {
  return k < classes.size() ? Printable(classes[k], 24) : std::to_string(k);
}

std::vector<std::string> MetricCells(const std::string& name, const spec::Metrics& m) {
  std::vector<std::string> cells = {name, FormatMean(m.loss, m.weight)};
  if (m.classification) {
    cells.push_back(FormatShare(m.accuracy));
    // Running values of an epoch have no classes, hence none of the derived metrics.
    for (double share : {m.precision, m.recall, m.f1}) {
      cells.push_back(m.classes.empty() ? "" : FormatShare(share));
    }
    cells.push_back(m.auc ? FormatValue(*m.auc) : "");
    for (const auto& share : {m.f1_micro, m.f1_macro}) {
      cells.push_back(share ? FormatShare(*share) : "");
    }
  } else {
    for (double value : {m.rmse, m.mae, m.r2}) cells.push_back(FormatMean(value, m.weight));
    cells.push_back(m.coverage ? FormatShare(*m.coverage) : "");
  }
  cells.push_back(HumanCount(m.rows));
  return cells;
}

// Returns a table with a row for each set.
std::string RowsOfSets(const NamedMetrics& sets) {
  std::vector<std::vector<std::string>> rows;
  const bool classification = sets.front().second->classification;
  if (classification) {
    rows.push_back({"", "loss", "accuracy", "precision", "recall", "f1", "auc", "f1_micro",
                    "f1_macro", "rows"});
  } else {
    rows.push_back({"", "loss", "rmse", "mae", "r2", "coverage", "rows"});
  }
  for (const auto& [name, metrics] : sets) rows.push_back(MetricCells(name, *metrics));
  for (size_t c = classification ? 9 : 6; c-- > (classification ? 6 : 5);) {  // empty columns
    if (std::any_of(rows.begin() + 1, rows.end(), [c](const auto& r) { return !r[c].empty(); })) {
      continue;
    }
    for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
  }
  return Table(rows, "  ");
}

std::string ClassTable(const spec::Metrics& m, const std::vector<std::string>& classes) {
  std::vector<std::vector<std::string>> rows = {
      {m.f1_micro ? "label" : "class", "precision", "recall", "f1", "rows"}};
  for (size_t k = 0; k < m.classes.size(); ++k) {
    const spec::ClassMetrics& c = m.classes[k];
    rows.push_back({ClassName(classes, k), FormatShare(c.precision), FormatShare(c.recall),
                    FormatShare(c.f1), FormatWeight(c.weight)});
  }
  return Table(rows, "  ");
}

std::string TargetTable(const std::string& set, const spec::Metrics& m) {
  if (m.targets.size() < 2) return "";
  if (m.targets.size() > kClassesShownMax) {
    return "\n" + std::to_string(m.targets.size()) +
           " targets: those of each are shown by --json\n";
  }
  std::vector<std::vector<std::string>> rows = {{"target", "rmse", "mae", "r2"}};
  if (m.coverage) rows[0].push_back("coverage");
  for (const spec::TargetMetrics& t : m.targets) {
    rows.push_back({Printable(t.name, 24), FormatValue(t.rmse), FormatValue(t.mae),
                    FormatMean(t.r2, m.weight)});
    if (t.coverage) rows.back().push_back(FormatShare(*t.coverage));
  }
  return "\n" + set + " set by target\n" + Table(rows, "  ");
}

// Returns notes about the metrics of a set, one on each line.
std::string Notes(const std::string& set, const spec::Metrics& m,
                  const std::vector<std::string>& classes) {
  std::string text;
  for (const std::string& note : spec::MetricNotes(m, classes)) {
    text += "note: " + set + ": " + note + "\n";
  }
  return text;
}

// Returns a confusion matrix: rows are true classes, columns are predicted classes. Classes without
// a name are numbers.
std::string ConfusionText(const std::vector<std::string>& classes,
                          const std::vector<double>& confusion) {
  const size_t count = static_cast<size_t>(std::llround(std::sqrt(confusion.size())));
  std::vector<std::vector<std::string>> rows(1, {""});
  for (size_t k = 0; k < count; ++k) rows[0].push_back(ClassName(classes, k));
  for (size_t t = 0; t < count; ++t) {
    rows.push_back({ClassName(classes, t)});
    for (size_t p = 0; p < count; ++p)
      rows.back().push_back(FormatWeight(confusion[t * count + p]));
  }
  return Table(rows, "  ");
}

// Returns the tables by class of a set. `elsewhere` is their location if there are too many to
// show.
std::string ClassTables(const std::string& set, const spec::Metrics& m,
                        const std::vector<std::string>& classes, const std::string& elsewhere) {
  if (!m.classification || m.classes.empty()) return "";
  const size_t count = m.classes.size();
  if (count > kClassesShownMax) {
    return "\n" + std::to_string(count) + " classes: the tables by class are " + elsewhere + "\n";
  }
  std::string text =
      "\n" + set + " set by " + (m.f1_micro ? "label" : "class") + "\n" + ClassTable(m, classes);
  if (m.confusion.size() == count * count) {
    text += "\nconfusion matrix of the " + set + " set (rows: true class, columns: predicted)\n" +
            ConfusionText(classes, m.confusion);
  }
  return text;
}

}  // namespace

std::string MetricsTable(const NamedMetrics& sets, const std::vector<std::string>& classes) {
  std::string text = RowsOfSets(sets);
  for (const auto& [name, metrics] : sets) text += Notes(name, *metrics, classes);
  return text;
}

std::string DetailTables(const std::string& set, const spec::Metrics& metrics,
                         const std::vector<std::string>& classes, const std::string& elsewhere) {
  return TargetTable(set, metrics) + ClassTables(set, metrics, classes, elsewhere);
}

std::string MetricsText(const std::string& name, const spec::Metrics& metrics,
                        const std::vector<std::string>& classes) {
  return MetricsTable({{name, &metrics}}, classes) +
         DetailTables(name, metrics, classes, "shown by --json and --report");
}

}  // namespace espalier::cli
