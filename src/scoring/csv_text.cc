#include "src/scoring/csv_text.h"

#include <charconv>

namespace espalier {

void AppendCsvField(std::string_view field, bool first, std::string* text) {
  if (!first) *text += ',';
  const bool quote = field.find_first_of(",\"\r\n") != std::string_view::npos ||
                     field.starts_with(' ') || field.ends_with(' ') || (first && field.empty());
  if (!quote) {
    *text += field;
    return;
  }
  *text += '"';
  for (const char c : field) {
    if (c == '"') *text += '"';
    *text += c;
  }
  *text += '"';
}

void AppendCsvNumber(double value, bool narrow, bool first, std::string* text) {
  char digits[64];
  const auto end = narrow ? std::to_chars(digits, digits + sizeof digits, static_cast<float>(value))
                          : std::to_chars(digits, digits + sizeof digits, value);
  if (!first) *text += ',';
  text->append(digits, end.ptr);
}

}  // namespace espalier
