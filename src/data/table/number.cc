#include "src/data/table/number.h"

#include <fast_float/fast_float.h>

#include <cmath>
#include <system_error>

namespace espalier::data {

std::string_view Trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

NumberKind ParseNumberSlowly(std::string_view text, double* value) {
  text = Trimmed(text);
  if (text.empty()) return NumberKind::kNull;
  for (const std::string_view null : kNullWords) {
    if (text == null) return NumberKind::kNull;
  }
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
