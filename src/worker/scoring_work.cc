#include "src/worker/scoring_work.h"

#include <utility>

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
  if (work->spec_.kind == JobKind::kPredict) {
    work->predict_ = PredictSpecOf(work->spec_);
    work->staging_ = StagingDirectory(work->predict_.output, request_id);
    ESPALIER_ASSIGN_OR_RETURN(work->columns_, PredictionColumns(work->model_, work->predict_));
  }
  return work;
}

Status ScoringWork::Begin(const FileSystem& files, Generation generation) {
  generation_ = generation;
  if (spec_.kind != JobKind::kPredict) return {};
  predict_.output = PartsDirectory(staging_, generation.value);
  return files.MakeDirectory(predict_.output);
}

Result<SurveyedShard> ScoringWork::Score(const FileSystem& files, int32_t shard, RowRoom* room,
                                         const std::function<bool()>& cancelled) {
  const ScoringRun run{.files = files,
                       .model = model_,
                       .scan = scan_,
                       .threads = 1,
                       .room = room,
                       .progress = nullptr,
                       .cancelled = cancelled};
  auto score = spec_.kind == JobKind::kPredict
                   ? PredictShard(run, predict_, columns_, shard, &scorers_)
                   : EvaluateShard(run, classes_, shard, &scorers_, nullptr);
  ESPALIER_RETURN_IF_ERROR(score.status());
  score->generation = generation_.value;
  SurveyedShard scored;
  scored.has_rows = false;
  scored.survey.shard = shard;
  scored.survey.score = *std::move(score);
  return scored;
}

}  // namespace espalier
