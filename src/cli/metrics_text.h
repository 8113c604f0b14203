// Metrics for people, of a training and of an evaluation. Each text ends with '\n'.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "src/spec/metrics.h"

namespace espalier::cli {

inline constexpr size_t kClassesShownMax = 20;  // more classes or targets: no tables of them

// Sets of rows with their names.
using NamedMetrics = std::vector<std::pair<std::string, const spec::Metrics*>>;

// Returns a table with a row for each set, and notes about the metrics. REQUIRES: a set.
std::string MetricsTable(const NamedMetrics& sets, const std::vector<std::string>& classes);

// Returns the tables of one set by target and by class, if it has several. `elsewhere` is the
// location of the tables by class if there are too many classes to show.
std::string DetailTables(const std::string& set, const spec::Metrics& metrics,
                         const std::vector<std::string>& classes, const std::string& elsewhere);

// Returns both for one set.
std::string MetricsText(const std::string& name, const spec::Metrics& metrics,
                        const std::vector<std::string>& classes);

}  // namespace espalier::cli
