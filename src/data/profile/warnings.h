// Finds probable problems of a table and describes them to the user. They do not affect the model.
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

struct WarningFacts {
  const spec::InputPlan& plan;
  const spec::JobSpec& job;
  int64_t train_rows = 0;
  const std::map<std::string, int64_t>& labels;  // classification: training rows of each class
  const spec::RowCounts& alike;
  const spec::RowSample& probe;
};

// Returns a line for each of these problems, for tables with at least kWarnedRowsMin training rows:
//   label      one class has at least 99 % of the training rows
//   duplicates at least 1 % of the training rows repeat another one; at least 1 % of the validation
//              rows are training rows too. By the rows of RowCounts, features and label
//   leak       a number or a category, null included, alone predicts the label in 99 % of the
//              probed rows, with at most a tenth of the errors that the most frequent class makes.
//              The same for a date, of which only the presence counts. Along a number, the label
//              changes at most a third as often as in a random order. For a regression, a number
//              whose correlation with the label has a square of at least 0.995
//   time       a date column orders the rows, and validation rows are drawn at random, by the share
//              of data.validation or as folds
inline constexpr int64_t kWarnedRowsMin = 100;
std::vector<std::string> FindWarnings(const WarningFacts& facts);

}  // namespace espalier::data
