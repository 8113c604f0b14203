#include "src/data/features/sparse_choice.h"

#include <algorithm>
#include <functional>

#include "src/spec/sparse_rows.h"

namespace espalier {

std::vector<int32_t> CodedFeatures(const Schema& schema) {
  std::vector<int32_t> coded;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    const FeatureRule rule = schema.rule(i);
    if (rule.type == FeatureType::kCategorical) coded.push_back(static_cast<int32_t>(i));
  }
  return coded;
}

bool MayBeSparse(const JobSpec& job, const Schema& schema) {
  if (static_cast<int64_t>(schema.features.size()) < kSparseFeaturesMin) return false;
  int64_t numbers = 0;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    const FeatureRule rule = schema.rule(i);
    if (IsRobust(job.data.features, rule)) return false;
    if (rule.type == FeatureType::kCategorical) continue;
    if (!IsPlain(job.data.features, rule)) return false;
    ++numbers;
  }
  return numbers >= kSparseFeaturesMin;
}

bool DecodesSparse(const JobSpec& job, const Schema& schema, const std::string& path) {
  if (FormatOf(job.data, path) != DataFormat::kLibsvm || schema.partitions > 0 ||
      schema.weight >= 0 || schema.validation >= 0 || !MayBeSparse(job, schema)) {
    return false;
  }
  const bool label_first =
      std::all_of(schema.label.begin(), schema.label.end(), [](int32_t c) { return c == 0; });
  const bool ascending = std::adjacent_find(schema.features.begin(), schema.features.end(),
                                            std::greater_equal<>()) == schema.features.end();
  return label_first && ascending && schema.features.front() > 0;
}

bool CanBeSparse(const JobSpec& job, const Preprocessing& fitted) {
  return job.model.task != Task::kAutoencoder &&
         std::count_if(fitted.features.begin(), fitted.features.end(),
                       [](const FittedFeature& f) { return f.codes == 0; }) >= kSparseFeaturesMin;
}

bool StoresSparse(const JobSpec& job, const Preprocessing& fitted, int64_t rows, int64_t nonzeros) {
  if (!CanBeSparse(job, fitted)) return false;
  int64_t far = 0;
  for (const FittedFeature& f : fitted.features) far += IsFarFromZero(f.shift, f.factor);
  const auto numbers = static_cast<__int128>(rows) * static_cast<int64_t>(fitted.features.size());
  return nonzeros + static_cast<__int128>(rows) * far <= numbers / kSparseShare;
}

}  // namespace espalier
