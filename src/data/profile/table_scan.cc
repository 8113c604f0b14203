#include "src/data/profile/table_scan.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "src/base/text.h"
#include "src/data/input/listing.h"
#include "src/data/parquet/file.h"
#include "src/data/profile/make_shard_reader.h"
#include "src/data/table/advice.h"
#include "src/data/table/input_file.h"
#include "src/data/table/schema.h"
#include "src/storage/glob.h"

namespace espalier::data {
namespace {

// Rewords errors of planning, which name fields of a job. A scan has no job file.
Status Reworded(const Status& error) {
  constexpr std::array<std::pair<const char*, const char*>, 4> kWords = {{
      {"data.train: ", ""},
      {"data.features.columns: ", "a feature of the model: "},
      {"data.label: ", "the label of the model: "},
      {"data.weight: ", "the weight of the model's rows: "},
  }};
  std::string message = ForScoring(error.message());
  for (const auto& [field, words] : kWords) {
    if (message.starts_with(field)) message.replace(0, std::string(field).size(), words);
  }
  if (message == error.message()) return error;
  const Status said(error.code(), message);
  return error.position() ? said.At(*error.position()) : said;
}

// Returns whether a training pattern names the listed file.
bool Names(const std::string& pattern, const std::string& path) {
  if (!storage::HasGlob(pattern)) return path == pattern || path.starts_with(pattern + "/");
  const auto levels = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '/');
  };
  return levels(path) == levels(pattern) && storage::GlobMatches(pattern, path);
}

// Adds notes that a reader of the metrics needs.
void AddNotes(const ScanRequest& request, spec::InputPlan* input) {
  if (!request.labels) return;
  const spec::Schema& trained = request.schema;
  if (trained.weight >= 0 && input->schema.weight < 0) {
    input->notes.push_back("the rows have no column " +
                           Quoted(trained.names[static_cast<size_t>(trained.weight)]) +
                           " of weights, which the training rows had; each row has weight 1");
  }
  for (const spec::InputFile& file : input->files) {
    const std::vector<std::string>& patterns = request.job.data.train;
    const bool known = std::any_of(patterns.begin(), patterns.end(),
                                   [&](const auto& pattern) { return Names(pattern, file.path); });
    if (!known) continue;
    input->notes.push_back("the model was trained on rows of " + QuotedPath(file.path) +
                           "; its metrics on other rows are usually worse");
    return;
  }
}

class ScanPlanner {
 public:
  // `weighted`: if labels are requested and the model's rows had weights, reads weights too.
  ScanPlanner(const storage::FileSystem& files, const ScanRequest& request, bool weighted)
      : files_(files), request_(request), model_(request.schema), weighted_(weighted) {}

  Result<ScanPlan> Plan() {
    spec::DataSpec& data = Begin();
    auto groups = std::exchange(data.features.groups, {});  // they name training columns
    ESPALIER_ASSIGN_OR_RETURN(const spec::DataFormat format, FormatOfFirst(data));
    const bool named = IsNamed(format);
    ChooseColumns(format);
    if (format == spec::DataFormat::kLibsvm) ESPALIER_RETURN_IF_ERROR(CheckIndices());
    if (!named && !IsPositional()) {
      return InvalidArgument("the model's columns have names, such as '" +
                             Printable(model_.names[model_.features[0]]) +
                             "', and the files have no header to find them by");
    }
    Result<spec::InputPlan> planned = PlanTable(files_, data, request_.shard_bytes, Optional());
    if (!planned.ok()) return Reworded(planned.status());
    plan_.input = *std::move(planned);
    for (std::string& note : plan_.input.notes) note = ForScoring(std::move(note));
    data.features.groups = std::move(groups);
    for (spec::InputFile& file : plan_.input.files) file.role = spec::FileRole::kTest;
    if (format == spec::DataFormat::kLibsvm) {
      plan_.input.schema.features = model_.features;
    } else {
      ESPALIER_RETURN_IF_ERROR(named ? RepeatFeatures() : ByPosition());
    }
    plan_.input.schema.rules = model_.rules;
    ESPALIER_RETURN_IF_ERROR(CheckFeatures());
    ESPALIER_RETURN_IF_ERROR(FindKept());
    if (format == spec::DataFormat::kParquet) {
      ESPALIER_RETURN_IF_ERROR(CheckFamilies());
      if (!plan_.kept.empty()) ESPALIER_RETURN_IF_ERROR(CheckKeptInFiles());
    }
    return std::move(plan_);
  }

