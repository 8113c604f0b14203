#include "src/data/features/vocabulary.h"

#include <algorithm>

#include "src/data/table/class_text.h"

namespace espalier::data {

void FitVocabulary(const std::map<std::string, int64_t>& texts_seen,
                   const spec::CategoryOptions& options, spec::FittedFeature* feature) {
  std::map<std::string, int64_t> counts;
  for (const auto& [text, count] : texts_seen) counts[ClassText(text)] += count;
  JoinSpellings(&counts);
  const auto null = counts.find("");
  const int64_t nulls = null == counts.end() ? 0 : null->second;
  counts.erase("");
  int64_t min_count = options.min_count;
  if (static_cast<int64_t>(counts.size()) <= options.one_hot_max) {
    min_count = 1;
    feature->embedding = 0;
  }
  std::vector<std::string>& texts = feature->vocabulary;
  bool numeric = true, others = nulls > 0 && nulls < min_count;
  for (const auto& [text, count] : counts) {
    if (count < min_count) {
      others = true;
      continue;
    }
    texts.push_back(text);
    numeric = numeric && WholeNumber(text).has_value();
  }
  if (numeric) {
    std::sort(texts.begin(), texts.end(), [](const std::string& a, const std::string& b) {
      return *WholeNumber(a) < *WholeNumber(b);
    });
  }
  if (options.zero_rare) {
    // Without a frequent value, all rows share one code.
    feature->codes = std::max<int64_t>(1, static_cast<int64_t>(texts.size()));
    return;
  }
  if (nulls >= min_count) texts.insert(texts.begin(), "");
  feature->codes = static_cast<int64_t>(texts.size()) + (others ? 1 : 0);
}

Vocabularies::Vocabularies(const spec::Preprocessing& preprocessing) {
  for (size_t i = 0; i < preprocessing.features.size(); ++i) {
    const spec::FittedFeature& f = preprocessing.features[i];
    if (f.codes == 0 || f.hashed) continue;
    features_.push_back(static_cast<int64_t>(i));
    texts_.emplace_back(f.vocabulary);
    others_.push_back(static_cast<int32_t>(f.vocabulary.size()));
  }
}

void Vocabularies::Extend(const std::vector<LabelTexts>& categories, CodeMaps* maps) const {
  maps->resize(texts_.size());
  for (size_t v = 0; v < std::min(categories.size(), texts_.size()); ++v) {
    const std::vector<std::string>& texts = categories[v].texts();
    for (size_t i = (*maps)[v].size(); i < texts.size(); ++i) {
      const int32_t code = texts_[v].Of(texts[i]);
      (*maps)[v].push_back(code < 0 ? others_[v] : code);
    }
  }
}

}  // namespace espalier::data
