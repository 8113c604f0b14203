// The plan of a prediction: its output columns, checks before the start, and the sum of its shards'
// results. The computation itself is in predict.h.
//
// Thread rule: values and re-entrant functions.
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
  std::vector<std::string> keep;  // like in the scan
  // Classification: the column `prediction` (the class), and the columns `probability_CLASS`.
  // Multilabel: the columns `prediction_LABEL`, 0 or 1, and `probability_LABEL`, the probability of
  // 1.
  bool prediction = true, probabilities = true;
  bool spreadsheet_safe = false;  // like ScoringSpec::spreadsheet_safe
  spec::OnBadRow on_bad_row = spec::OnBadRow::kEmpty;
  std::optional<int64_t> rejects_max;  // maximum number of rejects; absent: fails only if all are
  int64_t part_bytes = kPartBytes;
};
PredictSpec PredictSpecOf(const spec::PredictionSpec& prediction, const spec::OutputSpec& output);

// Returns the path of a scoring job's output without trailing slashes, or "".
std::string OutputPath(const spec::OutputSpec& output);

// Returns the scan of a scoring job. `model` must outlive it.
data::ScanRequest ScanRequestOf(const spec::ScoringSpec& spec, const ModelOutline& model);

// Returns the columns of the output, in this order:
// - the kept columns
// - classification and multilabel: the requested columns of `PredictSpec`
// - other tasks: `prediction_TARGET` in the target's units
// - for a model with prediction intervals: `lower_TARGET` and `upper_TARGET`
// - with OnBadRow::kEmpty: `error`, the reason of a row without a prediction
//
// kInvalidArgument: two columns have the same name.
Result<PartColumns> PredictionColumns(const ModelOutline& model, const PredictSpec& spec);

// Checks whether the prediction may start: CheckPredictions, PredictionColumns, and that no input
// file is inside the output.
Status CheckPrediction(const storage::FileSystem& files, const ModelOutline& model,
                       const spec::InputPlan& input, const PredictSpec& spec);

// Returns the result before the first shard.
spec::ScoringResult EmptyPrediction(const PredictSpec& spec);
// Adds the next shard in order. kBadInput: there are now more rejects than the limit. REQUIRES: the
// shard is of a prediction.
Status AddPrediction(const PredictSpec& spec, const spec::ShardScore& shard,
                     spec::ScoringResult* result);
// Checks the result after the last shard. kBadInput: there are rows, but none could be scored.
Status JudgePrediction(const spec::ScoringResult& result);

}  // namespace espalier::scoring
