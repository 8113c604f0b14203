#include "src/scoring/scoring_job.h"

#include <utility>

#include "src/scoring/evaluation.h"
#include "src/scoring/report_file.h"
#include "src/scoring/residual_file.h"
#include "src/scoring/staging.h"

namespace espalier::scoring {
namespace {

Result<spec::ScoringResult> MergePredictions(const storage::FileSystem& files,
                                             const spec::ScoringSpec& spec,
                                             const spec::PredictionSpec& prediction,
                                             const ScoringMerge& merge) {
  const PredictSpec predict = PredictSpecOf(prediction, spec.output);
  spec::ScoringResult result = EmptyPrediction(predict);
  for (const spec::ShardScore& shard : merge.shards) {
    ESPALIER_RETURN_IF_ERROR(AddPrediction(predict, shard, &result));
  }
  ESPALIER_RETURN_IF_ERROR(JudgePrediction(result));
  ESPALIER_RETURN_IF_ERROR(
      PutPredictions(files, predict, merge.staging, merge.shards, merge.wanted));
  return result;
}

Status CheckWanted(const ScoringMerge& merge) {
  return !merge.wanted || merge.wanted()
             ? Status()
             : Cancelled("the job has ended, and its report is not needed");
}

// Reads the residuals that members have written, shard by shard.
Status ReadResiduals(const storage::FileSystem& files, const ModelOutline& model,
                     const ScoringMerge& merge, Evaluation* all) {
  for (size_t i = 0; i < merge.shards.size(); ++i) {
    ESPALIER_RETURN_IF_ERROR(CheckWanted(merge));
    const spec::ShardScore& score = merge.shards[i];
    const std::string path = PartsDirectory(merge.staging, score.generation) + "/" +
                             ResidualName(static_cast<int64_t>(i));
    const auto text = files.ReadAll(path, kResidualBytesMax);
    if (!text.ok()) return text.status().Wrap("the report cannot be put together");
    const auto residuals = DecodeResiduals(*text, ResidualTargets(model), score.rows);
    if (!residuals.ok()) {
      return residuals.status().At({.file = path}).Wrap("the report cannot be put together");
    }
    AddResiduals(*residuals, all);
  }
  return {};
}

Result<spec::ScoringResult> MergeEvaluations(const storage::FileSystem& files,
                                             const spec::ScoringSpec& spec,
                                             const ScoringMerge& merge) {
  ESPALIER_ASSIGN_OR_RETURN(const ModelOutline model,
                            LoadModelOutline(files, spec.model, merge.model_sha256));
  Evaluation all;
  for (const spec::ShardScore& shard : merge.shards) AddEvaluation(shard, &all);
  ESPALIER_RETURN_IF_ERROR(FinishEvaluation(model, merge.totals, &all));
  if (TellsResiduals(spec, model)) {
    ESPALIER_RETURN_IF_ERROR(ReadResiduals(files, model, merge, &all));
  }
  if (!spec.output.path.empty()) {
    ESPALIER_RETURN_IF_ERROR(CheckWanted(merge));
    ESPALIER_RETURN_IF_ERROR(WriteReport(files, model, all, spec, merge.notes));
  }
  return ResultOf(model, all, spec.output.path);
}

}  // namespace

bool TellsResiduals(const spec::ScoringSpec& spec, const ModelOutline& model) {
  return spec.prediction() == nullptr && !spec.output.path.empty() && ResidualTargets(model) > 0;
}

Result<ScoringPlan> PlanScoring(const storage::FileSystem& files, const spec::ScoringSpec& spec) {
  ESPALIER_ASSIGN_OR_RETURN(const ModelOutline model, LoadModelOutline(files, spec.model));
  ESPALIER_ASSIGN_OR_RETURN(data::ScanPlan scan, data::PlanScan(files, ScanRequestOf(spec, model)));
  if (const spec::PredictionSpec* prediction = spec.prediction()) {
    ESPALIER_RETURN_IF_ERROR(
        CheckPrediction(files, model, scan.input, PredictSpecOf(*prediction, spec.output)));
  } else if (!spec.output.path.empty()) {
    ESPALIER_RETURN_IF_ERROR(CheckReportPath(files, scan.input, spec.output.path));
  }
  return ScoringPlan{std::move(scan.input), model.sha256};
}

Result<spec::ScoringResult> MergeScores(const storage::FileSystem& files,
                                        const spec::ScoringSpec& spec, const ScoringMerge& merge) {
  const spec::PredictionSpec* prediction = spec.prediction();
  return prediction != nullptr ? MergePredictions(files, spec, *prediction, merge)
                               : MergeEvaluations(files, spec, merge);
}

}  // namespace espalier::scoring
