// Tables as CSV text, with commas, quotes only where needed, and LF line ends.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace espalier::scoring {

// Appends a field, with a comma before it unless `first`. The field is quoted if it contains a
// comma, a quote or a line break, or begins or ends with a space. A field that is empty and the
// only one in its row is quoted too.
void AppendCsvField(std::string_view field, bool first, std::string* text);

// Returns whether a spreadsheet may run the field as a formula. The field begins with = + - @, a
// tab or a line break, and is not a finite decimal number.
bool MayBeFormula(std::string_view field);
// Like AppendCsvField, but puts an apostrophe before a field that MayBeFormula. Spreadsheets show
// the field as text.
void AppendSpreadsheetField(std::string_view field, bool first, std::string* text);

// Appends the shortest text that reads back as the number, or "nan", "inf" or "-inf". `narrow`:
// appends the shortest text that reads back as the float in `value`.
void AppendCsvNumber(double value, bool narrow, bool first, std::string* text);

}  // namespace espalier::scoring
