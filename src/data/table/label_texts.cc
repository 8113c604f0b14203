#include "src/data/table/label_texts.h"

namespace espalier::data {
namespace {

constexpr size_t kEntryBytes = 128;  // in the texts and the index, without the text itself

}  // namespace

int32_t LabelTexts::IndexOf(std::string_view text) {
  const bool short_text = text.size() == 1;
  if (short_text && of_byte_[static_cast<uint8_t>(text[0])] >= 0) {
    return of_byte_[static_cast<uint8_t>(text[0])];
  }
  if (const auto found = index_.find(text); found != index_.end()) return found->second;
  const int32_t index = static_cast<int32_t>(texts_.size());
  texts_.emplace_back(text);
  index_.emplace(texts_.back(), index);
  bytes_ += static_cast<int64_t>(kEntryBytes + 2 * text.size());
  if (short_text) of_byte_[static_cast<uint8_t>(text[0])] = index;
  return index;
}

}  // namespace espalier::data
