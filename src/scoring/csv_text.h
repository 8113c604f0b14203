// Tables as CSV text: comma, quotes where they are needed, LF. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace espalier::scoring {

// Appends a field, and a comma before it unless `first`. Quoted when it holds a comma, a quote or
// a line break, or begins or ends with a space, or is the only field of its row and empty.
void AppendCsvField(std::string_view field, bool first, std::string* text);

// Whether a spreadsheet may run the field as a formula: it begins with = + - @, a tab or a line
// break, and is not a finite decimal number.
bool MayBeFormula(std::string_view field);
// AppendCsvField, with an apostrophe before a field that MayBeFormula: spreadsheets show the
// field as text.
void AppendSpreadsheetField(std::string_view field, bool first, std::string* text);

// The shortest text that reads back as the number; "nan", "inf" and "-inf" for what is none.
// `narrow`: the shortest that reads back as the float that `value` is.
void AppendCsvNumber(double value, bool narrow, bool first, std::string* text);

}  // namespace espalier::scoring
