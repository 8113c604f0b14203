#include "src/data/features/keep_fitted.h"

#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/data/table/class_text.h"

namespace espalier::data {
namespace {

bool HasVocabulary(const spec::FittedFeature& f) { return f.codes > 0 && !f.hashed; }
bool HasOthers(const spec::FittedFeature& f) {
  return f.codes > static_cast<int64_t>(f.vocabulary.size());
}

// Sorts like a vocabulary: null, then integers by value or texts by their bytes.
void SortTexts(std::vector<std::string>* texts) {
  const bool numeric = std::all_of(texts->begin(), texts->end(), [](const std::string& text) {
    return text.empty() || WholeNumber(text).has_value();
  });
  std::sort(texts->begin(), texts->end(), [numeric](const std::string& a, const std::string& b) {
    if (!numeric || a.empty() || b.empty()) return a < b;
    return *WholeNumber(a) < *WholeNumber(b);
  });
}

spec::FittedFeature KeptNumber(spec::FittedFeature kept, const spec::FittedFeature& fitted,
                               bool keeps_null_value) {
  if (!keeps_null_value) kept.null_value = fitted.null_value;
  if (kept.factor == 0) {  // no weight has seen the column
    kept.shift = fitted.shift;
    kept.factor = fitted.factor;
  }
  return kept;
}

}  // namespace

bool FillsNulls(const spec::EarlierFit& earlier, const std::string& name) {
  const std::vector<spec::FittedFeature>& features = earlier.preprocessing.features;
  const auto same_name = [&](const spec::FittedFeature& f) { return f.name == name; };
  const auto at = std::find_if(features.begin(), features.end(), same_name);
  const auto place = static_cast<size_t>(at - features.begin());
  return at != features.end() && at->codes == 0 && place < earlier.readings.size() &&
         earlier.readings[place].fills_nulls;
}

Result<spec::FittedFeature> Kept(const spec::EarlierFit& earlier, spec::FittedFeature fitted,
                                 const spec::FeatureOptions& options) {
  const std::vector<spec::FittedFeature>& features = earlier.preprocessing.features;
  const auto same_name = [&](const spec::FittedFeature& f) { return f.name == fitted.name; };
  const auto at = std::find_if(features.begin(), features.end(), same_name);
  if (at == features.end()) return fitted;
  const auto place = static_cast<size_t>(at - features.begin());
  const bool has_reading = place < earlier.readings.size();
  if (at->codes == 0 && fitted.codes == 0) {
    if (has_reading && earlier.readings[place].log1p != options.log1p) {
      return InvalidArgument("train.initial: the feature '" + Printable(fitted.name) + "' " +
                             (options.log1p ? "has log1p in this job and not in that model"
                                            : "has log1p in that model and not in this job") +
                             ". Set it alike, or set refit_preprocessing: true in train.initial");
    }
    return KeptNumber(*at, fitted,
                      options.nulls->kind != spec::NullKind::kConstant &&
                          (!has_reading || earlier.readings[place].fills_nulls));
  }
  if (!HasVocabulary(*at) || !HasVocabulary(fitted)) return fitted;
  spec::FittedFeature kept = *at;
  const ClassIndex known(kept.vocabulary);
  for (std::string& text : fitted.vocabulary) {
    if (known.Of(text) < 0) kept.vocabulary.push_back(std::move(text));
  }
  SortTexts(&kept.vocabulary);
  const bool others = !options.zero_rare && (HasOthers(*at) || HasOthers(fitted));
  kept.codes = std::max<int64_t>(1, static_cast<int64_t>(kept.vocabulary.size()) + others);
  return kept;
}

spec::FittedTarget Kept(const spec::Preprocessing& earlier, spec::FittedTarget fitted, bool only) {
  const bool alone = only && earlier.targets.size() == 1;
  for (const spec::FittedTarget& target : earlier.targets) {
    if (target.name != fitted.name && !alone) continue;
    fitted.shift = target.shift;
    fitted.factor = target.factor;
    if (!fitted.range.empty() && !target.range.empty()) {
      fitted.range = {std::min(fitted.range[0], target.range[0]),
                      std::max(fitted.range[1], target.range[1])};
    }
    break;
  }
  return fitted;
}

}  // namespace espalier::data
