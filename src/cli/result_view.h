// How an ended job looks to a person. Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "src/cli/learning_curve.h"
#include "src/spec/snapshots.h"

namespace espalier::cli {

inline constexpr size_t kClassesShownMax = 20;  // more classes: no tables

// What is known of a result besides the job.
struct ResultDetails {
  Drawing drawing;
  std::vector<CurvePoint> curve;  // fewer than two: no plot
  std::string table;              // to score in what to try next; empty: not known
  std::string directory;          // working directory: paths below it are shown relative to it
};

// The result of a job that succeeded: metrics, tables for classification (up to kClassesShownMax
// classes), the learning curve, where the time went, where the bundle is and what to try next.
// Ends with '\n'. `client_start_ms` is what the command did before the job was submitted (`train`
// starts daemons). REQUIRES: job.has_result().
std::string ResultText(const spec::JobSnapshot& job, int64_t client_start_ms,
                       const ResultDetails& details = {});

// An error with its position on lines of its own: "error: ..." and, when known, file, row, column,
// byte offset and the text found. Ends with '\n'.
std::string ErrorText(const Status& error, bool color);

// The tables of `espalier list` and `espalier workers`. `now_ms` is milliseconds since 1970.
std::string JobTable(const std::vector<spec::JobSnapshot>& jobs, int64_t now_ms);
std::string WorkerTable(const std::vector<spec::WorkerSnapshot>& workers);

// `espalier status`: all that is known of a job that has not ended, else its result or error.
std::string StatusText(const spec::JobSnapshot& job, int64_t now_ms, bool color);

// A line for each of the newest kEvaluationsShownMax evaluations, after one that says how many
// came before and where they are: in history.csv when the job has its bundle, and what
// `all_with`, a command, prints. Empty when there was none.
inline constexpr size_t kEvaluationsShownMax = 10;
std::string LastEvaluations(const spec::JobUpdate& job, const std::string& all_with);

// The metrics of one set, a row called `name`, what to know of them and, for classes or several
// targets, the tables by class or target as above.
std::string MetricsText(const std::string& name, const spec::Metrics& metrics,
                        const std::vector<std::string>& classes);

// A confusion matrix: rows are true classes, columns predicted ones. REQUIRES: confusion holds
// classes.size() squared numbers.
std::string ConfusionText(const std::vector<std::string>& classes,
                          const std::vector<double>& confusion);

}  // namespace espalier::cli
