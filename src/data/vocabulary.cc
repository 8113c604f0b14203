#include "src/data/vocabulary.h"

#include <algorithm>

#include "src/data/class_text.h"

namespace espalier {

void FitVocabulary(std::map<std::string, int64_t> counts, int64_t min_count,
                   FittedFeature* feature) {
  const auto null = counts.find("");
  const int64_t nulls = null == counts.end() ? 0 : null->second;
  counts.erase("");
  JoinWholeNumbers(&counts);
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
  if (nulls >= min_count) texts.insert(texts.begin(), "");
  feature->codes = static_cast<int64_t>(texts.size()) + (others ? 1 : 0);
}

Vocabulary::Vocabulary(const FittedFeature& feature)
    : other_(static_cast<int32_t>(feature.vocabulary.size())) {
  for (size_t i = 0; i < feature.vocabulary.size(); ++i) {
    codes_.emplace_back(feature.vocabulary[i], static_cast<int32_t>(i));
  }
  std::sort(codes_.begin(), codes_.end());
}

int32_t Vocabulary::CodeOf(const std::string& text) const {
  for (const std::string& name : {text, ClassText(text)}) {
    const auto found = std::lower_bound(codes_.begin(), codes_.end(), std::pair(name, int32_t{0}));
    if (found != codes_.end() && found->first == name) return found->second;
  }
  return other_;
}

}  // namespace espalier
