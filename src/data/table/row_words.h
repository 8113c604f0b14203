// Error messages for bad rows, the same for all file formats. Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::data {

inline constexpr size_t kLabelBytesMax = 256;  // maximum size of a class name

enum class Fault : uint8_t {
  kMissing,
  kInfinite,
  kNotNumber,
  kTooLarge,
  kTooSmall,
  kNegative,
  kNotBinary
};

// Returns the message for the value of a feature. REQUIRES: neither kNegative nor kNotBinary.
std::string FeatureFault(Fault fault);
// Returns the message for a text that is not a number, or is a number in another form.
std::string NotNumberFault(std::string_view text);
// Returns the message for another number: `what` is "label" or "weight".
std::string NumberFault(const std::string& what, Fault fault);
// Returns the message for a class name of `bytes` bytes. `missing`: even an empty one is missing.
std::string LabelFault(size_t bytes, bool missing = false);
// Returns the message for a label that is a word for null.
std::string MissingLabelFault(std::string_view text);
// Returns the message for a label or a category with bytes that are not UTF-8. Absent: there are
// none.
std::optional<std::string> Utf8Fault(std::string_view text);
// Returns the message for an invalid Spark vector (parquet/vectors.h).
std::string VectorFault();
// Returns the message for a row without a value that the model was trained to require.
std::string DroppedFault();
// Returns the message for an invalid mark of validation rows.
std::string MarkFault();
// Returns the message for a value that is not a date. `format`: its date_format; empty or "auto":
// the usual forms.
std::string DateFault(const std::string& format);

}  // namespace espalier::data
