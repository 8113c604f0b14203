#include "src/data/table/row_words.h"

#include "src/base/text.h"
#include "src/data/table/value_rules.h"

namespace espalier::data {
namespace {

constexpr const char* kFit =
    " does not fit float32, whose largest is 3.4e38; set model.precision: float64 or scale the "
    "data";

}  // namespace

std::string FeatureFault(Fault fault) {
  switch (fault) {
    case Fault::kMissing:
      return "the value is missing; choose data.features.nulls: mean, drop or {constant: V} to go "
             "on without it";
    case Fault::kNotNumber:
      return "the value is not a number; name texts that mean null in data.null_values, or choose "
             "other columns in data.features.columns, or make this one a category in "
             "data.features.groups";
    default:
      return NumberFault("value", fault);
  }
}

std::string NotNumberFault(std::string_view text) {
  WrittenNumber how;
  if (!ReadWrittenNumber(text, &how)) return FeatureFault(Fault::kNotNumber);
  if (!how.decimal_comma && !how.either_comma && how.thousands == 0) {
    return "the value is not a plain number; take signs and units out of the file, or make the "
           "column a category in data.features.groups";
  }
  return "the value is not a plain number; set data.csv.decimal and data.csv.thousands to what the "
         "numbers of the file have";
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
      return the + kFit;
    case Fault::kTooSmall:
      return the +
             " would count 0 in float32, whose smallest number above it is 1.2e-38; set "
             "model.precision: float64 or scale the data";
    case Fault::kNegative:
      return the + " is negative; expected a number of at least 0";
    case Fault::kNotBinary:
      return the + " is neither 0 nor 1, as labels are with model.task: multilabel";
  }
  return the + " is not understood";
}

std::string VectorFault() {
  return "this is no vector; expected one as Spark writes it: type 1 and values (dense), or type "
         "0, "
         "size, ascending indices below it and as many values (sparse)";
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
  return "the label is missing: " + Quoted(text) +
         " means null; leave these rows out with data.bad_rows, or set data.null_values: [] if it "
         "is the name of a class";
}

std::string DroppedFault() {
  return "a feature is missing; the model was trained without such rows (data.features.nulls: "
         "drop)";
}

std::string MarkFault() {
  return "the validation column holds neither true nor false; expected 1, 0, true or false";
}

}  // namespace espalier::data
