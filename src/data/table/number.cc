#include "src/data/table/number.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <cmath>
#include <system_error>

namespace espalier::data {
namespace {

constexpr size_t Place(char c) { return static_cast<unsigned char>(c); }

// For each character: whether a word for null begins with it.
constexpr std::array<bool, 256> kNullWordStarts = [] {
  std::array<bool, 256> starts{};
  for (const std::string_view word : kNullWords) starts[Place(word.front())] = true;
  return starts;
}();
constexpr size_t kLongestNullWord =
    std::max_element(kNullWords.begin(), kNullWords.end(),
                     [](auto a, auto b) { return a.size() < b.size(); }) -> size();

// Returns whether the first bytes of a text rule out a null word: a digit alone, two digits, or a
// digit, a point and a digit.
bool StartsPlainly(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || !is_digit(text[0])) return false;
  return text.size() < 3 || is_digit(text[1]) || (text[1] == '.' && is_digit(text[2]));
}

}  // namespace

std::string_view Trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool IsNullWord(std::string_view text) {
  // The first character or the length rules out most texts.
  if (text.empty() || text.size() > kLongestNullWord || !kNullWordStarts[Place(text.front())]) {
    return false;
  }
  return std::find(kNullWords.begin(), kNullWords.end(), text) != kNullWords.end();
}

NumberKind ParseNumberSlowly(std::string_view text, double* value) {
  text = Trimmed(text);
  if (text.empty()) return NumberKind::kNull;
  if (!StartsPlainly(text) && IsNullWord(text)) return NumberKind::kNull;
  if (text.front() == '+') {
    text.remove_prefix(1);
    if (text.empty() || text.front() == '-' || text.front() == '+') return NumberKind::kNotNumber;
  }
  double parsed = 0;
  const auto [end, error] = fast_float::from_chars(text.data(), text.data() + text.size(), parsed);
  if (end != text.data() + text.size()) return NumberKind::kNotNumber;
  if (error == std::errc::invalid_argument || std::isnan(parsed)) return NumberKind::kNotNumber;
  if (std::isinf(parsed)) return NumberKind::kInfinite;
  *value = parsed;
  return NumberKind::kNumber;
}

}  // namespace espalier::data