  Result<ScanPlan> Resume(spec::InputPlan input) {
    if (input.files.empty()) return Internal("a plan without files");
    const spec::DataSpec& data = Begin();
    ChooseColumns(spec::FormatOf(data, input.files.front().path));
    plan_.input = std::move(input);
    ESPALIER_RETURN_IF_ERROR(CheckFeatures());
    ESPALIER_RETURN_IF_ERROR(FindKept());
    return std::move(plan_);
  }

 private:
  bool labels() const { return request_.labels; }
  // Returns whether the training table was text. If its names do not state a format,
  // it may have been Parquet.
  bool TrainedOnText() const {
    const spec::DataSpec& data = request_.job.data;
    std::optional<spec::DataFormat> format = data.format;
    if (!format && !data.train.empty()) format = spec::FormatByName(data.train.front());
    return format && *format != spec::DataFormat::kParquet;
  }
  // Returns the number of columns in the files themselves.
  static size_t Own(const spec::Schema& schema) {
    return schema.names.size() - static_cast<size_t>(schema.partitions);
  }

  // Starts with the model's job for other files, without any columns.
  spec::DataSpec& Begin() {
    plan_.job = request_.job;
    plan_.sparse = request_.sparse;
    plan_.truth_words = !TrainedOnText();
    spec::DataSpec& data = plan_.job.data;
    data.train = request_.data;
    data.test.clear();
    data.validation = {};
    data.format = request_.format;
    data.raw = request_.raw;
    data.bad_rows.skip = true;  // a row that cannot be read is a reject
    data.label.clear();
    data.weight.reset();
    data.features.columns.clear();
    data.features.exclude.clear();
    if (request_.null_classes && !data.null_values) data.null_values.emplace();
    return data;
  }

  bool IsNamed(spec::DataFormat format) const {
    return format == spec::DataFormat::kParquet || format == spec::DataFormat::kJson ||
           (format == spec::DataFormat::kCsv && plan_.job.data.csv.header);
  }

  void ChooseColumns(spec::DataFormat format) {
    spec::DataSpec& data = plan_.job.data;
    if (IsNamed(format)) ByName(&data);
    if (format == spec::DataFormat::kLibsvm) ByIndex(&data);
  }

  // Returns the format of the first file. Planning rejects files of other formats.
  Result<spec::DataFormat> FormatOfFirst(const spec::DataSpec& data) const {
    if (data.format) return *data.format;
    auto listed = files_.List(data.train.front());
    if (!listed.ok()) return listed.status();
    return listed->empty() ? spec::FormatOf(data) : spec::FormatOf(data, listed->front().path);
  }

  // Returns the columns that a record of JSON may lack.
  std::vector<std::string> Optional() const {
    std::vector<std::string> names;
    for (const int32_t c : FeatureColumns()) names.push_back(model_.names[c]);
    return names;
  }

  bool IsPositional() const {
    const std::vector<std::string> positions = PositionNames(Own(model_));
    return std::equal(positions.begin(), positions.end(), model_.names.begin());
  }

  void ByName(spec::DataSpec* data) const {
    for (const int32_t c : FeatureColumns()) data->features.columns.emplace_back(model_.names[c]);
    if (!labels()) return;
    for (const int32_t c : model_.label) data->label.emplace_back(model_.names[c]);
    if (weighted_ && model_.weight >= 0) data->weight = model_.names[model_.weight];
  }

  // Returns each column once, in feature order. Several features may come from one column.
  std::vector<int32_t> FeatureColumns() const {
    std::vector<int32_t> columns;
    std::vector<bool> seen(model_.names.size());
    for (const int32_t c : model_.features) {
      if (!seen[c]) columns.push_back(c);
      seen[c] = true;
    }
    return columns;
  }

  // Maps the planned columns to the model's features.
  Status RepeatFeatures() {
    spec::Schema& schema = plan_.input.schema;
    std::map<std::string, int32_t> places;
    for (const int32_t c : schema.features) places.emplace(schema.names[c], c);
    schema.features.clear();
    for (const int32_t c : model_.features) {
      const auto place = places.find(model_.names[c]);
      if (place == places.end()) {
        return InvalidArgument("a feature of the model: '" + Printable(model_.names[c]) +
                               "' holds lists in " + QuotedPath(plan_.input.files.front().path) +
                               " (expected one value per row, as the model was trained on)");
      }
      schema.features.push_back(place->second);
    }
    return {};
  }

  // Checks that there is one rule per feature of the model, because decoding and encoding rely on
  // it.
  Status CheckFeatures() const {
    const spec::Schema& schema = plan_.input.schema;
    if (schema.features.size() == model_.features.size() && schema.rules == model_.rules) return {};
    return InvalidArgument(
        "the files were planned for " + std::to_string(schema.features.size()) +
        " features, and the model has " + std::to_string(model_.features.size()) +
        (schema.features.size() == model_.features.size() ? " that are read in another way" : "") +
        ". Score with the model that they were planned for");
  }

