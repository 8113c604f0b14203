#include "src/data/features/sparse_choice.h"

#include <algorithm>
#include <functional>

#include "src/spec/sparse_rows.h"

namespace espalier::data {

std::vector<int32_t> CodedFeatures(const spec::Schema& schema) {
  std::vector<int32_t> coded;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    const spec::FeatureRule rule = schema.rule(i);
    if (rule.type == spec::FeatureType::kCategorical) coded.push_back(static_cast<int32_t>(i));
  }
  return coded;
}

bool MayBeSparse(const spec::JobSpec& job, const spec::Schema& schema) {
  if (static_cast<int64_t>(schema.features.size()) < spec::kSparseFeaturesMin) return false;
  if (job.model.scaling_layer) return false;
  int64_t numbers = 0;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    const spec::FeatureRule rule = schema.rule(i);
    if (spec::IsSampled(job.data.features, rule)) return false;
    if (rule.type == spec::FeatureType::kCategorical) continue;
    if (!spec::IsPlain(job.data.features, rule)) return false;
    ++numbers;
  }
  return numbers >= spec::kSparseFeaturesMin;
}

bool DecodesSparse(const spec::JobSpec& job, const spec::Schema& schema, const std::string& path) {
  if (spec::FormatOf(job.data, path) != spec::DataFormat::kLibsvm || schema.partitions > 0 ||
      schema.weight >= 0 || schema.validation >= 0 || !MayBeSparse(job, schema)) {
    return false;
  }
  const bool label_first =
      std::all_of(schema.label.begin(), schema.label.end(), [](int32_t c) { return c == 0; });
  const bool ascending = std::adjacent_find(schema.features.begin(), schema.features.end(),
                                            std::greater_equal<>()) == schema.features.end();
  return label_first && ascending && schema.features.front() > 0;
}

bool CanBeSparse(const spec::JobSpec& job, const spec::Preprocessing& fitted) {
  return job.model.task != spec::Task::kAutoencoder && !job.model.scaling_layer &&
         std::count_if(fitted.features.begin(), fitted.features.end(),
                       [](const spec::FittedFeature& f) { return f.codes == 0; }) >=
             spec::kSparseFeaturesMin;
}

bool StoresSparse(const spec::JobSpec& job, const spec::Preprocessing& fitted, int64_t rows,
                  int64_t nonzeros) {
  if (!CanBeSparse(job, fitted)) return false;
  int64_t far = 0;
  for (const spec::FittedFeature& f : fitted.features)
    far += spec::IsFarFromZero(f.shift, f.factor);
  const auto numbers = static_cast<__int128>(rows) * static_cast<int64_t>(fitted.features.size());
  return nonzeros + static_cast<__int128>(rows) * far <= numbers / spec::kSparseShare;
}

}  // namespace espalier::data
