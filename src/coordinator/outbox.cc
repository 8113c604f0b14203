#include "src/coordinator/outbox.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/base/log.h"

namespace espalier::coordinator {
namespace {

constexpr auto kRetryInterval = std::chrono::seconds(1);
constexpr auto kAskInterval = std::chrono::seconds(2);  // within a worker's liveness limit
constexpr int64_t kEntriesWaitingMax = 1'000'000;

// Returns the job of an order to a worker.
JobId JobOf(const cluster::ToWorker& message) {
  return std::visit(
      [](const auto& m) {
        if constexpr (requires { m.job; }) {
          return m.job;
        } else {
          return JobId{};
        }
      },
      message);
}

// Returns whether a step has no actions that wait for their turn. Log lines do not wait.
bool IsNothing(const cluster::CoordinatorActions& a) {
  return a.send.empty() && a.close.empty() && a.reply.empty() && a.drained.empty() &&
         a.notify.empty() && a.work.empty() && a.fence.empty() && a.check.empty() &&
         a.clear.empty() && a.tokens.empty();
}

bool IsPulse(const cluster::SendToWorker& send) {
  return std::holds_alternative<cluster::Pulse>(send.message);
}

// A client takes kUnavailable to mean that the coordinator is unreachable.
Status NoNewJobs(const Status& why) {
  const bool full = why.code() == StatusCode::kResourceExhausted;
  return {full ? StatusCode::kResourceExhausted : StatusCode::kAborted,
          "no new job is accepted: the coordinator's journal cannot be written: " + why.ToString()};
}

// Moves the items out of `all` that depend on no journal entry.
template <typename T, typename F>
std::vector<T> TakeHarmless(std::vector<T>& all, F is_harmless) {
  const auto first = std::stable_partition(all.begin(), all.end(),
                                           [&](const T& one) { return !is_harmless(one); });
  std::vector<T> harmless(std::make_move_iterator(first), std::make_move_iterator(all.end()));
  all.erase(first, all.end());
  return harmless;
}

}  // namespace

Outbox::Outbox(std::unique_ptr<Journal> journal, OutboxHooks hooks)
    : journal_(std::move(journal)), hooks_(std::move(hooks)), durable_(journal_->durable()) {
  if (durable_) thread_ = std::thread([this] { Write(); });
}

Outbox::~Outbox() {
  queue_.Close();
  if (thread_.joinable()) thread_.join();
  while (calls_->TryPop()) {
  }
}

void Outbox::Push(cluster::CoordinatorActions actions) {
  if (closed_) return;
  std::vector<cluster::JournalEntry> entries = std::exchange(actions.persist, {});
  if (!durable_ || (entries.empty() && waiting_.empty())) {
    hooks_.perform(std::move(actions));
    return;
  }
  cluster::CoordinatorActions at_once;
  at_once.send = TakeHarmless(actions.send, IsPulse);
  at_once.notify = TakeHarmless(actions.notify, [](const auto& n) { return n.progress_only; });
  if (!at_once.send.empty() || !at_once.notify.empty()) hooks_.perform(std::move(at_once));
  // A disk may be unavailable for a night, with heartbeats all the time.
  if (entries.empty() && IsNothing(actions)) return;
  const auto count = static_cast<int64_t>(entries.size());
  const uint64_t ticket = count == 0 ? 0 : next_ticket_++;
  waiting_.push_back({ticket, count, std::move(actions)});
  if (count == 0) return;
  queue_.Push({ticket, false, std::move(entries)});
  entries_waiting_ += count;
  if (entries_waiting_ <= kEntriesWaitingMax) return;
  hooks_.fail(ResourceExhausted(
      std::to_string(entries_waiting_) +
      " entries wait for the journal, which cannot be written: " + room_.ToString()));
}

void Outbox::Rewrite(std::vector<cluster::JournalEntry> entries) {
  wants_rewrite_ = false;
  if (durable_ && !closed_) queue_.Push({0, true, std::move(entries)});
}

// Performs all actions up to the batch of this ticket, and the ones behind it that waited only for
// their turn.
void Outbox::Free(uint64_t ticket, bool wants_rewrite) {
  wants_rewrite_ = wants_rewrite;
  while (!waiting_.empty() && waiting_.front().ticket <= ticket) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    entries_waiting_ -= next.entries;
    hooks_.perform(std::move(next.actions));
  }
}

void Outbox::Undo(JobId job, const Status& why) {
  for (Waiting& w : waiting_) {
    for (cluster::Reply& reply : w.actions.reply) {
      if (reply.result.ok() && *reply.result == job) reply.result = why;
    }
    std::erase_if(w.actions.send, [&](const auto& s) { return JobOf(s.message) == job; });
    std::erase_if(w.actions.work, [&](const auto& m) { return m.job == job; });
    std::erase_if(w.actions.fence, [&](const auto& f) { return f.job == job; });
    std::erase_if(w.actions.check, [&](const auto& c) { return c.job == job; });
    std::erase_if(w.actions.clear, [&](const auto& c) { return c.job == job; });
    std::erase_if(w.actions.tokens, [&](const auto& t) { return t.job == job; });
  }
  hooks_.refuse(job, why);
}

