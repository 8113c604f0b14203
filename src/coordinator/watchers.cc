#include "src/coordinator/watchers.h"

#include <utility>

namespace espalier::coordinator {

void Watchers::Add(JobId job, std::shared_ptr<rpc::WatchSink> sink) {
  if (!core_->Job(job)) {
    sink->Close(NotFound(ToString(job) + " does not exist. Run `espalier list` to see the jobs."));
    return;
  }
  if (Count() >= watchers_max_) {
    sink->Close(ResourceExhausted(std::to_string(watchers_max_) +
                                  " clients watch already, the limit of this coordinator"));
    return;
  }
  // Sends only to the new watcher, because the others are up to date.
  std::vector<Watcher> others = std::exchange(watchers_[job], {});
  watchers_[job].push_back({std::move(sink)});
  if (!IsOver(job)) Tell(job);
  if (others.empty()) return;
  std::vector<Watcher>& all = watchers_[job];
  all.insert(all.begin(), others.begin(), others.end());
}

// Returns the number of watchers, after removing those that have gone.
int64_t Watchers::Count() {
  int64_t count = 0;
  for (auto& [job, watchers] : watchers_) {
    std::erase_if(watchers, [](const Watcher& w) { return w.sink->cancelled(); });
    count += static_cast<int64_t>(watchers.size());
  }
  return count;
}

void Watchers::Notify(const std::vector<cluster::JobChanged>& changes) {
  std::set<JobId> now;
  for (const cluster::JobChanged& change : changes) {
    if (!watchers_.contains(change.job)) continue;
    if (IsOver(change.job) && !change.over) continue;  // its own change reports the end
    (change.progress_only ? moved_ : now).insert(change.job);
  }
  for (JobId job : now) Tell(job);
}

void Watchers::FlushProgress() {
  for (JobId job : std::exchange(moved_, {})) {
    if (!IsOver(job)) Tell(job);
  }
}

bool Watchers::IsOver(JobId job) const {
  const auto snapshot = core_->Job(job);
  return snapshot && spec::IsFinal(snapshot->state);
}

void Watchers::Tell(JobId job) {
  moved_.erase(job);
  const auto it = watchers_.find(job);
  if (it == watchers_.end()) return;
  std::vector<Watcher>& watchers = it->second;
  std::erase_if(watchers, [](const Watcher& w) { return w.sink->cancelled(); });
  const auto snapshot = core_->Job(job);
  const int64_t end = core_->HistoryEnd(job);
  for (Watcher& w : watchers) {
    if (snapshot) w.sink->Send({*snapshot, core_->History(job, w.history_sent)});
    w.history_sent = end;
    if (!snapshot) w.sink->Close(NotFound(ToString(job) + " ended and was forgotten"));
    if (snapshot && spec::IsFinal(snapshot->state)) w.sink->Close(Status::Ok());
  }
  const bool over = !snapshot || spec::IsFinal(snapshot->state);
  if (over || watchers.empty()) watchers_.erase(it);
}

void Watchers::CloseAll(const Status& why) {
  for (auto& [job, watchers] : std::exchange(watchers_, {})) {
    for (Watcher& w : watchers) w.sink->Close(why);
  }
}

}  // namespace espalier::coordinator
