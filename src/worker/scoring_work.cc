#include "src/worker/scoring_work.h"

#include <utility>

#include "src/scoring/residual_file.h"
#include "src/scoring/scoring_job.h"
#include "src/scoring/staging.h"

namespace espalier::worker {

Result<std::unique_ptr<ScoringWork>> ScoringWork::Make(const storage::FileSystem& files,
                                                       spec::ScoringSpec spec,
                                                       const spec::InputPlan& input,
                                                       const std::string& request_id,
                                                       const std::string& model_sha256) {
  ESPALIER_ASSIGN_OR_RETURN(scoring::TrainedModel model,
                            scoring::LoadTrainedModel(files, spec.model, model_sha256));
  std::unique_ptr<ScoringWork> work(new ScoringWork(std::move(spec), std::move(model)));
  ESPALIER_ASSIGN_OR_RETURN(
      work->scan_,
      data::ResumeScan(files, scoring::ScanRequestOf(work->spec_, work->model_), input));
  const spec::PredictionSpec* prediction = work->spec_.prediction();
  if (prediction != nullptr || scoring::TellsResiduals(work->spec_, work->model_)) {
    work->staging_ = scoring::StagingDirectory(scoring::OutputPath(work->spec_.output), request_id);
  }
  if (prediction != nullptr) {
    Prediction& predicts = work->prediction_.emplace();
    predicts.spec = scoring::PredictSpecOf(*prediction, work->spec_.output);
    ESPALIER_ASSIGN_OR_RETURN(predicts.columns,
                              scoring::PredictionColumns(work->model_, predicts.spec));
  }
  return work;
}

Status ScoringWork::Begin(const storage::FileSystem& files, Generation generation) {
  generation_ = generation;
  if (staging_.empty()) return {};
  parts_ = scoring::PartsDirectory(staging_, generation.value);
  if (prediction_) prediction_->spec.output = parts_;
  return files.MakeDirectory(parts_);
}

Result<spec::ShardScore> ScoringWork::Evaluate(const scoring::ScoringRun& run, int32_t shard) {
  if (staging_.empty()) return scoring::EvaluateShard(run, classes_, shard, &scorers_, nullptr);
  std::vector<scoring::TargetResiduals> residuals;
  ESPALIER_ASSIGN_OR_RETURN(spec::ShardScore score,
                            scoring::EvaluateShard(run, classes_, shard, &scorers_, &residuals));
  ESPALIER_RETURN_IF_ERROR(run.files.WriteAtomically(parts_ + "/" + scoring::ResidualName(shard),
                                                     scoring::EncodeResiduals(residuals)));
  return score;
}

Result<spec::ShardScore> ScoringWork::Score(const storage::FileSystem& files, int32_t shard,
                                            data::MemoryBudget* room,
                                            const std::function<bool()>& cancelled) {
  const scoring::ScoringRun run{.files = files,
                                .model = model_,
                                .reader = data::MakeScanReader(files, scan_, room),
                                .threads = 1,
                                .progress = nullptr,
                                .cancelled = cancelled};
  auto score = prediction_ ? scoring::PredictShard(run, prediction_->spec, prediction_->columns,
                                                   shard, &scorers_)
                           : Evaluate(run, shard);
  ESPALIER_RETURN_IF_ERROR(score.status());
  score->shard = shard;
  score->generation = generation_.value;
  return score;
}

}  // namespace espalier::worker
