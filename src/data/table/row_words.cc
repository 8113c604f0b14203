#include "src/data/table/row_words.h"

#include <cstdio>

#include "src/base/text.h"
#include "src/data/table/advice.h"
#include "src/data/table/value_rules.h"

namespace espalier::data {

std::string FeatureFault(Fault fault) {
  switch (fault) {
    case Fault::kMissing:
      return std::string("the value is missing") + advice::kMissing.training;
    case Fault::kNotNumber:
      return std::string("the value is not a number") + advice::kNotNumber.training;
    default:
      return NumberFault("value", fault);
  }
}

std::string NotNumberFault(std::string_view text) {
  WrittenNumber how;
  if (!ReadWrittenNumber(text, &how)) return FeatureFault(Fault::kNotNumber);
  const bool plain = !how.decimal_comma && !how.either_comma && how.thousands == 0;
  return std::string("the value is not a plain number") +
         (plain ? advice::kNotPlain : advice::kOtherForm).training;
}

std::string NumberFault(const std::string& what, Fault fault) {
  const std::string the = "the " + what;
  switch (fault) {
    case Fault::kMissing:
      return the + " is missing (expected a number)";
    case Fault::kInfinite:
      return the + " is infinite (expected a finite number)";
    case Fault::kNotNumber:
      return the + " is not a number (expected one, like 2.5 or 1e-3)";
    case Fault::kTooLarge:
      return the + " does not fit float32 (largest value 3.4e38)" + advice::kFit.training;
    case Fault::kTooSmall:
      return the + " would become 0 in float32 (smallest positive value 1.2e-38)" +
             advice::kFit.training;
    case Fault::kNegative:
      return the + " is negative (expected a number of at least 0)";
    case Fault::kNotBinary:
      return the + " is neither 0 nor 1, as labels are with model.task: multilabel";
  }
  return the + " is not valid";
}

std::string VectorFault() {
  return "this is not a vector in Spark's form (expected type 1 and values, or type 0, size, "
         "ascending indices below size and one value for each index)";
}

std::string LabelFault(size_t bytes, bool missing) {
  if (bytes > kLabelBytesMax) {
    return "the label has " + std::to_string(bytes) + " bytes (expected at most " +
           std::to_string(kLabelBytesMax) + ", as the name of a class)";
  }
  return std::string("the label is ") + (missing ? "missing" : "empty") +
         " (expected the name or number of a class)";
}

std::string MissingLabelFault(std::string_view text) {
  return "the label is missing: " + Quoted(text) + " means null" + advice::kNullLabel.training;
}

std::optional<std::string> Utf8Fault(std::string_view text) {
  const size_t bad = FindInvalidUtf8(text);
  if (bad == std::string_view::npos) return std::nullopt;
  char byte[8];
  std::snprintf(byte, sizeof(byte), "0x%02x", static_cast<unsigned char>(text[bad]));
  return "the text is not UTF-8 (byte " + std::string(byte) +
         "). Write the file in UTF-8; for a text file, use iconv -f latin1 -t utf8";
}

std::string DroppedFault() {
  return "a feature is missing, and the model was trained without missing values. Fill it in the "
         "data";
}

std::string MarkFault() {
  return "the validation column holds neither true nor false (expected 1, 0, true or false)";
}

std::string DateFault(const std::string& format) {
  if (!format.empty() && format != "auto") {
    return "the value is not a date written as date_format " + Quoted(format) + " says" +
           advice::kDateForm.training;
  }
  return std::string(
             "the value is not a date (expected one like 2024-02-29, 29.02.2024, 20240229 or "
             "2024-02-29T23:59:58Z, of the years 1 to 9999, or seconds since 1970)") +
         advice::kNoDate.training;
}

}  // namespace espalier::data
