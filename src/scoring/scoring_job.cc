#include "src/scoring/scoring_job.h"

#include <utility>

#include "src/scoring/evaluation.h"
#include "src/scoring/staging.h"
#include "src/spec/names.h"

namespace espalier {
namespace {

Result<ScoredJob> MergePredictions(const FileSystem& files, const ScoringSpec& spec,
                                   const std::string& staging,
                                   const std::vector<ShardScore>& shards) {
  const PredictSpec predict = PredictSpecOf(spec);
  ScoredJob scored;
  scored.result.format = NameOf(predict.format);
  for (const ShardScore& shard : shards) {
    ESPALIER_RETURN_IF_ERROR(AddPrediction(predict, shard, &scored.result));
  }
  ESPALIER_RETURN_IF_ERROR(JudgePrediction(scored.result));
  ESPALIER_RETURN_IF_ERROR(PutPredictions(files, predict, staging, shards));
  return scored;
}

Result<ScoredJob> MergeEvaluations(const FileSystem& files, const ScoringSpec& spec,
                                   const std::vector<ShardScore>& shards) {
  ESPALIER_ASSIGN_OR_RETURN(const ModelOutline model, LoadModelOutline(files, spec.model));
  Evaluation all = EmptyEvaluation(model);
  for (const ShardScore& shard : shards) ESPALIER_RETURN_IF_ERROR(AddEvaluation(shard, &all));
  ESPALIER_RETURN_IF_ERROR(FinishEvaluation(model, &all));
  ScoredJob scored;
  scored.result.rows = all.rows;
  scored.result.rejected = all.rejected;
  scored.result.first_rejects = std::move(all.first_rejects);
  scored.metrics = std::move(all.metrics);
  scored.classes = model.document.preprocessing.classes;
  return scored;
}

}  // namespace

Result<InputPlan> PlanScoring(const FileSystem& files, const ScoringSpec& spec) {
  ESPALIER_ASSIGN_OR_RETURN(const ModelOutline model, LoadModelOutline(files, spec.model));
  ESPALIER_ASSIGN_OR_RETURN(ScanPlan scan, PlanScan(files, ScanRequestOf(spec, model)));
  if (spec.kind == JobKind::kPredict) {
    ESPALIER_RETURN_IF_ERROR(CheckPrediction(files, model, scan.input, PredictSpecOf(spec)));
  }
  return std::move(scan.input);
}

Result<ScoredJob> MergeScores(const FileSystem& files, const ScoringSpec& spec,
                              const std::string& staging, const std::vector<ShardScore>& shards) {
  return spec.kind == JobKind::kPredict ? MergePredictions(files, spec, staging, shards)
                                        : MergeEvaluations(files, spec, shards);
}

}  // namespace espalier
