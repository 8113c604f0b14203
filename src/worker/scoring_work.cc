#include "src/worker/scoring_work.h"

#include <utility>

#include "src/scoring/residual_file.h"
#include "src/scoring/scoring_job.h"
#include "src/scoring/staging.h"

namespace espalier {

Result<std::unique_ptr<ScoringWork>> ScoringWork::Make(const FileSystem& files, ScoringSpec spec,
                                                       const InputPlan& input,
                                                       const std::string& request_id,
                                                       const std::string& model_sha256) {
  ESPALIER_ASSIGN_OR_RETURN(TrainedModel model, LoadTrainedModel(files, spec.model, model_sha256));
  std::unique_ptr<ScoringWork> work(new ScoringWork(std::move(spec), std::move(model)));
  ESPALIER_ASSIGN_OR_RETURN(work->scan_,
                            ResumeScan(files, ScanRequestOf(work->spec_, work->model_), input));
  work->predict_ = PredictSpecOf(work->spec_);
  if (work->spec_.kind == JobKind::kPredict || TellsResiduals(work->spec_, work->model_)) {
    work->staging_ = StagingDirectory(work->predict_.output, request_id);
  }
  if (work->spec_.kind == JobKind::kPredict) {
    ESPALIER_ASSIGN_OR_RETURN(work->columns_, PredictionColumns(work->model_, work->predict_));
  }
  return work;
}

Status ScoringWork::Begin(const FileSystem& files, Generation generation) {
  generation_ = generation;
  if (staging_.empty()) return {};
  predict_.output = PartsDirectory(staging_, generation.value);
  return files.MakeDirectory(predict_.output);
}

Result<ShardScore> ScoringWork::Evaluate(const ScoringRun& run, int32_t shard) {
  if (staging_.empty()) return EvaluateShard(run, classes_, shard, &scorers_, nullptr);
  std::vector<TargetResiduals> residuals;
  ESPALIER_ASSIGN_OR_RETURN(ShardScore score,
                            EvaluateShard(run, classes_, shard, &scorers_, &residuals));
  ESPALIER_RETURN_IF_ERROR(run.files.WriteAtomically(predict_.output + "/" + ResidualName(shard),
                                                     EncodeResiduals(residuals)));
  return score;
}

Result<SurveyedShard> ScoringWork::Score(const FileSystem& files, int32_t shard, RowRoom* room,
                                         const std::function<bool()>& cancelled) {
  const ScoringRun run{.files = files,
                       .model = model_,
                       .reader = MakeScanReader(files, scan_, room),
                       .threads = 1,
                       .progress = nullptr,
                       .cancelled = cancelled};
  auto score = spec_.kind == JobKind::kPredict
                   ? PredictShard(run, predict_, columns_, shard, &scorers_)
                   : Evaluate(run, shard);
  ESPALIER_RETURN_IF_ERROR(score.status());
  score->generation = generation_.value;
  SurveyedShard scored;
  scored.has_rows = false;
  scored.survey.shard = shard;
  scored.survey.score = *std::move(score);
  return scored;
}

}  // namespace espalier
