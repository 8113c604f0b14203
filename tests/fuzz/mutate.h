// Hostile inputs made from valid ones. A mutation applies a few random edits to a seed text: it
// changes, inserts, removes, copies or swaps bytes, or truncates the text. The tests that use it
// run under the address sanitizer, and FuzzScale() lengthens them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/random.h"

namespace espalier {

// Returns the mutation `number` of the text. The same number gives the same mutation. `alphabet`:
// bytes that have a meaning in the format of the text.
inline std::string Mutated(std::string text, std::string_view alphabet, uint64_t number) {
  const PhiloxKey key{static_cast<uint32_t>(number), 0x66757a7a};
  const uint64_t edits = 1 + RandomBits(key, 0, 0) % 4;
  for (uint64_t e = 1; e <= edits && !text.empty(); ++e) {
    const uint64_t bits = RandomBits(key, e, 0), more = RandomBits(key, e, 1);
    const size_t at = bits % text.size(), other = more % text.size();
    const size_t length = 1 + (more >> 32) % 16;
    const char c = (bits >> 60) < 12 ? alphabet[(bits >> 40) % alphabet.size()]
                                     : static_cast<char>(bits >> 32);
    switch ((more >> 56) % 6) {
      case 0:
        text[at] = c;
        break;
      case 1:
        text.insert(at, 1, c);
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(other, length));
        break;
      case 4:
        std::swap(text[at], text[other]);
        break;
      case 5:
        text.resize(at + 1);
        break;
    }
  }
  return text;
}

}  // namespace espalier
