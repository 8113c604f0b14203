// A scoring job on one worker: its model, read once, and the scoring of shards.
//
// Thread rule: Begin before the generation's Score. Score is safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/data/profile/profile_shard.h"
#include "src/data/table/memory_budget.h"
#include "src/scoring/evaluate.h"
#include "src/scoring/predict.h"
#include "src/spec/scoring_spec.h"
#include "src/storage/file_system.h"

namespace espalier::worker {

class ScoringWork {
 public:
  // Reads the model. `input`: the plan of the coordinator, by the model.json of `model_sha256`.
  // `request_id`: that of the submission. Errors are those of LoadTrainedModel and ResumeScan.
  static Result<std::unique_ptr<ScoringWork>> Make(const storage::FileSystem& files,
                                                   spec::ScoringSpec spec,
                                                   const spec::InputPlan& input,
                                                   const std::string& request_id,
                                                   const std::string& model_sha256);

  // Begins a generation of the job in which this worker has shards. The generation has a separate
  // directory for its parts, or for the residuals of an evaluation.
  Status Begin(const storage::FileSystem& files, Generation generation);
  // Scores a shard through `files`, whose reads are watched. The rows use the memory of `room`.
  // kCancelled soon after `cancelled` returns true.
  Result<spec::ShardScore> Score(const storage::FileSystem& files, int32_t shard,
                                 data::MemoryBudget* room, const std::function<bool()>& cancelled);

 private:
  struct Prediction {
    scoring::PredictSpec spec;  // its output is `parts_`
    scoring::PartColumns columns;
  };

  ScoringWork(spec::ScoringSpec spec, scoring::TrainedModel model)
      : spec_(std::move(spec)),
        model_(std::move(model)),
        classes_(model_.document.preprocessing.classes),
        scorers_(model_) {}

  Result<spec::ShardScore> Evaluate(const scoring::ScoringRun& run, int32_t shard);

  const spec::ScoringSpec spec_;
  const scoring::TrainedModel model_;
  const data::ClassIndex classes_;
  scoring::ScorerPool scorers_;
  data::ScanPlan scan_;
  std::string staging_;                   // empty unless the job writes files
  std::string parts_;                     // this generation's directory for parts or residuals
  std::optional<Prediction> prediction_;  // absent: an evaluation
  Generation generation_;
};

}  // namespace espalier::worker
