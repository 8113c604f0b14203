#include "src/data/input/infer_features.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/text.h"
#include "src/data/input/column_sample.h"
#include "src/data/parquet/columns.h"
#include "src/data/parquet/file.h"
#include "src/data/table/input_file.h"
#include "src/data/table/partitions.h"
#include "src/data/table/schema.h"
#include "src/data/table/value_rules.h"
#include "src/spec/inferred_text.h"

namespace espalier::data {
namespace {

// Makes columns of a Parquet table dates if the first file with values has a date type for them.
// Adds the names of vectors.
Status FindDates(const storage::FileSystem& files, const spec::InputPlan& plan,
                 std::vector<spec::FeatureType>* types, std::set<std::string>* vectors) {
  constexpr int kFilesMax = 16;  // all but the last have a column without values
  std::map<std::string, bool> is_date;
  bool all_known = false;
  int looked_at = 0;
  for (size_t i = 0; i < plan.files.size() && !all_known && looked_at < kFilesMax; ++i) {
    if (plan.files[i].length == 0) continue;
    ++looked_at;
    ESPALIER_ASSIGN_OR_RETURN(const auto opened, OpenUnchanged(files, plan.files[i]));
    ESPALIER_ASSIGN_OR_RETURN(const auto parquet, ParquetFile::Open(*opened));
    all_known = true;
    for (const ParquetColumn& c : parquet->columns()) {
      if (c.vector) vectors->insert(c.name);
      if (c.family == ColumnFamily::kNull) {
        all_known = false;
        continue;
      }
      const bool date = c.family == ColumnFamily::kDate || c.family == ColumnFamily::kTimestamp;
      is_date.emplace(c.name, date && !c.vector);
    }
  }
  const size_t own = types->size() - static_cast<size_t>(plan.schema.partitions);
  for (size_t i = 0; i < own; ++i) {
    const auto found = is_date.find(plan.schema.names[i]);
    if (found != is_date.end() && found->second) (*types)[i] = spec::FeatureType::kDate;
  }
  return {};
}

// A job without a label trains an autoencoder, whose features are numbers to reconstruct.
Status CheckGivenBack(const std::string& column, spec::FeatureType type) {
  static constexpr const char* kWords[] = {"numbers", "truth values", "dates", "categories"};
  if (type == spec::FeatureType::kNumeric || type == spec::FeatureType::kBoolean) return {};
  return InvalidArgument("data.features: column " + Quoted(column) + " holds " +
                         kWords[static_cast<int>(type)] +
                         "; with task autoencoder features are numbers that are given back: "
                         "name them in data.features.columns");
}

// Judges the open columns by the sampled rows and by the types in the files.
class Inference {
 public:
  Inference(const storage::FileSystem& files, const spec::DataSpec& data,
            const spec::InputPlan& plan)
      : files_(files),
        data_(data),
        plan_(plan),
        format_(spec::FormatOf(data, plan.files.front().path)) {
    const std::string& format = data.features.date_format;
    if (!format.empty() && format != "auto") dates_.emplace(format);
  }

  Result<FeatureFindings> Run() {
    const std::vector<bool> open = OpenColumns(data_, plan_.schema);
    findings_.columns.resize(open.size());
    if (std::find(open.begin(), open.end(), true) == open.end()) return std::move(findings_);
    ESPALIER_RETURN_IF_ERROR(JudgeColumns(open));
    if (format_ == spec::DataFormat::kParquet) ESPALIER_RETURN_IF_ERROR(UseDates());
    return std::move(findings_);
  }

 private:
  Status JudgeColumns(const std::vector<bool>& open) {
    ESPALIER_ASSIGN_OR_RETURN(TableSample sample, SampleColumns(files_, data_, plan_));
    const std::vector<std::string>& names = plan_.schema.names;
    const bool judged = format_ != spec::DataFormat::kLibsvm && !data_.label.empty();
    findings_.provisional = judged && !sample.complete;
    const size_t own = names.size() - static_cast<size_t>(plan_.schema.partitions);
    for (size_t c = 0; c < names.size(); ++c) {
      if (!open[c]) continue;
      const bool directory = c >= own;
      if (directory) sample.columns[c] = OfDirectories(names[c], sample.rows);
      const ColumnFacts facts = {.name = names[c],
                                 .complete = (sample.complete || directory) && !data_.label.empty(),
                                 .index = sample.index[c]};
      Judgement judgement = Judge(sample.columns[c], facts);
      const bool left_out = std::holds_alternative<spec::LeftOutReason>(judgement);
      if (const auto* reason = std::get_if<spec::LeftOutReason>(&judgement);
          reason != nullptr && *reason == spec::LeftOutReason::kConstant) {
        findings_.constants.emplace(c, sample.columns[c].first());
      }
      // The type of a typed column is that of the file.
      if (sample.typed[c] && !left_out) judgement = spec::FeatureType::kNumeric;
      const auto* type = std::get_if<spec::FeatureType>(&judgement);
      if (type != nullptr && *type == spec::FeatureType::kNumeric) {
        NoteNumber(sample.columns[c], c);
      }
      findings_.columns[c] = std::move(judgement);
    }
    return {};
  }

  Status UseDates() {
    std::vector<spec::FeatureType> types(findings_.columns.size());
    ESPALIER_RETURN_IF_ERROR(FindDates(files_, plan_, &types, &findings_.vectors));
    for (size_t c = 0; c < types.size(); ++c) {
      std::optional<Judgement>& column = findings_.columns[c];
      if (types[c] != spec::FeatureType::kDate || !column) continue;
      if (std::holds_alternative<spec::FeatureType>(*column)) *column = types[c];
    }
    return {};
  }

