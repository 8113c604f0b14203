#include "src/scoring/scoring_job.h"

#include <utility>

#include "src/scoring/evaluation.h"
#include "src/scoring/staging.h"
#include "src/spec/names.h"

namespace espalier {
namespace {

Result<ScoredJob> MergePredictions(const FileSystem& files, const ScoringSpec& spec,
                                   const ScoringMerge& merge) {
  const PredictSpec predict = PredictSpecOf(spec);
  ScoredJob scored;
  scored.result.format = NameOf(predict.format);
  for (const ShardScore& shard : merge.shards) {
    ESPALIER_RETURN_IF_ERROR(AddPrediction(predict, shard, &scored.result));
  }
  ESPALIER_RETURN_IF_ERROR(JudgePrediction(scored.result));
  ESPALIER_RETURN_IF_ERROR(
      PutPredictions(files, predict, merge.staging, merge.shards, merge.wanted));
  return scored;
}

Result<ScoredJob> MergeEvaluations(const FileSystem& files, const ScoringSpec& spec,
                                   const ScoringMerge& merge) {
  ESPALIER_ASSIGN_OR_RETURN(const ModelOutline model,
                            LoadModelOutline(files, spec.model, merge.model_sha256));
  Evaluation all;
  for (const ShardScore& shard : merge.shards) AddEvaluation(shard, &all);
  ESPALIER_RETURN_IF_ERROR(FinishEvaluation(model, merge.totals, &all));
  ScoredJob scored;
  scored.result.rows = all.rows;
  scored.result.rejected = all.rejected;
  scored.result.first_rejects = std::move(all.first_rejects);
  scored.metrics = std::move(all.metrics);
  scored.classes = ClassNames(model.document.job.model.task, model.document.preprocessing);
  return scored;
}

}  // namespace

Result<ScoringPlan> PlanScoring(const FileSystem& files, const ScoringSpec& spec) {
  ESPALIER_ASSIGN_OR_RETURN(const ModelOutline model, LoadModelOutline(files, spec.model));
  ESPALIER_ASSIGN_OR_RETURN(ScanPlan scan, PlanScan(files, ScanRequestOf(spec, model)));
  if (spec.kind == JobKind::kPredict) {
    ESPALIER_RETURN_IF_ERROR(CheckPrediction(files, model, scan.input, PredictSpecOf(spec)));
  }
  return ScoringPlan{std::move(scan.input), model.sha256};
}

Result<ScoredJob> MergeScores(const FileSystem& files, const ScoringSpec& spec,
                              const ScoringMerge& merge) {
  return spec.kind == JobKind::kPredict ? MergePredictions(files, spec, merge)
                                        : MergeEvaluations(files, spec, merge);
}

}  // namespace espalier