  // Checks the features for LIBSVM text, in which column i is the feature of index i and column 0
  // is the label.
  Status CheckIndices() const {
    for (const int32_t c : model_.features) {
      if (static_cast<size_t>(c) >= Own(model_)) {
        return InvalidArgument("the model's column '" + Printable(model_.names[c]) +
                               "' comes from a directory name; LIBSVM text has only indices");
      }
      if (c > 0) continue;
      return InvalidArgument(
          "a feature of the model is column 0, which is the label of LIBSVM text. Give the files "
          "as CSV");
    }
    return {};
  }

  void ByIndex(spec::DataSpec* data) const {
    auto& columns = data->features.columns;  // as ranges, because there may be many
    for (const int32_t c : FeatureColumns()) {
      auto* last = columns.empty() ? nullptr : &std::get<spec::ColumnRange>(columns.back());
      if (last != nullptr && last->last + 1 == c) {
        last->last = c;
      } else {
        columns.emplace_back(spec::ColumnRange{c, c});
      }
    }
    if (!labels()) return;
    for (const int32_t c : model_.label) data->label.emplace_back(int64_t{c});
  }

  // Replaces the features, which planning took from all columns, by those of the model.
  Status ByPosition() {
    spec::Schema& schema = plan_.input.schema;
    const size_t own = Own(schema), model_own = Own(model_);
    const bool without_labels =
        !labels() && own + model_.label.size() == model_own &&
        std::all_of(model_.label.begin(), model_.label.end(),
                    [&](int32_t c) { return static_cast<size_t>(c) < model_own; });
    const auto place = [&](int32_t column) -> Result<int32_t> {
      if (static_cast<size_t>(column) >= model_own) {  // the name of a directory
        const auto begin = schema.names.begin() + static_cast<int64_t>(own);
        const auto at = std::find(begin, schema.names.end(), model_.names[column]);
        if (at != schema.names.end()) return static_cast<int32_t>(at - schema.names.begin());
        return InvalidArgument(
            "the model's column '" + Printable(model_.names[column]) +
            "' comes from a directory name, and the paths of the files do not contain it");
      }
      int32_t position = column;
      for (const int32_t label : model_.label) position -= without_labels && label < column;
      if (static_cast<size_t>(position) < own) return position;
      return InvalidArgument("the model needs column " + std::to_string(position) +
                             ", counted from 0; the files have " +
                             Counted(static_cast<int64_t>(own), "column") +
                             ", the table that it was trained on had " + std::to_string(model_own));
    };
    schema.features.clear();
    for (const int32_t column : model_.features) {
      ESPALIER_ASSIGN_OR_RETURN(const int32_t position, place(column));
      schema.features.push_back(position);
    }
    if (!labels()) return {};
    for (const int32_t column : model_.label) {
      ESPALIER_ASSIGN_OR_RETURN(const int32_t position, place(column));
      schema.label.push_back(position);
    }
    if (model_.weight < 0) return {};
    ESPALIER_ASSIGN_OR_RETURN(schema.weight, place(model_.weight));
    return {};
  }

  Status FindKept() {
    const spec::Schema& schema = plan_.input.schema;
    std::map<std::string, int32_t> positions;
    for (size_t i = 0; i < schema.names.size(); ++i) {
      positions.emplace(schema.names[i], static_cast<int32_t>(i));
    }
    for (const std::string& name : request_.keep) {
      const auto found = positions.find(name);
      if (found == positions.end()) {
        return InvalidArgument("a column to keep: " + NoSuchColumn(name, schema.names));
      }
      if (std::count(plan_.kept.begin(), plan_.kept.end(), found->second)) {
        return InvalidArgument("a column to keep: '" + Printable(name) +
                               "' is named twice. Name it once");
      }
      plan_.kept.push_back(found->second);
    }
    return {};
  }

  // Checks the types of the features in the files, all of which have the same. Otherwise a date
  // would silently become a number of seconds or days.
  Status CheckFamilies() const {
    constexpr int kFilesMax = 16;  // all but the last have a column without values
    int looked_at = 0;
    for (const spec::InputFile& file : plan_.input.files) {
      if (file.length == 0) continue;
      if (++looked_at > kFilesMax) break;
      ESPALIER_ASSIGN_OR_RETURN(const auto opened, OpenUnchanged(files_, file));
      ESPALIER_ASSIGN_OR_RETURN(const auto parquet, ParquetFile::Open(*opened));
      std::map<std::string, const ParquetColumn*> columns;
      for (const ParquetColumn& c : parquet->columns()) columns.emplace(c.name, &c);
      bool all_known = true;
      for (size_t i = 0; i < model_.features.size(); ++i) {
        const auto at = columns.find(model_.names[static_cast<size_t>(model_.features[i])]);
        if (at == columns.end() || at->second->vector) continue;
        all_known = all_known && at->second->family != ColumnFamily::kNull;
        ESPALIER_RETURN_IF_ERROR(CheckFamily(*at->second, i, file.path));
      }
      if (all_known) break;
    }
    return {};
  }

