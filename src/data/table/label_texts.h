// Texts of a shard, numbered in order of appearance: of labels, of categories. Thread rule: values.
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
  std::vector<int32_t> of_byte_ = std::vector<int32_t>(256, -1);  // texts of one byte
};

// What the whole numbers in a shard's rows stand for.
struct ShardTexts {
  LabelTexts labels;                   // of DecodedRows::labels
  std::vector<LabelTexts> categories;  // by feature with a vocabulary, in their order
};

}  // namespace espalier::data
