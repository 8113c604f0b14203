// What a person asks for when a trained model is to be applied to a table by a cluster: a job that
// predicts, or one that evaluates. config/ makes it from YAML; defaults stand here.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/job_spec.h"

namespace espalier::spec {

enum class JobKind : uint8_t { kTrain, kPredict, kEvaluate };

// What part files of predictions are.
enum class PartFormat { kCsv, kParquet };

// The columns that a classification adds to a table.
enum class AnswerColumn { kPrediction, kProbabilities };

// What becomes of a row that cannot be scored.
enum class OnBadRow {
  kEmpty,   // a line without a prediction, with the reason
  kReject,  // left out of the predictions, and written to the rejects
  kFail,    // the first one ends the prediction
};

struct ScoringSpec {
  std::string name;                       // absent: "predict" or "evaluate"
  JobKind kind = JobKind::kPredict;       // not kTrain
  std::string model;                      // a bundle's directory
  std::vector<std::string> data;          // patterns or directories, in order
  std::optional<DataFormat> data_format;  // absent: by the files' names
  bool raw = false;                       // as DataSpec::raw
  WorkerRange workers;
  // Of a prediction the directory of the part files; of an evaluation the file of its report, an
  // HTML page, which takes the place of one that is there; no path: no report.
  OutputSpec output;
  // Of predictions alone:
  std::optional<PartFormat> format;   // absent: by the extension of the output, else CSV
  std::vector<std::string> keep;      // columns of the data to copy to the output
  std::vector<AnswerColumn> columns;  // classification; empty: both
  bool spreadsheet_safe = false;      // CSV: an apostrophe before text that may be a formula
  OnBadRow on_bad_row = OnBadRow::kEmpty;
  // More rows that cannot be scored are an error; absent: only when none can be.
  std::optional<int64_t> rejects_limit;
  bool operator==(const ScoringSpec&) const = default;

  // As JobSpec::Validate.
  Status Validate() const;
};

// The format in force.
PartFormat FormatOf(const ScoringSpec& spec);

}  // namespace espalier::spec
