// A parser that splits hostile bytes into the parts that a target needs. At the end of the input,
// all parts are 0 or empty.
//
// Thread rule: values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::fuzz {

class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  uint8_t Byte() {
    const std::string_view text = Take(1);
    return text.empty() ? 0 : static_cast<uint8_t>(text.front());
  }
  // Returns a text. Its length is in the first two bytes, the lower one first.
  std::string_view Text() {
    const size_t low = Byte(), high = Byte();
    return Take(low + 256 * high);
  }
  std::string_view Rest() { return Take(rest_.size()); }

 private:
  std::string_view Take(size_t size) {
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(text.size());
    return text;
  }

  std::string_view rest_;
};

// Returns the bytes that Input::Text parses as `text`. Truncates texts longer than 65,535 bytes.
inline std::string Packed(std::string_view text) {
  const std::string_view kept = text.substr(0, 65'535);
  std::string out{static_cast<char>(kept.size() % 256), static_cast<char>(kept.size() / 256)};
  return out.append(kept);
}

}  // namespace espalier::fuzz
