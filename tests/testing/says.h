// A matcher for the parts of a message that identify it. The other words can change freely.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>

namespace espalier {

// A matcher for messages that contain the pieces of `key` in order. " ... " separates pieces. The
// message begins with the first piece, unless the key begins with "... ". A piece matches only
// whole numbers at its ends: "1 to 10" does not match "1 to 100".
class Says : public Catch::MatcherBase<std::string> {
 public:
  explicit Says(std::string key) : key_(std::move(key)) {}

  bool match(const std::string& message) const override {
    const std::string gap = " ... ";
    const std::string key = key_.starts_with("... ") ? " " + key_ : key_;
    size_t at = 0;  // position in the message, after the previous piece
    for (size_t begin = 0; begin <= key.size();) {
      const size_t end = std::min(key.find(gap, begin), key.size());
      const std::string piece = key.substr(begin, end - begin);
      size_t found = message.find(piece, at);
      while (found != std::string::npos && CutsNumber(message, found, piece.size())) {
        found = message.find(piece, found + 1);
      }
      if (found == std::string::npos || (begin == 0 && found != 0)) return false;
      at = found + piece.size();
      begin = end + gap.size();
    }
    return true;
  }

  std::string describe() const override { return "says: " + key_; }

 private:
  static bool IsDigit(char c) { return '0' <= c && c <= '9'; }

  // Returns whether one end of the part splits a number.
  static bool CutsNumber(const std::string& message, size_t begin, size_t size) {
    const auto both = [&](size_t i) {
      return i > 0 && i < message.size() && IsDigit(message[i - 1]) && IsDigit(message[i]);
    };
    return size > 0 && (both(begin) || both(begin + size));
  }

  std::string key_;
};

}  // namespace espalier
