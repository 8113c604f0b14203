#include "src/scoring/prediction_plan.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "src/base/text.h"
#include "src/data/table/number.h"
#include "src/spec/names.h"

namespace espalier::scoring {
namespace {

Status Rejected(const Status& first, const std::string& what) {
  const Status error = BadInput(what + "; the first of them: " + first.message());
  return first.position() ? error.At(*first.position()) : error;
}

// Checks that no input file is in the output. A file may be there under another name of its
// directory: through a link, or another spelling of a URI.
Status CheckNoInput(const storage::FileSystem& files, const spec::InputPlan& input,
                    const std::string& output) {
  const auto listed = files.List(output);
  if (!listed.ok())
    return listed.status().code() == StatusCode::kNotFound ? Status() : listed.status();
  const auto name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  std::set<std::tuple<std::string, int64_t, int64_t>> read;
  for (const spec::InputFile& file : input.files) {
    read.emplace(name(file.path), file.length, file.modified_ms);
  }
  for (const storage::FileInfo& file : *listed) {
    if (!read.contains({name(file.path), file.length, file.modified_ms})) continue;
    return InvalidArgument(
        QuotedPath(file.path) + " lies in the output and seems to be read, too " +
        "(a file of its name, size and time is); name another place for the " + "output");
  }
  return {};
}

}  // namespace

std::string OutputPath(const spec::OutputSpec& output) {
  std::string path = output.path;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

PredictSpec PredictSpecOf(const spec::PredictionSpec& prediction, const spec::OutputSpec& output) {
  const auto& columns = prediction.columns;
  const auto asked = [&](spec::AnswerColumn column) {
    return columns.empty() || std::count(columns.begin(), columns.end(), column) > 0;
  };
  return {.output = OutputPath(output),
          .format = spec::FormatOf(prediction, output),
          .overwrite = output.overwrite,
          .keep = prediction.keep,
          .prediction = asked(spec::AnswerColumn::kPrediction),
          .probabilities = asked(spec::AnswerColumn::kProbabilities),
          .spreadsheet_safe = prediction.spreadsheet_safe,
          .on_bad_row = prediction.on_bad_row,
          .rejects_max = prediction.rejects_limit};
}

data::ScanRequest ScanRequestOf(const spec::ScoringSpec& spec, const ModelOutline& model) {
  const std::vector<std::string>& classes = model.document.preprocessing.classes;
  const spec::PredictionSpec* prediction = spec.prediction();
  return {.job = model.document.job,
          .schema = model.document.schema,
          .data = spec.data,
          .labels = prediction == nullptr,
          .keep = prediction != nullptr ? prediction->keep : std::vector<std::string>(),
          .format = spec.data_format,
          .shard_bytes = model.document.job.data.shard_bytes,
          .sparse = model.document.sparse,
          .raw = spec.raw,
          .null_classes = std::any_of(classes.begin(), classes.end(), data::IsNullWord)};
}

Result<PartColumns> PredictionColumns(const ModelOutline& model, const PredictSpec& spec) {
  PartColumns columns;
  columns.kept = spec.keep;
  columns.spreadsheet_safe = spec.spreadsheet_safe;
  const spec::Preprocessing& fitted = model.document.preprocessing;
  if (model.classification()) {
    if (spec.prediction) columns.word = "prediction";
    columns.words = fitted.classes;
    columns.narrow = model.document.job.model.precision == spec::Precision::kFloat32;
    for (size_t k = 0; k < fitted.classes.size() && spec.probabilities; ++k) {
      columns.numbers.push_back("probability_" + fitted.classes[k]);
    }
  } else {
    const bool labels = model.multilabel();
    columns.narrow = labels && model.document.job.model.precision == spec::Precision::kFloat32;
    const auto add = [&](const char* what) {
      for (const spec::FittedTarget& target : fitted.targets) {
        columns.numbers.push_back(what + target.name);
      }
    };
    if (!labels || spec.prediction) add("prediction_");
    if (labels && spec.probabilities) add("probability_");
    if (model.document.intervals) {
      add("lower_");
      add("upper_");
    }
  }
  if (spec.on_bad_row == spec::OnBadRow::kEmpty) columns.reason = "error";
  std::set<std::string> names;
  for (const auto* list : {&columns.kept, &columns.numbers}) {
    for (const std::string& name : *list) {
      if (name != columns.word && name != columns.reason && names.insert(name).second) continue;
      return InvalidArgument(
          "the output would have two columns '" + Printable(name) + "'; keep other columns, " +
          (name == columns.reason ? "or set --on-bad-row reject" : "or choose with --columns"));
    }
  }
  return columns;
}

Status CheckPrediction(const storage::FileSystem& files, const ModelOutline& model,
                       const spec::InputPlan& input, const PredictSpec& spec) {
  ESPALIER_RETURN_IF_ERROR(PredictionColumns(model, spec).status());
  for (const spec::InputFile& file : input.files) {
    if (!file.path.starts_with(spec.output + "/")) continue;
    return InvalidArgument(QuotedPath(file.path) + " is to be read and lies in the output; name " +
                           "another place for the output");
  }
  ESPALIER_RETURN_IF_ERROR(CheckPredictions(files, spec.output, spec.overwrite));
  return CheckNoInput(files, input, spec.output);
}

spec::ScoringResult EmptyPrediction(const PredictSpec& spec) {
  return {.output = spec.output,
          .work = spec::PredictionResult{.format = spec::NameOf(spec.format)}};
}

Status AddPrediction(const PredictSpec& spec, const spec::ShardScore& shard,
                     spec::ScoringResult* result) {
  result->rows += shard.rows;
  result->rejected += shard.rejected;
  const auto& files = std::get<spec::PredictedShard>(shard.work);
  auto& all_files = std::get<spec::PredictionResult>(result->work);
  all_files.parts += files.parts;
  all_files.reject_parts += files.reject_parts;
  for (const auto& [column, rows] : shard.unseen) result->unseen[column] += rows;
  for (const Status& reject : shard.first_rejects) {
    if (result->first_rejects.size() < spec::kRejectsKept) result->first_rejects.push_back(reject);
  }
  if (!spec.rejects_max || result->rejected <= *spec.rejects_max) return {};
  return Rejected(result->first_rejects[0], "more than " + Counted(*spec.rejects_max, "row") +
                                                " cannot be scored, the limit of "
                                                "--rejects-limit");
}

Status JudgePrediction(const spec::ScoringResult& result) {
  if (result.rows > 0 || result.rejected == 0) return {};
  return Rejected(result.first_rejects[0],
                  "no row can be scored (found " + Counted(result.rejected, "row") + ")");
}

}  // namespace espalier::scoring