  // Returns the values of a column in the names of directories. `rows`: number of training rows,
  // which are considered equally many for each file.
  ColumnSample OfDirectories(const std::string& name, int64_t rows) const {
    const auto is_used = [this](const spec::InputFile& file) {
      return file.role == spec::FileRole::kTrain && file.length > 0 &&
             !IsWeightless(data_, plan_.schema, file);
    };
    const int64_t files = std::count_if(plan_.files.begin(), plan_.files.end(), is_used);
    const int64_t times = std::max<int64_t>(1, files > 0 ? (rows + files - 1) / files : 1);
    const ValueRules rules(data_, false);
    ColumnSample values;
    for (const spec::InputFile& file : plan_.files) {
      if (!is_used(file)) continue;
      if (const auto value = PartitionValue(file.path, name)) {
        values.Add(*value, rules, dates_ ? &*dates_ : nullptr, times);
      } else {
        values.AddNulls(times);
      }
    }
    return values;
  }

  void NoteNumber(const ColumnSample& sample, size_t column) {
    constexpr size_t kNotesMax = 5;
    if (findings_.notes.size() >= kNotesMax) return;
    const std::string& name = plan_.schema.names[column];
    auto note = ShortDayNote(sample, name);
    if (!note) note = IdentifierNote(sample, name);
    if (note) findings_.notes.push_back(*note);
  }

  const storage::FileSystem& files_;
  const spec::DataSpec& data_;
  const spec::InputPlan& plan_;
  const spec::DataFormat format_;
  std::optional<DateFormat> dates_;
  FeatureFindings findings_;
};

}  // namespace

std::vector<bool> OpenColumns(const spec::DataSpec& data, const spec::Schema& schema) {
  std::vector<bool> open(schema.names.size());
  if (!IsAuto(data.features, schema.names)) return open;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    open[static_cast<size_t>(schema.features[i])] = schema.rule(i).group < 0;
  }
  return open;
}

Status DecideColumns(const std::vector<bool>& open, const std::vector<ColumnDecision>& decisions,
                     const std::string& path, spec::Schema* schema) {
  spec::Schema found = *schema;
  found.features.clear();
  found.rules.clear();
  bool all_numeric = true;
  for (size_t i = 0; i < schema->features.size(); ++i) {
    const int32_t position = schema->features[i];
    const auto column = static_cast<size_t>(position);
    spec::FeatureRule rule = schema->rule(i);
    const bool decided = open[column] && decisions[column].index() != 0;
    if (decided && i > 0 && schema->features[i - 1] == position) continue;  // a part of a date
    if (const auto* reason = std::get_if<spec::LeftOutReason>(&decisions[column]);
        decided && reason) {
      found.left_out.push_back({position, *reason});
      continue;
    }
    std::vector<spec::DatePart> parts = {rule.part};
    if (decided) {
      rule.type = std::get<spec::FeatureType>(decisions[column]);
      parts = {spec::FeatureRule().part};
      if (rule.type == spec::FeatureType::kDate) parts = spec::FeatureGroup().parts;
    }
    all_numeric = all_numeric && rule == spec::FeatureRule();
    for (const spec::DatePart part : parts) {
      rule.part = part;
      found.features.push_back(position);
      found.rules.push_back(rule);
    }
  }
  if (all_numeric) found.rules.clear();
  std::sort(found.left_out.begin(), found.left_out.end(),
            [](const auto& a, const auto& b) { return a.column < b.column; });
  *schema = std::move(found);
  if (!schema->features.empty()) return {};
  return InvalidArgument("data.features: no column is left for features (" +
                         Printable(spec::InferredText(*schema), 500) +
                         "). Name columns in data.features.columns or in a group")
      .At({.file = path});
}

Result<FeatureFindings> FindFeatures(const storage::FileSystem& files, const spec::DataSpec& data,
                                     const spec::InputPlan& plan) {
  return Inference(files, data, plan).Run();
}

Status ApplyFindings(FeatureFindings findings, const spec::DataSpec& data, spec::InputPlan* plan) {
  const std::string& path = plan->files.front().path;
  const bool csv = spec::FormatOf(data, path) == spec::DataFormat::kCsv;
  std::vector<bool> open(findings.columns.size());
  const size_t own = open.size() - static_cast<size_t>(plan->schema.partitions);
  std::vector<ColumnDecision> decisions(open.size());
  for (size_t c = 0; c < open.size(); ++c) {
    if (!findings.columns[c]) continue;
    const Judgement& judgement = *findings.columns[c];
    const std::string& name = plan->schema.names[c];
    open[c] = true;
    if (const auto* undecided = std::get_if<Undecided>(&judgement)) {
      const ColumnFacts facts = {.name = name, .csv = csv && c < own};
      return InvalidArgument(UndecidedFault(name, facts, *undecided))
          .At({.file = path, .column = Printable(name), .text = Printable(undecided->example)});
    }
    if (const auto* reason = std::get_if<spec::LeftOutReason>(&judgement)) {
      decisions[c] = *reason;
      continue;
    }
    const auto type = std::get<spec::FeatureType>(judgement);
    decisions[c] = type;
    if (data.label.empty()) ESPALIER_RETURN_IF_ERROR(CheckGivenBack(name, type));
  }
  plan->provisional = findings.provisional;
  std::move(findings.notes.begin(), findings.notes.end(), std::back_inserter(plan->notes));
  if (std::find(open.begin(), open.end(), true) == open.end()) return {};
  return DecideColumns(open, decisions, path, &plan->schema);
}

Status InferFeatures(const storage::FileSystem& files, const spec::DataSpec& data,
                     spec::InputPlan* plan) {
  ESPALIER_ASSIGN_OR_RETURN(FeatureFindings findings, FindFeatures(files, data, *plan));
  return ApplyFindings(std::move(findings), data, plan);
}

}  // namespace espalier::data
