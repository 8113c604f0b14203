#include "src/data/sparse_choice.h"

#include <algorithm>
#include <functional>

#include "src/data/listing.h"
#include "src/spec/sparse_rows.h"

namespace espalier {

bool MayBeSparse(const JobSpec& job, const Schema& schema) {
  if (static_cast<int64_t>(schema.features.size()) < kSparseFeaturesMin) return false;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    const FeatureRule rule = schema.rule(i);
    if (!IsPlain(job.data.features, rule) || IsRobust(job.data.features, rule)) return false;
  }
  return true;
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
  return static_cast<int64_t>(fitted.features.size()) >= kSparseFeaturesMin &&
         job.model.task != Task::kAutoencoder &&
         std::all_of(fitted.features.begin(), fitted.features.end(),
                     [](const FittedFeature& f) { return f.codes == 0 && !f.null_indicator; });
}

bool StoresSparse(const JobSpec& job, const Preprocessing& fitted, int64_t rows, int64_t nonzeros) {
  if (!CanBeSparse(job, fitted)) return false;
  int64_t far = 0;
  for (const FittedFeature& f : fitted.features) far += IsFarFromZero(f.shift, f.factor);
  const auto numbers = static_cast<__int128>(rows) * static_cast<int64_t>(fitted.features.size());
  return nonzeros + static_cast<__int128>(rows) * far <= numbers / kSparseShare;
}

}  // namespace espalier
