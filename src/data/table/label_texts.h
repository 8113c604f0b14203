// Texts of a shard (labels or categories), numbered in order of appearance. Thread rule: values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace espalier::data {

class LabelTexts {
 public:
  // Returns the index of a text, or -1.
  int32_t Find(std::string_view text) const;
  // Returns the index of a text, and adds it if it is new.
  int32_t IndexOf(std::string_view text);
  const std::vector<std::string>& texts() const { return texts_; }
  int64_t MemoryBytes() const { return bytes_; }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::vector<std::string> texts_;
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> index_;
  int64_t bytes_ = 0;
  std::vector<int32_t> of_byte_ = std::vector<int32_t>(256, -1);  // index of texts with one byte
};

// Texts for the integer codes in a shard's rows.
struct ShardTexts {
  LabelTexts labels;                   // texts for DecodedRows::labels
  std::vector<LabelTexts> categories;  // one per feature with a vocabulary, in order
};

}  // namespace espalier::data
