// Metrics as JSON, for model.json and for the command line's --json. Thread rule: pure functions.
#pragma once

#include <span>
#include <string>

#include "src/spec/metrics.h"

namespace espalier::bundle {

// One object on one line. Classification:
//   {"rows":..,"weight":..,"loss":..,"accuracy":..,"precision":..,"recall":..,"f1":..,"auc":..,
//    "average_precision":..,
//    "per_class":[{"class":"0","precision":..,"recall":..,"f1":..,"weight":..},..],
//    "confusion_matrix":[[..],..]}
// with rows of the matrix by true class; "auc" and "average_precision" for two classes only, null
// where all rows are of one; "precision", "recall", "f1", "per_class" and "confusion_matrix" only
// when the classes were counted (the running values of training have none). Regression:
//   {"rows":..,"weight":..,"loss":..,"rmse":..,"mae":..,"r2":..,
//    "per_target":[{"target":"y","rmse":..,"mae":..,"r2":..},..]}
// with "per_target" when there are several and they were counted, and next to each "r2" a
// "coverage" where the model has prediction intervals. Either has "warnings", texts,
// when there is something to know (spec::MetricNotes), and "unknown_labels" when there are any.
// Numbers that are not finite are null. `classes` names the classes in order; positions stand in
// for names that are missing.
std::string MetricsJsonText(const spec::Metrics& metrics, std::span<const std::string> classes);

}  // namespace espalier::bundle
