// What a prediction is to write, whether it may, and what its shards come to: all of it but the
// computing (predict.h). Thread rule: values and re-entrant functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/profile/table_scan.h"
#include "src/scoring/model_outline.h"
#include "src/scoring/part_files.h"
#include "src/spec/scoring_spec.h"
#include "src/spec/shard_score.h"

namespace espalier::scoring {

struct PredictSpec {
  std::string output;  // a directory
  spec::PartFormat format = spec::PartFormat::kCsv;
  bool overwrite = false;
  std::vector<std::string> keep;  // as in the scan
  // Classification: the column `prediction`, the class, and the columns `probability_CLASS`.
  // Multilabel: the columns `prediction_LABEL`, 0 or 1, and `probability_LABEL`, of 1.
  bool prediction = true, probabilities = true;
  bool spreadsheet_safe = false;  // as in ScoringSpec
  spec::OnBadRow on_bad_row = spec::OnBadRow::kEmpty;
  std::optional<int64_t> rejects_max;  // more of them are an error; unset: unless all are
  int64_t part_bytes = kPartBytes;
};
PredictSpec PredictSpecOf(const spec::ScoringSpec& spec);

// What is to be read for a job that scores. `model` must outlive it.
data::ScanRequest ScanRequestOf(const spec::ScoringSpec& spec, const ModelOutline& model);

// The columns of the output: those kept; classification, `prediction` and `probability_CLASS` as
// asked for, multilabel likewise; otherwise `prediction_TARGET` in the target's units, and for a
// model with prediction intervals `lower_TARGET` and `upper_TARGET`; with OnBadRow::kEmpty last
// `error`, the reason of a row without a prediction. kInvalidArgument: two of them have one name.
Result<PartColumns> PredictionColumns(const ModelOutline& model, const PredictSpec& spec);

// Whether it may begin: CheckPredictions, PredictionColumns, and that no file of the input lies
// where the output will be.
Status CheckPrediction(const storage::FileSystem& files, const ModelOutline& model,
                       const spec::InputPlan& input, const PredictSpec& spec);

// The next shard in order. kBadInput: now there are more rejects than the limit.
Status AddPrediction(const PredictSpec& spec, const spec::ShardScore& shard,
                     spec::ScoringResult* result);
// After the last one. kBadInput: there are rows, and none could be scored.
Status JudgePrediction(const spec::ScoringResult& result);

}  // namespace espalier::scoring
