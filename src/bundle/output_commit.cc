#include "src/bundle/output_commit.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace espalier::bundle {
namespace {

// Limit of inspections. If the output changes more often during a commit, another program is using
// it.
constexpr int kInspectionsMax = 4;

bool IsOneOf(const Status& status, std::initializer_list<StatusCode> codes) {
  return std::find(codes.begin(), codes.end(), status.code()) != codes.end();
}

Status Superseded(const WriterName& self) {
  return Aborted(ToString(self.job) + " has ended or continues in a later generation than " +
                 std::to_string(self.generation.value) +
                 ", or another job has taken over the output");
}

}  // namespace

const char* OutputOpName(OutputOp op) {
  switch (op) {
    case OutputOp::kList:
      return "list";
    case OutputOp::kFence:
      return "fence";
    case OutputOp::kRestore:
      return "restore";
    case OutputOp::kRemoveFenced:
      return "remove fenced";
    case OutputOp::kRemoveDraft:
      return "remove draft";
    case OutputOp::kInspect:
      return "inspect";
    case OutputOp::kWriteDraft:
      return "write draft";
    case OutputOp::kFill:
      return "fill";
    case OutputOp::kPut:
      return "put";
    case OutputOp::kExchange:
      return "exchange";
    case OutputOp::kSetAside:
      return "set aside";
    case OutputOp::kPutBack:
      return "put back";
    case OutputOp::kRemoveSlot:
      return "remove slot";
  }
  return "?";
}

bool IsCleaning(OutputOp op) {
  return op == OutputOp::kPutBack || op == OutputOp::kRemoveDraft || op == OutputOp::kRemoveSlot ||
         op == OutputOp::kRestore || op == OutputOp::kRemoveFenced;
}

// ---- sweep -----------------------------------------------------------------------------------