  // Checks that a column is not read in another way than in training. The model knows the type of a
  // column that no group names, from its content. It may know that its training table was text. For
  // other columns, the Parquet type in training is unknown.
  Status CheckFamily(const ParquetColumn& column, size_t feature, const std::string& path) const {
    const spec::FeatureRule rule = model_.rule(feature);
    const spec::DataSpec& trained = request_.job.data;
    const bool text = TrainedOnText();
    const bool typed = text || (rule.group < 0 && IsAuto(trained.features, model_.names));
    const bool moment =
        column.family == ColumnFamily::kDate || column.family == ColumnFamily::kTimestamp;
    const bool duration = column.family == ColumnFamily::kDuration;
    const bool time = duration || column.family == ColumnFamily::kTime;
    const bool number = rule.type == spec::FeatureType::kNumeric;
    const bool date = rule.type == spec::FeatureType::kDate;
    const bool other =
        (number && ((moment && typed) || (time && text))) || (date && duration && typed);
    if (!other) return {};
    const std::string expected = number ? "numbers" : "dates";
    return InvalidArgument("a feature of the model: '" + Printable(column.name) + "' holds " +
                           KindAndType(column) + " in " + QuotedPath(path) + " (expected " +
                           expected + ", as in training). Convert the column to " + expected)
        .At({.file = path, .column = Printable(column.name)});
  }

  // Checks the columns to keep in every file. A Parquet file may omit columns that no job uses, and
  // they may have any content.
  Status CheckKeptInFiles() const {
    for (const spec::InputFile& file : plan_.input.files) {
      if (file.length == 0) continue;
      ESPALIER_ASSIGN_OR_RETURN(const auto opened, OpenUnchanged(files_, file));
      ESPALIER_ASSIGN_OR_RETURN(const auto parquet, ParquetFile::Open(*opened));
      const auto& columns = parquet->columns();
      for (const int32_t position : plan_.kept) {
        const std::string& name = plan_.input.schema.names[position];
        const bool directory = static_cast<size_t>(position) >= Own(plan_.input.schema);
        const auto at = std::find_if(columns.begin(), columns.end(),
                                     [&](const ParquetColumn& c) { return c.name == name; });
        if (directory) continue;
        const bool usable =
            at != columns.end() && !at->vector && at->family != ColumnFamily::kUnsupported;
        if (usable) continue;
        const std::string what = at == columns.end() ? "is not in" : "holds " + at->type + " in";
        return InvalidArgument("a column to keep: '" + Printable(name) + "' " + what + " " +
                               QuotedPath(file.path) + " (expected one value per row)")
            .At({.file = file.path, .column = Printable(name)});
      }
    }
    return {};
  }

  const storage::FileSystem& files_;
  const ScanRequest& request_;
  const spec::Schema& model_;
  const bool weighted_;
  ScanPlan plan_;
};

}  // namespace

Result<ScanPlan> PlanScan(const storage::FileSystem& files, const ScanRequest& request) {
  Result<ScanPlan> plan = ScanPlanner(files, request, true).Plan();
  const int32_t weight = request.labels ? request.schema.weight : -1;
  if (!plan.ok() && weight >= 0) {
    // If only the weight column is missing, no prediction depends on it.
    Result<ScanPlan> bare = ScanPlanner(files, request, false).Plan();
    if (!bare.ok()) return bare;
    const std::vector<std::string>& names = bare->input.schema.names;
    const std::string& name = request.schema.names[static_cast<size_t>(weight)];
    if (std::count(names.begin(), names.end(), name) == 0) plan = std::move(bare);
  }
  if (plan.ok()) AddNotes(request, &plan->input);
  return plan;
}

Result<ScanPlan> ResumeScan(const storage::FileSystem& files, const ScanRequest& request,
                            spec::InputPlan input) {
  return ScanPlanner(files, request, true).Resume(std::move(input));
}

std::unique_ptr<ShardReader> MakeScanReader(const storage::FileSystem& files, const ScanPlan& scan,
                                            MemoryBudget* room) {
  return MakeShardReader({files, scan.input, scan.job}, {.room = room,
                                                         .rules = RowRules::kScoring,
                                                         .kept = scan.kept,
                                                         .sparse = scan.sparse,
                                                         .truth_words = scan.truth_words});
}

}  // namespace espalier::data
