#include "src/base/status.h"

#include "src/base/text.h"

namespace espalier {
namespace {

constexpr size_t kPathShown = 1024;

}  // namespace

struct Status::Rep {
  StatusCode code;
  std::string message;
  std::optional<InputPosition> position;
  Status cause;
};

Status::Status(StatusCode code, std::string message)
    : rep_(std::make_shared<Rep>(Rep{code, std::move(message), {}, {}})) {
  ESPALIER_CHECK(code != StatusCode::kOk, "an error needs a code");
}

StatusCode Status::code() const { return ok() ? StatusCode::kOk : rep_->code; }

const char* StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case StatusCode::kBadInput:
      return "BAD_INPUT";
    case StatusCode::kDataLoss:
      return "DATA_LOSS";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kCancelled:
      return "CANCELLED";
    case StatusCode::kAborted:
      return "ABORTED";
    case StatusCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case StatusCode::kInternal:
      return "INTERNAL";
  }
  return "UNKNOWN";
}

const std::string& Status::message() const {
  static const std::string empty;
  return ok() ? empty : rep_->message;
}

const std::optional<InputPosition>& Status::position() const {
  static const std::optional<InputPosition> none;
  return ok() ? none : rep_->position;
}

const Status& Status::cause() const {
  static const Status none;
  return ok() ? none : rep_->cause;
}

Status Status::At(InputPosition position) const {
  if (ok()) return *this;
  if (rep_->position) {
    const InputPosition& old = *rep_->position;
    if (position.file.empty()) position.file = old.file;
    if (!position.row) position.row = old.row;
    if (position.column.empty()) position.column = old.column;
    if (!position.offset) position.offset = old.offset;
    if (position.text.empty()) position.text = old.text;
  }
  Status s;
  s.rep_ = std::make_shared<Rep>(Rep{rep_->code, rep_->message, std::move(position), rep_->cause});
  return s;
}

Status Status::Wrap(std::string context) const {
  if (ok()) return *this;
  Status s;
  s.rep_ = std::make_shared<Rep>(Rep{rep_->code, std::move(context), rep_->position, *this});
  return s;
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  std::string out;
  for (const Status* s = this; !s->ok(); s = &s->rep_->cause) {
    if (!out.empty()) out += " <- ";
    out += s->rep_->message;
  }
  if (const auto& p = rep_->position) {
    std::string where;
    const auto add = [&where](const std::string& part) {
      where += (where.empty() ? "" : ", ") + part;
    };
    if (!p->file.empty()) add(Printable(p->file, kPathShown));
    if (p->row) add("row " + std::to_string(*p->row));
    if (!p->column.empty()) add("column " + Printable(p->column));
    if (p->offset) add("byte offset " + std::to_string(*p->offset));
    if (!p->text.empty()) add("found '" + p->text + "'");
    out += " [" + where + "]";
  }
  return out;
}

}  // namespace espalier
