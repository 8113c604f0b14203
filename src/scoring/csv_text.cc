#include "src/scoring/csv_text.h"

#include <charconv>
#include <cmath>

namespace espalier::scoring {

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

bool MayBeFormula(std::string_view field) {
  if (field.empty() || std::string_view("=+-@\t\r\n").find(field[0]) == std::string_view::npos) {
    return false;
  }
  if (field[0] == '+') {  // from_chars accepts only a minus sign
    field.remove_prefix(1);
    if (field.starts_with('-')) return true;
  }
  double value = 0;
  const char* end = field.data() + field.size();
  const auto read = std::from_chars(field.data(), end, value);
  return read.ec != std::errc() || read.ptr != end || !std::isfinite(value);
}

void AppendSpreadsheetField(std::string_view field, bool first, std::string* text) {
  if (!MayBeFormula(field)) return AppendCsvField(field, first, text);
  AppendCsvField("'" + std::string(field), first, text);
}

void AppendCsvNumber(double value, bool narrow, bool first, std::string* text) {
  char digits[64];
  const auto end = narrow ? std::to_chars(digits, digits + sizeof digits, static_cast<float>(value))
                          : std::to_chars(digits, digits + sizeof digits, value);
  if (!first) *text += ',';
  text->append(digits, end.ptr);
}

}  // namespace espalier::scoring
