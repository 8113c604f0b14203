// Metrics as JSON, for model.json and for --json of the command line.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string>

#include "src/spec/metrics.h"

namespace espalier::bundle {

// Returns one object on one line. Classification:
//   {"rows":..,"weight":..,"loss":..,"accuracy":..,"precision":..,"recall":..,"f1":..,"auc":..,
//    "average_precision":..,
//    "per_class":[{"class":"0","precision":..,"recall":..,"f1":..,"weight":..},..],
//    "confusion_matrix":[[..],..]}
// Rows of the matrix are true classes. "auc" and "average_precision" exist only for two classes,
// and are null if all rows have the same class. "precision", "recall", "f1", "per_class" and
// "confusion_matrix" exist only if the classes were counted. Running values of training have none.
// Regression:
//   {"rows":..,"weight":..,"loss":..,"rmse":..,"mae":..,"r2":..,
//    "per_target":[{"target":"y","rmse":..,"mae":..,"r2":..},..]}
// "per_target" exists if there are several targets and they were counted. A "coverage" follows each
// "r2" if the model has prediction intervals. Both kinds have "warnings", a list of texts, if any
// apply (spec::MetricNotes), and "unknown_labels" if any occurred. Numbers that are not finite are
// null. `classes` are the names of the classes in order. Positions replace missing names.
std::string MetricsJsonText(const spec::Metrics& metrics, std::span<const std::string> classes);

}  // namespace espalier::bundle