void OutputSweep::Plan(std::vector<OutputLeftover> leftovers) {
  using Kind = OutputLeftover::Kind;
  const auto key = [](const OutputLeftover& l) {
    return std::tuple(l.kind, l.writer.job, l.writer.generation, l.writer.member);
  };
  std::sort(leftovers.begin(), leftovers.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  for (const OutputLeftover& l : leftovers) {
    if (!stale_(l.writer)) continue;
    if (l.kind == Kind::kDraft) {
      todo_.push_back({OutputOp::kRemoveDraft, l.writer});
      continue;
    }
    if (l.kind == Kind::kSlot) todo_.push_back({OutputOp::kFence, l.writer});
    todo_.push_back({OutputOp::kRestore, l.writer});
    todo_.push_back({OutputOp::kRemoveFenced, l.writer});
  }
}

std::optional<OutputAction> OutputSweep::Next(const OutputResult& last) {
  const Status& s = last.status;
  if (!last_) {
    last_ = OutputAction{OutputOp::kList, {}};
    return last_;
  }
  switch (last_->op) {
    case OutputOp::kList:
      if (s.ok()) Plan(last.leftovers);
      if (!s.ok() && s.code() != StatusCode::kNotFound) status_ = s;
      break;
    case OutputOp::kFence:
      // kNotFound: its writer has removed it, or another sweep has fenced it.
      if (s.code() != StatusCode::kNotFound) status_ = s;
      break;
    case OutputOp::kRestore:  // kNotFound: nothing was set aside; kAlreadyExists: it was replaced
      if (!IsOneOf(s, {StatusCode::kNotFound, StatusCode::kAlreadyExists})) status_ = s;
      break;
    default:  // leftovers are harmless; a later sweep tries again
      break;
  }
  if (!status_.ok() || todo_.empty()) return std::nullopt;
  last_ = todo_.front();
  todo_.pop_front();
  return last_;
}

// ---- commit ----------------------------------------------------------------------------------

OutputCommit::OutputCommit(WriterName self)
    : self_(self),
      sweep_([self](const WriterName& other) { return self.Supersedes(other) && other != self; }) {}

std::optional<OutputAction> OutputCommit::Do(OutputOp op) {
  last_ = op;
  return OutputAction{op, self_};
}

std::optional<OutputAction> OutputCommit::Next(const OutputResult& last) {
  if (stage_ == Stage::kSweeping) {
    if (auto action = sweep_.Next(last)) return action;
    if (!sweep_.status().ok()) return End(sweep_.status());
    stage_ = Stage::kCommitting;
    return Do(OutputOp::kInspect);
  }
  if (stage_ == Stage::kCleaning) {
    if (!std::exchange(remove_slot_, false)) return std::nullopt;
    return Do(OutputOp::kRemoveSlot);
  }
  const Status& s = last.status;
  switch (last_) {
    case OutputOp::kInspect:
      return Inspected(last);
    case OutputOp::kWriteDraft:
      // kNotFound: another writer fenced the slot and removed the draft.
      if (s.code() == StatusCode::kNotFound) return End(Superseded(self_));
      return s.ok() ? Do(OutputOp::kFill) : End(s);
    case OutputOp::kFill:
      if (!s.ok()) return End(s.code() == StatusCode::kNotFound ? Superseded(self_) : s);
      drafted_ = false;
      filled_ = true;
      --inspections_;
      return Do(OutputOp::kInspect);  // writing a draft can take minutes
    case OutputOp::kExchange:
      if (s.code() == StatusCode::kUnimplemented) {
        swaps_ = false;
        return Do(OutputOp::kSetAside);
      }
      return Check(s);
    case OutputOp::kSetAside:
      // With any other answer, the rename may have happened.
      aside_ = !IsOneOf(
          s, {StatusCode::kNotFound, StatusCode::kAlreadyExists, StatusCode::kPermissionDenied});
      return s.ok() ? Do(OutputOp::kPut) : Check(s);
    case OutputOp::kPut:
      return Check(s);
    case OutputOp::kPutBack:
      // kNotFound: the slot was fenced and the old bundle moved back, or the slot never contained
      // it.
      if (s.ok() || s.code() == StatusCode::kNotFound) aside_ = false;
      return End(problem_);
    default:
      return End(Internal("an output commit performed " + std::string(OutputOpName(last_))));
  }
}

// Reads the output again after each attempt, because a network may have lost the answer.
std::optional<OutputAction> OutputCommit::Check(const Status& attempt) {
  put_ = attempt.ok();
  problem_ = attempt;
  return Do(OutputOp::kInspect);
}

std::optional<OutputAction> OutputCommit::Inspected(const OutputResult& last) {
  const bool read = last.status.ok();
  if (put_ || (read && last.content == OutputContent::kDone)) {
    aside_ = false;  // replaced permanently; removed with the slot
    if (!read) return End(Status::Ok());
    return End(last.content == OutputContent::kDone ? Status::Ok() : Superseded(self_));
  }
  const bool newer = read && last.content == OutputContent::kNewer;
  // The output may have changed since it was read. It is read again, and the attempt is repeated.
  const bool again =
      problem_.ok() || IsOneOf(problem_, {StatusCode::kAlreadyExists, StatusCode::kNotFound});
  if (read && !newer && again && !aside_ && ++inspections_ <= kInspectionsMax) {
    content_ = last.content;
    if (filled_) return Place();
    drafted_ = true;
    return Do(OutputOp::kWriteDraft);
  }
  if (problem_.ok()) problem_ = last.status;
  if (newer || problem_.code() == StatusCode::kNotFound) problem_ = Superseded(self_);
  return aside_ ? Do(OutputOp::kPutBack) : End(problem_);
}

std::optional<OutputAction> OutputCommit::Place() {
  if (content_ == OutputContent::kNothing) return Do(OutputOp::kPut);
  return Do(swaps_ ? OutputOp::kExchange : OutputOp::kSetAside);
}

std::optional<OutputAction> OutputCommit::End(Status status) {
  status_ = std::move(status);
  stage_ = Stage::kCleaning;
  remove_slot_ = true;
  if (std::exchange(drafted_, false)) return Do(OutputOp::kRemoveDraft);
  return Next({});
}

}  // namespace espalier::bundle
