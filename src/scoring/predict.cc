#include "src/scoring/predict.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "src/base/in_order.h"
#include "src/base/text.h"
#include "src/model/loss.h"

namespace espalier {
namespace {

// What became of a shard.
struct Outcome {
  Status error;
  int64_t rows = 0, rejected = 0, parts = 0;
  std::vector<Status> first_rejects;
};

class ShardPrediction {
 public:
  ShardPrediction(const ScoringRun& run, const PredictSpec& spec, const PartColumns& columns,
                  const PartColumns& reject_columns, int64_t shard, Scorer* scorer)
      : run_(run),
        spec_(spec),
        columns_(columns),
        scorer_(*scorer),
        parts_(run.files, spec.output, shard, run.shards(), spec.format, columns, spec.part_bytes),
        rejects_(run.files, spec.output + "/" + kRejectsDirectory, shard, run.shards(),
                 PartFormat::kCsv, reject_columns, spec.part_bytes) {}

  Status Take(const ScanPiece& piece, Outcome* outcome) {
    scorer_.Predict(piece.rows, piece.texts, &values_);
    classes_.clear();
    const auto width = static_cast<size_t>(run_.model.width());
    for (size_t r = 0; run_.model.classification() && r * width < values_.size(); ++r) {
      classes_.push_back(
          static_cast<int32_t>(PredictedClass(run_.model.shape, values_.data() + r * width)));
    }
    if (run_.model.multilabel()) Decide(width);
    if (columns_.numbers.empty()) values_.clear();
    ESPALIER_RETURN_IF_ERROR(parts_.Add(piece.kept, piece.rows.rows, classes_, values_));
    outcome->rows += piece.rows.rows;
    return TakeRejects(piece.rejects, outcome);
  }

  Status Finish(Outcome* outcome) {
    ESPALIER_RETURN_IF_ERROR(parts_.Finish());
    ESPALIER_RETURN_IF_ERROR(rejects_.Finish());
    outcome->parts = parts_.parts();
    return {};
  }

 private:
  // Of each row's probabilities makes what is written of it: the labels they decide, themselves.
  void Decide(size_t width) {
    std::vector<double> written;
    for (size_t begin = 0; begin < values_.size(); begin += width) {
      const auto row = std::span(values_).subspan(begin, width);
      for (size_t k = 0; spec_.prediction && k < width; ++k) written.push_back(row[k] > 0.5);
      if (spec_.probabilities) written.insert(written.end(), row.begin(), row.end());
    }
    values_ = std::move(written);
  }

  Status TakeRejects(const std::vector<Status>& rejects, Outcome* outcome) {
    if (rejects.empty()) return {};
    if (outcome->rejected == 0) {
      ESPALIER_RETURN_IF_ERROR(run_.files.MakeDirectory(spec_.output + "/" + kRejectsDirectory));
    }
    KeptColumns rows(6);
    for (const Status& reject : rejects) {
      AddReject(reject, &rows);
      if (outcome->first_rejects.size() < kRejectsKept) outcome->first_rejects.push_back(reject);
    }
    const auto count = static_cast<int64_t>(rejects.size());
    outcome->rejected += count;
    return rejects_.Add(rows, count, {}, {});
  }

  const ScoringRun& run_;
  const PredictSpec& spec_;
  const PartColumns& columns_;
  Scorer& scorer_;
  PartWriter parts_, rejects_;
  std::vector<double> values_;
  std::vector<int32_t> classes_;
};

Status Rejected(const Status& first, const std::string& what) {
  const Status error = BadInput(what + "; the first of them: " + first.message());
  return first.position() ? error.At(*first.position()) : error;
}

Status AddUp(const PredictSpec& spec, Outcome shard, PredictResult* result) {
  ESPALIER_RETURN_IF_ERROR(shard.error);
  result->rows += shard.rows;
  result->rejected += shard.rejected;
  result->parts += shard.parts;
  for (Status& reject : shard.first_rejects) {
    if (result->first_rejects.size() < kRejectsKept) {
      result->first_rejects.push_back(std::move(reject));
    }
  }
  if (!spec.rejects_max || result->rejected <= *spec.rejects_max) return {};
  return Rejected(result->first_rejects[0], "more than " + std::to_string(*spec.rejects_max) +
                                                " rows cannot be scored, the limit of "
                                                "--rejects-limit");
}

}  // namespace

Result<PartColumns> PredictionColumns(const TrainedModel& model, const PredictSpec& spec) {
  PartColumns columns;
  columns.kept = spec.keep;
  const Preprocessing& fitted = model.document.preprocessing;
  if (model.classification()) {
    if (spec.prediction) columns.word = "prediction";
    columns.words = fitted.classes;
    columns.narrow = model.document.job.model.precision == Precision::kFloat32;
    for (size_t k = 0; k < fitted.classes.size() && spec.probabilities; ++k) {
      columns.numbers.push_back("probability_" + fitted.classes[k]);
    }
  } else {
    const bool labels = model.multilabel();
    columns.narrow = labels && model.document.job.model.precision == Precision::kFloat32;
    const auto add = [&](const char* what) {
      for (const FittedTarget& target : fitted.targets) {
        columns.numbers.push_back(what + target.name);
      }
    };
    if (!labels || spec.prediction) add("prediction_");
    if (labels && spec.probabilities) add("probability_");
  }
  std::set<std::string> names;
  for (const auto* list : {&columns.kept, &columns.numbers}) {
    for (const std::string& name : *list) {
      if (name != columns.word && names.insert(name).second) continue;
      return InvalidArgument("the output would have two columns '" + Printable(name) +
                             "'; keep other columns, or choose with --columns");
    }
  }
  return columns;
}

Result<PredictResult> Predict(const ScoringRun& run, const PredictSpec& spec) {
  ESPALIER_ASSIGN_OR_RETURN(const PartColumns columns, PredictionColumns(run.model, spec));
  const PartColumns reject_columns = RejectColumns();
  ScorerPool scorers(run.model);
  const auto score = [&](int64_t shard) {
    Outcome outcome;
    auto scorer = scorers.Take();
    ShardPrediction work(run, spec, columns, reject_columns, shard, scorer.get());
    outcome.error =
        ScoreShard(run, shard, [&](const ScanPiece& piece) { return work.Take(piece, &outcome); });
    if (outcome.error.ok()) outcome.error = work.Finish(&outcome);
    scorers.Give(std::move(scorer));
    return outcome;
  };
  PredictResult result;
  ESPALIER_RETURN_IF_ERROR(InOrder<Outcome>(
      run.shards(), run.threads, score,
      [&](int64_t, Outcome shard) { return AddUp(spec, std::move(shard), &result); }));
  if (result.rows == 0 && result.rejected > 0) {
    return Rejected(result.first_rejects[0],
                    "none of the " + std::to_string(result.rejected) + " rows can be scored");
  }
  ESPALIER_RETURN_IF_ERROR(EndPredictions(run.files, spec.output));
  return result;
}

Status CheckPrediction(const ScoringRun& run, const PredictSpec& spec) {
  ESPALIER_RETURN_IF_ERROR(PredictionColumns(run.model, spec).status());
  for (const InputFile& file : run.scan.input.files) {
    if (!file.path.starts_with(spec.output + "/")) continue;
    return InvalidArgument(QuotedPath(file.path) + " is to be read and lies in the output; name " +
                           "another place for the output");
  }
  return CheckPredictions(run.files, spec.output, spec.overwrite);
}

}  // namespace espalier
