// What is said of a bad row, whatever the format of its file. Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::data {

inline constexpr size_t kLabelBytesMax = 256;  // of the name of a class

enum class Fault : uint8_t {
  kMissing,
  kInfinite,
  kNotNumber,
  kTooLarge,
  kTooSmall,
  kNegative,
  kNotBinary
};

// Of the value of a feature. REQUIRES: neither kNegative nor kNotBinary.
std::string FeatureFault(Fault fault);
// Of a text that is not a number, which may be one in another form.
std::string NotNumberFault(std::string_view text);
// Of another number, "label" or "weight".
std::string NumberFault(const std::string& what, Fault fault);
// Of the name of a class, which has so many bytes; `missing`: there is not even an empty one.
std::string LabelFault(size_t bytes, bool missing = false);
// Of a label that is a word for null.
std::string MissingLabelFault(std::string_view text);
// Of a vector of Spark's that is none (parquet_vectors.h).
std::string VectorFault();
// Of a row without a value that the model was trained not to do without.
std::string DroppedFault();
// Of the mark that tells validation rows.
std::string MarkFault();
// Of a value that is not a date; `format`: its date_format, empty or "auto" for the usual forms.
std::string DateFault(const std::string& format);

// The same fault of a row that a model scores: without advice for the job of a training.
std::string ScoringFault(const std::string& fault);

}  // namespace espalier::data
