// WorkerCore: reports of the worker's threads, and their repetition after a reconnect.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "src/cluster/worker_core.h"

namespace espalier::cluster {
namespace {

// Returns the generation of a report. Hello, Heartbeat and Goodbye are not reports.
JobPoint PointOf(const FromWorker& message) {
  return std::visit(
      [](const auto& m) -> JobPoint {
        using T = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<T, Goodbye> || std::is_same_v<T, Hello> ||
                      std::is_same_v<T, Heartbeat> || std::is_same_v<T, Leaving> ||
                      std::is_same_v<T, TokenRefused>) {
          return {};
        } else {
          return {m.job, m.generation};
        }
      },
      message);
}

// Returns whether a message is of use only while it is new.
bool IsFleeting(const FromWorker& message) {
  return std::holds_alternative<ProfilingProgress>(message) ||
         std::holds_alternative<Progress>(message) || std::holds_alternative<Uneven>(message);
}

}  // namespace

void WorkerCore::On(const Report& event) {
  if (const auto* refused = std::get_if<TokenRefused>(&event.message)) {
    if (refused->job == at_.job && link_ == LinkState::kAttached) Send(event.message);
    return;
  }
  const JobPoint point = PointOf(event.message);
  const bool planned = planned_ && point == JobPoint{at_.job, planned_};
  if (planned && point != at_) {
    // Sent once. If it gets lost with the link, the coordinator makes a new plan.
    if (std::holds_alternative<Switched>(event.message)) {
      EnterGeneration(point);
      training_ = started_ = proceeds_ = true;
      self_ = planned_self_;
      Keep(event.message);
    }
    if (link_ == LinkState::kAttached) Send(event.message);
    return;
  }
  if (!point.job || FilterMessage(point, at_) != MessageDecision::kObey) return;
  if (const auto* part = std::get_if<ProfilePart>(&event.message)) {
    parts_.push_back(*part);
    if (parts_.size() == 1) SendPart();
    return;
  }
  if (std::holds_alternative<Switched>(event.message)) proceeds_ = true;  // a joiner has the state
  if (const auto* kept = std::get_if<StateKept>(&event.message)) kept_ = *kept;
  if (!IsFleeting(event.message)) Keep(event.message);
  if (link_ == LinkState::kAttached) Tell(event.message);
}

void WorkerCore::Tell(FromWorker message) {
  if (auto* row = std::get_if<HistoryEntry>(&message)) row->first = history_first_;
  Send(std::move(message));
}

void WorkerCore::SendPart() {
  if (link_ == LinkState::kAttached && !parts_.empty()) Send(parts_.front());
}

void WorkerCore::ForgetParts() {
  parts_.clear();
  shards_taken_ = 0;
}

// Keeps the first report of each kind, and all history rows.
void WorkerCore::Keep(const FromWorker& message) {
  const auto* history = std::get_if<HistoryEntry>(&message);
  const bool again = std::any_of(reports_.begin(), reports_.end(), [&](const FromWorker& kept) {
    return kept.index() == message.index();
  });
  if (again && history == nullptr) return;
  reports_.push_back(message);
  if (history == nullptr) return;
  if (history_reports_++ == 0) history_first_ = history->number;
  if (history_reports_ <= options_.history_reports_max) return;
  const auto oldest = std::find_if(reports_.begin(), reports_.end(), [](const auto& r) {
    return std::holds_alternative<HistoryEntry>(r);
  });
  reports_.erase(oldest);
  --history_reports_;
  ++history_first_;
}

}  // namespace espalier::cluster
