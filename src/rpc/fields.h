// Checks that convert*.cc applies to every field of an external message. The first error is kept.
// The value returned for a wrong field is harmless, so a caller can read a whole message and check
// status() once.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace espalier::rpc {

inline constexpr size_t kNameBytesMax = 4 << 10;   // names, versions, ids, addresses
inline constexpr size_t kTextBytesMax = 64 << 10;  // paths, labels, reasons
inline constexpr size_t kYamlBytesMax = 1 << 20;
inline constexpr size_t kRequestIdBytesMax = 256;
inline constexpr size_t kClientRequestIdBytesMax = 128;  // ids that clients send
inline constexpr int64_t kMembersMax = 10'000;
inline constexpr int64_t kListMax = 1'000'000;  // files, shards, columns, classes
inline constexpr int64_t kPositiveMax = std::numeric_limits<int64_t>::max();

class Fields {
 public:
  // `message` is the name of the message, for errors.
  explicit Fields(std::string_view message) : message_(message) {}

  const Status& status() const { return status_; }
  void Fail(std::string_view field, const std::string& found_and_expected);
  // Records the error of a nested part under the name of its field.
  void Take(std::string_view field, const Status& part);

  // Checks low <= value <= high.
  int64_t In(std::string_view field, int64_t value, int64_t low, int64_t high);
  int64_t NotNegative(std::string_view field, int64_t value) {
    return In(field, value, 0, kPositiveMax);
  }
  // Checks that a number that identifies something is not 0.
  uint64_t Id(std::string_view field, uint64_t value);
  double Finite(std::string_view field, double value);
  std::string Text(std::string_view field, const std::string& value, size_t bytes_max);
  // Checks a text for people. As Text, but without control characters (Printable), which could
  // change a terminal's display or add lines to a log.
  std::string Line(std::string_view field, const std::string& value, size_t bytes_max);
  // Returns false if a list is longer than allowed. The caller must then not read it.
  bool Few(std::string_view field, int64_t count, int64_t count_max);
  // Checks that a required message is present.
  bool Present(std::string_view field, bool present);

 private:
  std::string_view message_;
  Status status_;
};

// Returns the value of a Result in a field. On error records it and returns a default.
template <typename T>
T Part(Fields& fields, std::string_view field, Result<T> part) {
  if (part.ok()) return std::move(part).value();
  fields.Take(field, part.status());
  return T{};
}

// Returns `text` with every byte that is not part of valid UTF-8 replaced by U+FFFD, cut to about
// `bytes_max`.
std::string Utf8(std::string_view text, size_t bytes_max = kTextBytesMax);

}  // namespace espalier::rpc
