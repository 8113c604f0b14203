#include "src/spec/metrics.h"

#include <algorithm>

#include "src/base/text.h"

namespace espalier::spec {
namespace {

bool MissesAuc(const Metrics& m) {
  return m.classification && m.classes.size() == 2 && !m.f1_micro && !m.auc && m.weight > 0;
}

std::string AucNote(const Metrics& m, std::span<const std::string> classes) {
  const auto has_rows = [](const ClassMetrics& c) { return c.weight > 0; };
  const auto seen = std::find_if(m.classes.begin(), m.classes.end(), has_rows);
  if (seen == m.classes.end()) return "auc has no value: no row has a class of the model";
  const auto k = static_cast<size_t>(seen - m.classes.begin());
  const std::string name = k < classes.size() ? classes[k] : std::to_string(k);
  return "auc has no value: all rows are of the class " + Quoted(name);
}

}  // namespace

std::vector<std::string> MetricNotes(const Metrics& m, std::span<const std::string> classes) {
  std::vector<std::string> notes;
  if (m.unknown_labels > 0) {
    notes.push_back(HumanCount(m.unknown_labels) +
                    (m.unknown_labels == 1 ? " row has" : " rows have") +
                    " a label that the model does not know: a mistake in the accuracy, and left "
                    "out of the loss");
  }
  if (MissesAuc(m)) notes.push_back(AucNote(m, classes));
  if (m.classification || !(m.weight > 0) || m.targets.empty()) return notes;
  if (m.rows < 2) {
    notes.push_back("r2 has no value: it needs two rows");
    return notes;
  }
  for (const TargetMetrics& target : m.targets) {
    if (!target.constant) continue;
    notes.push_back("r2 of " + Quoted(target.name) + " is " + (target.r2 == 1 ? "1" : "0") +
                    " by convention: all rows have one value");
  }
  return notes;
}

}  // namespace espalier::spec
