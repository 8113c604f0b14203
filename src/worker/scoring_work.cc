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
  work->predict_ = scoring::PredictSpecOf(work->spec_);
  if (work->spec_.kind == spec::JobKind::kPredict ||
      scoring::TellsResiduals(work->spec_, work->model_)) {
    work->staging_ = scoring::StagingDirectory(work->predict_.output, request_id);
  }
  if (work->spec_.kind == spec::JobKind::kPredict) {
    ESPALIER_ASSIGN_OR_RETURN(work->columns_,
                              scoring::PredictionColumns(work->model_, work->predict_));
  }
  return work;
}

Status ScoringWork::Begin(const storage::FileSystem& files, Generation generation) {
  generation_ = generation;
  if (staging_.empty()) return {};
  predict_.output = scoring::PartsDirectory(staging_, generation.value);
  return files.MakeDirectory(predict_.output);
}

Result<spec::ShardScore> ScoringWork::Evaluate(const scoring::ScoringRun& run, int32_t shard) {
  if (staging_.empty()) return scoring::EvaluateShard(run, classes_, shard, &scorers_, nullptr);
  std::vector<scoring::TargetResiduals> residuals;
  ESPALIER_ASSIGN_OR_RETURN(spec::ShardScore score,
                            scoring::EvaluateShard(run, classes_, shard, &scorers_, &residuals));
  ESPALIER_RETURN_IF_ERROR(run.files.WriteAtomically(
      predict_.output + "/" + scoring::ResidualName(shard), scoring::EncodeResiduals(residuals)));
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
  auto score = spec_.kind == spec::JobKind::kPredict
                   ? scoring::PredictShard(run, predict_, columns_, shard, &scorers_)
                   : Evaluate(run, shard);
  ESPALIER_RETURN_IF_ERROR(score.status());
  score->shard = shard;
  score->generation = generation_.value;
  return score;
}

}  // namespace espalier::worker
