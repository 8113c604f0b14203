#include "src/data/input/data_fingerprint.h"

#include <algorithm>
#include <vector>

#include "src/base/checksum.h"
#include "src/data/features/fit_features.h"
#include "src/data/table/partitions.h"

namespace espalier::data {

std::string DataFingerprint(const spec::InputPlan& plan, const spec::TableProfile& profile,
                            int64_t sampled, bool respelt) {
  Sha256 hash;
  const auto add = [&hash](const std::string& text) { hash.Update(text.data(), text.size()); };
  add("espalier data\n");
  // Earlier versions sampled fewer rows of wide tables, so their checkpoints have other scales.
  if (sampled > 64) add("sample " + std::to_string(spec::SampledRowsMax(sampled)) + "\n");
  // Earlier versions did not read integers such as 20240229 as days, ...
  const auto is_date = [](const spec::FeatureRule& rule) {
    return rule.type == spec::FeatureType::kDate;
  };
  if (std::any_of(plan.schema.rules.begin(), plan.schema.rules.end(), is_date)) add("days\n");
  // ... did not treat 1.0 as 1 among words, ...
  if (respelt) add("words\n");
  // ... and did not multiply rows sparse if they have more than numbers.
  const auto more = [](const spec::FittedFeature& f) { return f.codes > 0 || f.null_indicator; };
  const std::vector<spec::FittedFeature>& fitted = profile.preprocessing.features;
  if (profile.sparse && std::any_of(fitted.begin(), fitted.end(), more)) add("sparse\n");
  for (const spec::ShardProfile& s : profile.shards) {
    const spec::Shard& shard = plan.shards[s.shard];
    const int64_t numbers[] = {shard.file,   shard.begin,       shard.end,  s.checksum,
                               s.train_rows, s.validation_rows, s.test_rows};
    for (const int64_t n : numbers) add(std::to_string(n) + " ");
    // Columns from the names of directories are not in the bytes of the file.
    if (plan.schema.partitions > 0) {
      for (const auto& value : PartitionValues(plan.schema, plan.files[shard.file].path)) {
        add(value ? std::to_string(value->size()) + ":" + *value : "null");
      }
    }
    add("\n");
  }
  return hash.FinishHex();
}

}  // namespace espalier::data
