#include "src/data/table/row_words.h"

#include <cstdio>

#include "src/base/text.h"
#include "src/data/table/value_rules.h"

namespace espalier::data {
namespace {

// Advice for a training job, and its replacement for a row that a model scores.
struct Advice {
  const char* training;
  const char* scoring;
};
constexpr Advice kMissing = {
    "; choose data.features.nulls: mean, median, drop or {constant: V} to continue without it",
    ", and the model was trained without missing values in this column; fill it in the data"};
constexpr Advice kNotNumber = {
    "; name texts that mean null in data.null_values, or choose other columns in "
    "data.features.columns, or make this one a category in data.features.groups",
    "; expected one, like 2.5 or 1e-3"};
constexpr Advice kNotPlain = {
    "; take signs and units out of the file, or make the column a category in "
    "data.features.groups",
    "; take signs and units out of the data"};
constexpr Advice kOtherForm = {
    "; set data.csv.decimal and data.csv.thousands to what the numbers of the file have",
    "; write it in the form that the training's files have"};
constexpr Advice kFit = {"; set model.precision: float64 or scale the data",
                         "; scale it as in the training's files"};
constexpr Advice kNullLabel = {"; set data.null_values: [] if it is the name of a class",
                               "; expected the name or number of a class"};
constexpr Advice kDateForm = {
    "; correct the format, or name texts that mean null in data.null_values",
    "; correct the value"};
constexpr Advice kNoDate = {
    ": set date_format for another form, or name texts that mean null in data.null_values", ""};
constexpr Advice kAll[] = {kMissing, kNotNumber, kNotPlain, kOtherForm,
                           kFit,     kNullLabel, kDateForm, kNoDate};

}  // namespace

std::string FeatureFault(Fault fault) {
  switch (fault) {
    case Fault::kMissing:
      return std::string("the value is missing") + kMissing.training;
    case Fault::kNotNumber:
      return std::string("the value is not a number") + kNotNumber.training;
    default:
      return NumberFault("value", fault);
  }
}

std::string NotNumberFault(std::string_view text) {
  WrittenNumber how;
  if (!ReadWrittenNumber(text, &how)) return FeatureFault(Fault::kNotNumber);
  const bool plain = !how.decimal_comma && !how.either_comma && how.thousands == 0;
  return std::string("the value is not a plain number") + (plain ? kNotPlain : kOtherForm).training;
}

std::string NumberFault(const std::string& what, Fault fault) {
  const std::string the = "the " + what;
  switch (fault) {
    case Fault::kMissing:
      return the + " is missing; expected a number";
    case Fault::kInfinite:
      return the + " is infinite; expected a finite number";
    case Fault::kNotNumber:
      return the + " is not a number; expected one, like 2.5 or 1e-3";
    case Fault::kTooLarge:
      return the + " does not fit float32 (largest value 3.4e38)" + kFit.training;
    case Fault::kTooSmall:
      return the + " would become 0 in float32 (smallest positive value 1.2e-38)" + kFit.training;
    case Fault::kNegative:
      return the + " is negative; expected a number of at least 0";
    case Fault::kNotBinary:
      return the + " is neither 0 nor 1, as labels are with model.task: multilabel";
  }
  return the + " is not understood";
}

std::string VectorFault() {
  return "this is not a vector; expected Spark's form: type 1 and values (dense), or type 0, size, "
         "ascending indices below size and one value for each index (sparse)";
}

std::string LabelFault(size_t bytes, bool missing) {
  if (bytes > kLabelBytesMax) {
    return "the label has " + std::to_string(bytes) + " bytes; the name of a class has at most " +
           std::to_string(kLabelBytesMax);
  }
  return std::string("the label is ") + (missing ? "missing" : "empty") +
         "; expected the name or number of a class";
}

std::string MissingLabelFault(std::string_view text) {
  return "the label is missing: " + Quoted(text) + " means null" + kNullLabel.training;
}

std::optional<std::string> Utf8Fault(std::string_view text) {
  const size_t bad = FindInvalidUtf8(text);
  if (bad == std::string_view::npos) return std::nullopt;
  char byte[8];
  std::snprintf(byte, sizeof(byte), "0x%02x", static_cast<unsigned char>(text[bad]));
  return "the text is not UTF-8 (byte " + std::string(byte) +
         "). Convert the file, for example with iconv -f latin1 -t utf8";
}

std::string DroppedFault() {
  return "a feature is missing, and the model was trained without such rows; fill it in the data";
}

std::string MarkFault() {
  return "the validation column holds neither true nor false; expected 1, 0, true or false";
}

std::string DateFault(const std::string& format) {
  if (!format.empty() && format != "auto") {
    return "the value is not a date written as date_format " + Quoted(format) + " says" +
           kDateForm.training;
  }
  return std::string(
             "the value is not a date; expected one like 2024-02-29, 29.02.2024, 20240229 or "
             "2024-02-29T23:59:58Z, of the years 1 to 9999, or seconds since 1970") +
         kNoDate.training;
}

std::string TrainingFault(const std::string& fault) {
  return fault + (fault.ends_with('?') ? "" : ".") +
         " Correct the row, or skip rows like it with data.bad_rows: {policy: skip, limit: 10}";
}

std::string ScoringFault(const std::string& fault) {
  for (const Advice& advice : kAll) {
    const std::string_view training = advice.training;
    if (!fault.ends_with(training)) continue;
    return fault.substr(0, fault.size() - training.size()) + advice.scoring;
  }
  return fault;
}

}  // namespace espalier::data
