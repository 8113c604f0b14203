// What a message must say, so that its wording can change and its test need not.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>

namespace espalier {

// Matches a message that starts with what `key` has before its first " ... ", and has each further
// piece somewhere behind the one before. A key that starts with "... " leaves the start open.
class Says : public Catch::MatcherBase<std::string> {
 public:
  explicit Says(std::string key) : key_(std::move(key)) {}

  bool match(const std::string& message) const override {
    const std::string gap = " ... ";
    const std::string key = key_.starts_with("... ") ? " " + key_ : key_;
    size_t at = 0;  // in the message, behind the piece before
    for (size_t begin = 0; begin <= key.size();) {
      const size_t end = std::min(key.find(gap, begin), key.size());
      const std::string piece = key.substr(begin, end - begin);
      const size_t found = message.find(piece, at);
      if (found == std::string::npos || (begin == 0 && found != 0)) return false;
      at = found + piece.size();
      begin = end + gap.size();
    }
    return true;
  }

  std::string describe() const override { return "says: " + key_; }

 private:
  std::string key_;
};

}  // namespace espalier
