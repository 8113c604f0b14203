// A model's answers to a table, written shard by shard as part files (part_files.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/scoring/part_files.h"
#include "src/scoring/scoring_run.h"

namespace espalier {

struct PredictSpec {
  std::string output;  // a directory
  PartFormat format = PartFormat::kCsv;
  bool overwrite = false;
  std::vector<std::string> keep;  // as in the scan
  // Classification: the column `prediction`, the class, and the columns `probability_CLASS`.
  // Multilabel: the columns `prediction_LABEL`, 0 or 1, and `probability_LABEL`, of 1.
  bool prediction = true, probabilities = true;
  std::optional<int64_t> rejects_max;  // more of them are an error; unset: unless all are
  int64_t part_bytes = kPartBytes;
};

struct PredictResult {
  int64_t rows = 0;  // scored
  int64_t rejected = 0;
  int64_t parts = 0;                  // files of rows
  std::vector<Status> first_rejects;  // kRejectsKept at most
};

// The columns of the output: those kept; classification, `prediction` and `probability_CLASS` as
// asked for, multilabel likewise; else `prediction_TARGET` in the target's units. kInvalidArgument:
// two of them have one name.
Result<PartColumns> PredictionColumns(const TrainedModel& model, const PredictSpec& spec);

// Scores the table and writes the output, the same bytes for any number of threads. A class is that
// of the highest probability, the first of equal ones; a number that overflowed stands as nan or
// inf. Memory is that of one part and one piece of the input for each thread, whatever the table's
// size.
//
// Errors: the first shard's that has one, kBadInput for too many rejects or nothing else,
// kCancelled. They leave what was written, without _SUCCESS.
// REQUIRES: CheckPrediction, then BeginPredictions succeeded.
Result<PredictResult> Predict(const ScoringRun& run, const PredictSpec& spec);

// Whether it may begin: CheckPredictions, PredictionColumns, and that no file of the input lies
// where the output will be.
Status CheckPrediction(const ScoringRun& run, const PredictSpec& spec);

}  // namespace espalier
