#include "src/data/input/infer_features.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "src/base/text.h"
#include "src/data/features/column_judgement.h"
#include "src/data/input/column_sample.h"
#include "src/data/parquet/columns.h"
#include "src/data/parquet/file.h"
#include "src/data/table/input_file.h"
#include "src/data/table/schema.h"

namespace espalier::data {
namespace {

// Makes those columns of a Parquet table dates that have such a type in the first file with values.
Status FindDates(const storage::FileSystem& files, const spec::InputPlan& plan,
                 std::vector<spec::FeatureType>* types) {
  constexpr int kFilesMax = 16;  // of which all but the last have a column without values
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
      if (c.family == ColumnFamily::kNull) {
        all_known = false;
        continue;
      }
      const bool date = c.family == ColumnFamily::kDate || c.family == ColumnFamily::kTimestamp;
      is_date.emplace(c.name, date && !c.vector);
    }
  }
  for (size_t i = 0; i < types->size(); ++i) {
    const auto found = is_date.find(plan.schema.names[i]);
    if (found != is_date.end() && found->second) (*types)[i] = spec::FeatureType::kDate;
  }
  return {};
}

// A job without a label is an autoencoder's: its features are numbers to be given back.
Status CheckGivenBack(const std::string& column, spec::FeatureType type) {
  static constexpr const char* kWords[] = {"numbers", "truth values", "dates", "categories"};
  if (type == spec::FeatureType::kNumeric || type == spec::FeatureType::kBoolean) return {};
  return InvalidArgument("data.features: column " + Quoted(column) + " holds " +
                         kWords[static_cast<int>(type)] +
                         "; with task autoencoder features are numbers that are given back: "
                         "name them in data.features.columns");
}

class Inference {
 public:
  Inference(const storage::FileSystem& files, const spec::DataSpec& data, spec::InputPlan* plan)
      : files_(files),
        data_(data),
        plan_(*plan),
        format_(spec::FormatOf(data, plan->files.front().path)) {}

  Status Run() {
    const spec::Schema& schema = plan_.schema;
    open_.resize(schema.names.size());
    for (size_t i = 0; i < schema.features.size(); ++i) {
      open_[static_cast<size_t>(schema.features[i])] = schema.rule(i).group < 0;
    }
    if (std::find(open_.begin(), open_.end(), true) == open_.end()) return {};
    ESPALIER_RETURN_IF_ERROR(JudgeColumns());
    if (format_ == spec::DataFormat::kParquet) {
      ESPALIER_RETURN_IF_ERROR(FindDates(files_, plan_, &types_));
    }
    for (size_t c = 0; c < open_.size() && data_.label.empty(); ++c) {
      if (!open_[c] || IsLeftOut(static_cast<int32_t>(c))) continue;
      ESPALIER_RETURN_IF_ERROR(CheckGivenBack(schema.names[c], types_[c]));
    }
    return Apply();
  }

 private:
  Status JudgeColumns() {
    ESPALIER_ASSIGN_OR_RETURN(const TableSample sample, SampleColumns(files_, data_, plan_));
    const std::vector<std::string>& names = plan_.schema.names;
    types_.assign(names.size(), spec::FeatureType::kNumeric);
    for (size_t c = 0; c < names.size(); ++c) {
      if (!open_[c]) continue;
      const ColumnFacts facts = {.name = names[c],
                                 .complete = sample.complete && !data_.label.empty(),
                                 .index = sample.index[c],
                                 .csv = format_ == spec::DataFormat::kCsv};
      const Judgement judgement = Judge(sample.columns[c], facts);
      if (const auto* undecided = std::get_if<Undecided>(&judgement)) {
        return InvalidArgument(UndecidedFault(names[c], facts, *undecided))
            .At({.file = plan_.files.front().path,
                 .column = Printable(names[c]),
                 .text = Printable(undecided->example)});
      }
      if (const auto* reason = std::get_if<spec::LeftOutReason>(&judgement)) {
        left_out_.push_back({static_cast<int32_t>(c), *reason});
      } else {
        types_[c] = std::get<spec::FeatureType>(judgement);
      }
    }
    return {};
  }

  bool IsLeftOut(int32_t column) const {
    const auto is_it = [column](const spec::LeftOutColumn& out) { return out.column == column; };
    return std::any_of(left_out_.begin(), left_out_.end(), is_it);
  }

  Status Apply() {
    spec::Schema found = plan_.schema;
    found.features.clear();
    found.rules.clear();
    found.left_out.insert(found.left_out.end(), left_out_.begin(), left_out_.end());
    std::sort(found.left_out.begin(), found.left_out.end(),
              [](const auto& a, const auto& b) { return a.column < b.column; });
    bool all_numeric = true;
    for (size_t i = 0; i < plan_.schema.features.size(); ++i) {
      const int32_t column = plan_.schema.features[i];
      if (IsLeftOut(column)) continue;
      const bool open = open_[static_cast<size_t>(column)];
      spec::FeatureRule rule = plan_.schema.rule(i);
      if (open) rule.type = types_[static_cast<size_t>(column)];
      all_numeric = all_numeric && (!open || rule.type == spec::FeatureType::kNumeric);
      std::vector<spec::DatePart> parts = {rule.part};
      if (open && rule.type == spec::FeatureType::kDate) parts = spec::FeatureGroup().parts;
      for (const spec::DatePart part : parts) {
        rule.part = part;
        found.features.push_back(column);
        found.rules.push_back(rule);
      }
    }
    if (all_numeric && plan_.schema.rules.empty()) found.rules.clear();
    plan_.schema = std::move(found);
    if (!plan_.schema.features.empty()) return {};
    return InvalidArgument("data.features: no column is left for features (" +
                           Printable(spec::InferredText(plan_.schema), 500) +
                           "); name columns in data.features.columns or in a group")
        .At({.file = plan_.files.front().path});
  }

  const storage::FileSystem& files_;
  const spec::DataSpec& data_;
  spec::InputPlan& plan_;
  const spec::DataFormat format_;
  std::vector<bool> open_;  // by column: the spec says nothing of this feature
  std::vector<spec::FeatureType> types_;
  std::vector<spec::LeftOutColumn> left_out_;
};

}  // namespace

Status InferFeatures(const storage::FileSystem& files, const spec::DataSpec& data,
                     spec::InputPlan* plan) {
  if (!IsAuto(data.features, plan->schema.names)) return {};
  return Inference(files, data, plan).Run();
}

}  // namespace espalier::data
