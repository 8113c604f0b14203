#include "src/data/input/infer_features.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "src/base/text.h"
#include "src/data/parquet/columns.h"
#include "src/data/parquet/file.h"
#include "src/data/table/input_file.h"

namespace espalier::data {
namespace {

// Makes those columns of a Parquet table dates that are such by their type in the first file.
Status FindDates(const storage::FileSystem& files, const spec::InputPlan& plan,
                 std::vector<spec::FeatureType>* types) {
  ESPALIER_ASSIGN_OR_RETURN(const auto opened, OpenUnchanged(files, plan.files.front()));
  ESPALIER_ASSIGN_OR_RETURN(const auto parquet, ParquetFile::Open(*opened));
  std::map<std::string, bool> is_date;
  for (const ParquetColumn& c : parquet->columns()) {
    is_date[c.name] =
        !c.vector && (c.family == ColumnFamily::kDate || c.family == ColumnFamily::kTimestamp);
  }
  for (size_t i = 0; i < types->size(); ++i) {
    const auto found = is_date.find(plan.schema.names[i]);
    if (found != is_date.end() && found->second) (*types)[i] = spec::FeatureType::kDate;
  }
  return {};
}

// A job without a label is an autoencoder's: its features are numbers to be given back.
Status CheckGivenBack(const spec::InputPlan& plan, const std::vector<bool>& open,
                      const std::vector<spec::FeatureType>& types) {
  static constexpr const char* kWords[] = {"numbers", "truth values", "dates", "categories"};
  for (size_t c = 0; c < open.size(); ++c) {
    const spec::FeatureType type = types[c];
    if (!open[c] || type == spec::FeatureType::kNumeric || type == spec::FeatureType::kBoolean)
      continue;
    return InvalidArgument("data.features: column '" + Printable(plan.schema.names[c]) +
                           "' holds " + kWords[static_cast<int>(type)] +
                           "; with task autoencoder features are numbers that are given back: "
                           "name them in data.features.columns");
  }
  return {};
}

}  // namespace

spec::FeatureType TypeOf(const ColumnSample& sample) {
  if (2 * sample.numbers >= sample.values) return spec::FeatureType::kNumeric;
  if (sample.dates == sample.values) return spec::FeatureType::kDate;
  if (sample.booleans == sample.values) return spec::FeatureType::kBoolean;
  return spec::FeatureType::kCategorical;
}

Status InferFeatures(const storage::FileSystem& files, const spec::DataSpec& data,
                     spec::InputPlan* plan) {
  spec::Schema& schema = plan->schema;
  if (!data.features.columns.empty()) return {};
  std::vector<bool> open(schema.names.size());  // columns that the spec says nothing of
  for (size_t i = 0; i < schema.features.size(); ++i) {
    open[static_cast<size_t>(schema.features[i])] = schema.rule(i).group < 0;
  }
  if (std::none_of(open.begin(), open.end(), [](bool is_open) { return is_open; })) return {};
  ESPALIER_ASSIGN_OR_RETURN(const auto samples, SampleColumns(files, data, *plan));
  std::vector<spec::FeatureType> types;
  for (const ColumnSample& sample : samples) types.push_back(TypeOf(sample));
  if (spec::FormatOf(data, plan->files.front().path) == spec::DataFormat::kParquet) {
    ESPALIER_RETURN_IF_ERROR(FindDates(files, *plan, &types));
  }
  if (data.label.empty()) ESPALIER_RETURN_IF_ERROR(CheckGivenBack(*plan, open, types));
  spec::Schema found = schema;
  found.features.clear();
  found.rules.clear();
  bool all_numeric = true;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    const auto column = static_cast<size_t>(schema.features[i]);
    spec::FeatureRule rule = schema.rule(i);
    if (open[column]) rule.type = types[column];
    all_numeric = all_numeric && (!open[column] || rule.type == spec::FeatureType::kNumeric);
    std::vector<spec::DatePart> parts = {rule.part};
    if (open[column] && rule.type == spec::FeatureType::kDate) parts = spec::FeatureGroup().parts;
    for (const spec::DatePart part : parts) {
      rule.part = part;
      found.features.push_back(schema.features[i]);
      found.rules.push_back(rule);
    }
  }
  if (!all_numeric) schema = std::move(found);
  return {};
}

}  // namespace espalier::data
