// Errors as values. A Status is OK or an error with a code and a message that a user can act on. It
// may also hold the position in the input and the error that caused it. A Result<T> is a T or a
// Status. We throw no exceptions. The room that uses a library catches the library's exceptions at
// its edge.
//
// Thread rule: values, which share nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "src/base/check.h"

namespace espalier {

enum class StatusCode : uint8_t {
  kOk = 0,
  kInvalidArgument = 1,    // the spec, a flag or a call is wrong; nothing was started (exit code 2)
  kNotFound = 2,           // an expected file or id is missing
  kAlreadyExists = 3,      // an output that must not exist already exists
  kPermissionDenied = 4,   // the system or a peer refuses
  kBadInput = 5,           // the content of a data file is wrong; see `position`
  kDataLoss = 6,           // bytes have changed: a checksum differs, a file is truncated
  kResourceExhausted = 7,  // a limit was reached: memory, disk, message size, queue
  kUnavailable = 8,        // a peer cannot be reached (now)
  kDeadlineExceeded = 9,   // a wait timed out
  kFailedPrecondition = 10,  // the call does not fit the state (versions differ, job has ended)
  kCancelled = 11,           // a user or a shutdown requested the end
  kAborted = 12,             // the generation of this work is over
  kUnimplemented = 13,       // a known feature that is missing from this build
  kInternal = 14,            // our own fault
};

// Returns the field's (gRPC's) name: "INVALID_ARGUMENT" and so on.
const char* StatusCodeName(StatusCode code);

// The position of an error in an input file. Empty or absent members are unknown.
struct InputPosition {
  std::string file;
  // 1-based line at which the record starts, counting header and empty lines; Parquet: 1-based row.
  std::optional<int64_t> row;
  std::string column;             // header name, otherwise the 0-based position in decimal
  std::optional<int64_t> offset;  // byte offset of the record or field in the (decompressed) file
  std::string text;               // text found, shortened to 80 bytes and made printable

  bool operator==(const InputPosition&) const = default;
};

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  // REQUIRES: code is not kOk.
  Status(StatusCode code, std::string message);
  static Status Ok() { return {}; }

  bool ok() const { return rep_ == nullptr; }
  StatusCode code() const;
  // Returns the message of this error, without its causes.
  const std::string& message() const;
  const std::optional<InputPosition>& position() const;
  // Returns the error that caused this one, or OK if this is the first.
  const Status& cause() const;

  // Returns the same error with a position. Members missing from the new position keep their
  // existing values.
  Status At(InputPosition position) const;
  // Returns a new error with the same code and position, whose cause is this one.
  Status Wrap(std::string context) const;
  // Returns "context <- cause <- cause", with the position if known.
  std::string ToString() const;

 private:
  struct Rep;
  std::shared_ptr<const Rep> rep_;
};

// Constructors for the common codes: `return InvalidArgument("...")`.
inline Status InvalidArgument(std::string m) {
  return {StatusCode::kInvalidArgument, std::move(m)};
}
inline Status NotFound(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }
inline Status AlreadyExists(std::string m) { return {StatusCode::kAlreadyExists, std::move(m)}; }
inline Status PermissionDenied(std::string m) {
  return {StatusCode::kPermissionDenied, std::move(m)};
}
inline Status BadInput(std::string m) { return {StatusCode::kBadInput, std::move(m)}; }
inline Status DataLoss(std::string m) { return {StatusCode::kDataLoss, std::move(m)}; }
inline Status ResourceExhausted(std::string m) {
  return {StatusCode::kResourceExhausted, std::move(m)};
}
inline Status Unavailable(std::string m) { return {StatusCode::kUnavailable, std::move(m)}; }
inline Status DeadlineExceeded(std::string m) {
  return {StatusCode::kDeadlineExceeded, std::move(m)};
}
inline Status FailedPrecondition(std::string m) {
  return {StatusCode::kFailedPrecondition, std::move(m)};
}
inline Status Cancelled(std::string m) { return {StatusCode::kCancelled, std::move(m)}; }
inline Status Aborted(std::string m) { return {StatusCode::kAborted, std::move(m)}; }
inline Status Unimplemented(std::string m) { return {StatusCode::kUnimplemented, std::move(m)}; }
inline Status Internal(std::string m) { return {StatusCode::kInternal, std::move(m)}; }

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}        // NOLINT: implicit on purpose
  Result(Status status) : value_(std::move(status)) {  // NOLINT: implicit on purpose
    ESPALIER_CHECK(!std::get<Status>(value_).ok(), "a Result made of a Status needs an error");
  }
  template <typename U>
  requires std::is_convertible_v<U, T> &&
      (!std::is_same_v<std::decay_t<U>, Status>)&&(!std::is_same_v<std::decay_t<U>, T>)
          Result(U&& value)
      : value_(T(std::forward<U>(value))) {}  // NOLINT: implicit on purpose

  bool ok() const { return std::holds_alternative<T>(value_); }
  Status status() const { return ok() ? Status() : std::get<Status>(value_); }
  // REQUIRES: ok().
  T& value() & { return Checked(); }
  const T& value() const& { return const_cast<Result*>(this)->Checked(); }
  T&& value() && { return std::move(Checked()); }
  T& operator*() & { return Checked(); }
  const T& operator*() const& { return const_cast<Result*>(this)->Checked(); }
  T&& operator*() && { return std::move(Checked()); }
  T* operator->() { return &Checked(); }
  const T* operator->() const { return &const_cast<Result*>(this)->Checked(); }

 private:
  T& Checked() {
    ESPALIER_CHECK(ok(), std::get<Status>(value_).ToString());
    return std::get<T>(value_);
  }
  std::variant<T, Status> value_;
};

}  // namespace espalier

#define ESPALIER_CONCAT_(a, b) a##b
#define ESPALIER_CONCAT(a, b) ESPALIER_CONCAT_(a, b)

// Leaves the function with the error, if `expression` (a Status) is one.
#define ESPALIER_RETURN_IF_ERROR(expression)                                      \
  do {                                                                            \
    if (::espalier::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

// `ESPALIER_ASSIGN_OR_RETURN(auto x, F());` for F returning a Result.
#define ESPALIER_ASSIGN_OR_RETURN(declaration, expression) \
  auto ESPALIER_CONCAT(result_, __LINE__) = (expression);  \
  if (!ESPALIER_CONCAT(result_, __LINE__).ok())            \
    return ESPALIER_CONCAT(result_, __LINE__).status();    \
  declaration = std::move(ESPALIER_CONCAT(result_, __LINE__)).value()
