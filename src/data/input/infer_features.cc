#include "src/data/input/infer_features.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/text.h"
#include "src/data/features/column_judgement.h"
#include "src/data/input/column_sample.h"
#include "src/data/parquet/columns.h"
#include "src/data/parquet/file.h"
#include "src/data/table/input_file.h"
#include "src/data/table/schema.h"
#include "src/spec/inferred_text.h"

namespace espalier::data {
namespace {

// Makes columns of a Parquet table dates if the first file with values has a date type for them.
Status FindDates(const storage::FileSystem& files, const spec::InputPlan& plan,
                 std::vector<spec::FeatureType>* types) {
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

// A job without a label trains an autoencoder, whose features are numbers to reconstruct.
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
    open_ = OpenColumns(data_, schema);
    if (std::find(open_.begin(), open_.end(), true) == open_.end()) return {};
    ESPALIER_RETURN_IF_ERROR(JudgeColumns());
    if (format_ == spec::DataFormat::kParquet) {
      ESPALIER_RETURN_IF_ERROR(FindDates(files_, plan_, &types_));
    }
    std::vector<ColumnDecision> decisions(open_.size());
    for (size_t c = 0; c < open_.size(); ++c) {
      if (!open_[c]) continue;
      if (reasons_[c]) {
        decisions[c] = *reasons_[c];
        continue;
      }
      decisions[c] = types_[c];
      if (data_.label.empty()) {
        ESPALIER_RETURN_IF_ERROR(CheckGivenBack(schema.names[c], types_[c]));
      }
    }
    return DecideColumns(open_, decisions, plan_.files.front().path, &plan_.schema);
  }

 private:
  Status JudgeColumns() {
    ESPALIER_ASSIGN_OR_RETURN(const TableSample sample, SampleColumns(files_, data_, plan_));
    const std::vector<std::string>& names = plan_.schema.names;
    types_.assign(names.size(), spec::FeatureType::kNumeric);
    reasons_.resize(names.size());
    const bool judged = format_ != spec::DataFormat::kLibsvm && !data_.label.empty();
    plan_.provisional = judged && !sample.complete;
    for (size_t c = 0; c < names.size(); ++c) {
      if (!open_[c]) continue;
      const ColumnFacts facts = {.name = names[c],
                                 .complete = sample.complete && !data_.label.empty(),
                                 .index = sample.index[c],
                                 .csv = format_ == spec::DataFormat::kCsv};
      const Judgement judgement = Judge(sample.columns[c], facts);
      const auto* undecided = std::get_if<Undecided>(&judgement);
      if (undecided != nullptr && !sample.typed[c]) {
        return InvalidArgument(UndecidedFault(names[c], facts, *undecided))
            .At({.file = plan_.files.front().path,
                 .column = Printable(names[c]),
                 .text = Printable(undecided->example)});
      }
      if (const auto* reason = std::get_if<spec::LeftOutReason>(&judgement)) {
        reasons_[c] = *reason;
      } else if (!sample.typed[c]) {  // otherwise the type is that of the file
        types_[c] = std::get<spec::FeatureType>(judgement);
      }
      if (!reasons_[c]) NoteIdentifier(sample.columns[c], c);
    }
    return {};
  }

  void NoteIdentifier(const ColumnSample& sample, size_t column) {
    constexpr size_t kNotesMax = 5;
    if (types_[column] != spec::FeatureType::kNumeric || identifiers_ >= kNotesMax) return;
    const auto note = IdentifierNote(sample, plan_.schema.names[column]);
    if (!note) return;
    plan_.notes.push_back(*note);
    ++identifiers_;
  }

  const storage::FileSystem& files_;
  const spec::DataSpec& data_;
  spec::InputPlan& plan_;
  const spec::DataFormat format_;
  std::vector<bool> open_;  // by column: the spec does not describe this feature
  std::vector<spec::FeatureType> types_;
  std::vector<std::optional<spec::LeftOutReason>> reasons_;
  size_t identifiers_ = 0;  // columns with a note
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

Status InferFeatures(const storage::FileSystem& files, const spec::DataSpec& data,
                     spec::InputPlan* plan) {
  if (!IsAuto(data.features, plan->schema.names)) return {};
  return Inference(files, data, plan).Run();
}

}  // namespace espalier::data
