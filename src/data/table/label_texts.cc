#include "src/data/table/label_texts.h"

namespace espalier::data {
namespace {

constexpr size_t kEntryBytes = 128;  // in the texts and the index, without the text itself

}  // namespace

int32_t LabelTexts::Find(std::string_view text) const {
  if (text.size() == 1) return of_byte_[static_cast<uint8_t>(text[0])];
  const auto found = index_.find(text);
  return found == index_.end() ? -1 : found->second;
}

int32_t LabelTexts::IndexOf(std::string_view text) {
  if (const int32_t known = Find(text); known >= 0) return known;
  const int32_t index = static_cast<int32_t>(texts_.size());
  texts_.emplace_back(text);
  index_.emplace(texts_.back(), index);
  bytes_ += static_cast<int64_t>(kEntryBytes + 2 * text.size());
  if (text.size() == 1) of_byte_[static_cast<uint8_t>(text[0])] = index;
  return index;
}

}  // namespace espalier::data