void Outbox::Close(int64_t limit_ms) {
  if (std::exchange(closed_, true) || !durable_) return;
  queue_.Close();
  busy_ = !ended_.PopFor(std::chrono::milliseconds(limit_ms)).has_value();
  while (auto call = calls_->TryPop()) (*call)();
}

// ---- the writing thread ----------------------------------------------------------------------

void Outbox::Tell(std::function<void()> call) {
  calls_->Push(std::move(call));
  hooks_.post([calls = calls_] {
    if (auto next = calls->TryPop()) (*next)();
  });
}

void Outbox::TellRoom(Status room) {
  if (!room.ok()) room = NoNewJobs(room);
  if (room.ToString() == room_told_) return;
  room_told_ = room.ToString();
  room.ok() ? LogInfo("the journal has room again") : LogWarning(room_told_);
  Tell([this, room = std::move(room)] { room_ = room; });
}

void Outbox::Write() {
  for (bool more = true; more && !failed_;) {
    more = TakeBatches();
    const bool idle = batches_.empty();
    const Status written = idle ? AskWhose() : WriteAll();
    if (!failed_) TellRoom(written.ok() ? journal_->SetReserveAside() : written);
  }
  ended_.Push(true);
}

bool Outbox::TakeBatches() {
  std::optional<Batch> batch = queue_.PopFor(kRetryInterval);
  for (; batch; batch = queue_.TryPop()) batches_.push_back(std::move(*batch));
  return !queue_.closed();
}

// A coordinator with nothing to write would otherwise keep its workers from a newer one.
Status Outbox::AskWhose() {
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_ < kAskInterval) return Status::Ok();
  asked_ = now;
  const Status ours = journal_->CheckOurs();
  if (ours.code() == StatusCode::kAborted) Replaced(ours);
  return Status::Ok();
}

void Outbox::Replaced(const Status& why) {
  failed_ = true;
  Tell([this, why] { hooks_.fail(why); });
}

Status Outbox::WriteAll() {
  while (!batches_.empty()) {
    const Status written = WriteGroup();
    if (written.ok()) continue;
    if (written.code() == StatusCode::kAborted) {
      Replaced(written);
      return written;
    }
    if (batches_.front().rewrite) {
      LogWarning("the journal could not be made shorter: " + written.ToString());
      batches_.pop_front();
      continue;
    }
    if (RefuseJobs(written)) continue;
    if (written.code() == StatusCode::kResourceExhausted && journal_->GiveBackReserve()) continue;
    return written;
  }
  return Status::Ok();
}

// Writes one rewrite, or all batches up to the next rewrite.
Status Outbox::WriteGroup() {
  LeaveOutRefused(batches_.front());
  if (batches_.front().rewrite) {
    ESPALIER_RETURN_IF_ERROR(journal_->Rewrite(batches_.front().entries));
    batches_.pop_front();
    return Status::Ok();
  }
  std::vector<cluster::JournalEntry> entries;
  size_t count = 0;
  for (; count < batches_.size() && !batches_[count].rewrite; ++count) {
    LeaveOutRefused(batches_[count]);
    const auto& more = batches_[count].entries;
    entries.insert(entries.end(), more.begin(), more.end());
  }
  if (!entries.empty()) ESPALIER_RETURN_IF_ERROR(journal_->Append(entries));
  const uint64_t ticket = batches_[count - 1].ticket;
  batches_.erase(batches_.begin(), batches_.begin() + static_cast<int64_t>(count));
  Tell([this, ticket, wants = journal_->wants_rewrite()] { Free(ticket, wants); });
  return Status::Ok();
}

bool Outbox::RefuseJobs(const Status& why) {
  bool any = false;
  for (const Batch& batch : batches_) {
    for (const cluster::JournalEntry& entry : batch.entries) {
      const auto* accepted = std::get_if<cluster::JobAccepted>(&entry);
      if (accepted == nullptr || batch.rewrite || !refused_.insert(accepted->job).second) continue;
      any = true;
      Tell([this, job = accepted->job, why = NoNewJobs(why)] { Undo(job, why); });
    }
  }
  return any;
}

// Removes the entries of refused jobs, except those that mark a number as used.
void Outbox::LeaveOutRefused(Batch& batch) const {
  if (refused_.empty()) return;
  std::erase_if(batch.entries, [&](const cluster::JournalEntry& entry) {
    return !std::holds_alternative<cluster::JobForgotten>(entry) && refused_.contains(JobOf(entry));
  });
}

}  // namespace espalier::coordinator
