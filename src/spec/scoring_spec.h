// ScoringSpec: a job that applies a trained model to a table, as requested by a user. It predicts
// or evaluates. config/ makes it from YAML. This file is the only place for its defaults.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/base/status.h"
#include "src/spec/job_spec.h"

namespace espalier::spec {

enum class JobKind : uint8_t { kTrain, kPredict, kEvaluate };

// File format of the part files of predictions.
enum class PartFormat { kCsv, kParquet };

// Columns that a classification adds to a table.
enum class AnswerColumn { kPrediction, kProbabilities };

// How to handle a row that cannot be scored.
enum class OnBadRow {
  kEmpty,   // write a line without a prediction, with the reason
  kReject,  // leave it out of the predictions and write it to the rejects
  kFail,    // fail the prediction at the first one
};

// The part of a prediction.
struct PredictionSpec {
  static constexpr JobKind kKind = JobKind::kPredict;
  std::optional<PartFormat> format;   // absent: from the extension of the output, otherwise CSV
  std::vector<std::string> keep;      // data columns to copy to the output
  std::vector<AnswerColumn> columns;  // classification; empty: both
  bool spreadsheet_safe = false;      // CSV: puts an apostrophe before text that may be a formula
  OnBadRow on_bad_row = OnBadRow::kEmpty;
  // Maximum number of rows that cannot be scored. Absent: the job fails only if no row can be
  // scored.
  std::optional<int64_t> rejects_limit;
  bool operator==(const PredictionSpec&) const = default;
};

// The part of an evaluation.
struct EvaluationSpec {
  static constexpr JobKind kKind = JobKind::kEvaluate;
  bool operator==(const EvaluationSpec&) const = default;
};

struct ScoringSpec {
  using Work = std::variant<PredictionSpec, EvaluationSpec>;
  std::string name;                       // absent: "predict" or "evaluate"
  std::string model;                      // a bundle's directory
  std::vector<std::string> data;          // patterns or directories, in order
  std::optional<DataFormat> data_format;  // absent: from the files' names
  bool raw = false;                       // like DataSpec::raw
  WorkerRange workers;
  // Prediction: directory of the part files. Evaluation: file of its HTML report, which replaces an
  // existing file; no path: no report.
  OutputSpec output;
  Work work;
  bool operator==(const ScoringSpec&) const = default;

  JobKind kind() const {
    return std::visit([](const auto& w) { return w.kKind; }, work);
  }
  // Return the part of a prediction, or nullptr for an evaluation.
  const PredictionSpec* prediction() const { return std::get_if<PredictionSpec>(&work); }
  PredictionSpec* prediction() { return std::get_if<PredictionSpec>(&work); }
  // Validates like JobSpec::Validate.
  Status Validate() const;
};

// Returns the effective format of a prediction with this output.
PartFormat FormatOf(const PredictionSpec& prediction, const OutputSpec& output);

}  // namespace espalier::spec
