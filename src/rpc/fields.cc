#include "src/rpc/fields.h"

#include <cmath>

#include "src/base/text.h"

namespace espalier::rpc {

void Fields::Fail(std::string_view field, const std::string& found_and_expected) {
  if (!status_.ok()) return;
  status_ = InvalidArgument("malformed " + std::string(message_) + ": " + std::string(field) + " " +
                            found_and_expected);
}

void Fields::Take(std::string_view field, const Status& part) {
  if (status_.ok()) {
    status_ = part.Wrap("malformed " + std::string(message_) + ": " + std::string(field));
  }
}

int64_t Fields::In(std::string_view field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return value;
  Fail(field, "is " + std::to_string(value) + ", expected " + std::to_string(low) +
                  (high == kPositiveMax ? " or more" : " to " + std::to_string(high)));
  return low;
}

uint64_t Fields::Id(std::string_view field, uint64_t value) {
  if (value == 0) Fail(field, "is 0, expected a number that names something");
  return value;
}

double Fields::Finite(std::string_view field, double value) {
  if (std::isfinite(value)) return value;
  Fail(field, "is " + ShortestDouble(value) + ", expected a finite number");
  return 0;
}

std::string Fields::Text(std::string_view field, const std::string& value, size_t bytes_max) {
  if (value.size() <= bytes_max) return value;
  Fail(field, "has " + std::to_string(value.size()) + " bytes, expected at most " +
                  std::to_string(bytes_max) + "; it starts with '" + Printable(value, 40) + "'");
  return {};
}

std::string Fields::Line(std::string_view field, const std::string& value, size_t bytes_max) {
  return Printable(Text(field, value, bytes_max), std::string::npos);
}

bool Fields::Few(std::string_view field, int64_t count, int64_t count_max) {
  if (count <= count_max) return true;
  Fail(field,
       "has " + std::to_string(count) + " entries, expected at most " + std::to_string(count_max));
  return false;
}

bool Fields::Present(std::string_view field, bool present) {
  if (!present) Fail(field, "is missing");
  return present;
}

std::string Utf8(std::string_view text, size_t bytes_max) {
  std::string out;
  out.reserve(std::min(text.size(), bytes_max));
  while (!text.empty()) {
    const size_t n = CharacterBytes(text);
    if (out.size() + (n == 0 ? 3 : n) > bytes_max) break;
    if (n == 0) {
      out += "\xef\xbf\xbd";
    } else {
      out += text.substr(0, n);
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

}  // namespace espalier::rpc
