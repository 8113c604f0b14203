// Display of an ended job for people.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "src/cli/learning_curve.h"
#include "src/spec/job_spec.h"
#include "src/spec/snapshots.h"

namespace espalier::cli {

// Details of a result in addition to the job.
struct ResultDetails {
  Drawing drawing;
  std::vector<CurvePoint> curve;       // fewer than two: no plot
  const spec::JobSpec* job = nullptr;  // for the suggested next steps; null: unknown
  std::string directory;               // working directory; paths below it are shown as relative
};

// Returns the result of a job that succeeded: metrics with their tables (metrics_text.h) and the
// learning curve. Timing, the bundle's location and suggested next steps follow. Ends with '\n'.
// `client_start_ms` is the time that the command spent before it submitted the job (`train` starts
// daemons). REQUIRES: job.has_result().
std::string ResultText(const spec::JobSnapshot& job, int64_t client_start_ms,
                       const ResultDetails& details = {});

// Returns an error with its position on separate lines: "error: ..." and, if known, file, row,
// column, byte offset and the text found. Ends with '\n'.
std::string ErrorText(const Status& error, bool color);

// Return the tables of `espalier list` and `espalier workers`. `now_ms` is in milliseconds since
// 1970.
std::string JobTable(const std::vector<spec::JobSnapshot>& jobs, int64_t now_ms);
std::string WorkerTable(const std::vector<spec::WorkerSnapshot>& workers);

// Returns the text of `espalier status`: all information about a job that has not ended, or
// otherwise its result or error.
std::string StatusText(const spec::JobSnapshot& job, int64_t now_ms, bool color);

// Returns a line for each of the newest kEvaluationsShownMax evaluations. A first line states the
// number of earlier ones and their location. The location is history.csv, if the job has its
// bundle, and the command `all_with`, which prints all. Empty if there were no evaluations.
inline constexpr size_t kEvaluationsShownMax = 10;
std::string LastEvaluations(const spec::JobUpdate& job, const std::string& all_with);

}  // namespace espalier::cli
