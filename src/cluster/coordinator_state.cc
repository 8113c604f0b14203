// CoordinatorCore: members whose states differ, and the state of a job that the coordinator gives
// up.
#include <utility>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"

namespace espalier::cluster {
void CoordinatorCore::Obey(Worker& worker, const StatesDiffer& message) {
  const Place at = Judge(worker, {message.job, message.generation}, "StatesDiffer");
  if (at.job == nullptr) return;
  JobRecord& job = *at.job;
  if (job.recovery.since_ms != 0) return;  // another member has reported it
  std::string who;
  std::vector<Worker*> wrong;
  for (int32_t m : message.members) {
    if (static_cast<size_t>(m) >= job.members.size()) {
      Blame(job, worker, FailedPrecondition("StatesDiffer names member " + std::to_string(m)));
      return;
    }
    Worker* w = FindWorker(job.members[static_cast<size_t>(m)].member.worker);
    if (w != nullptr && w->at == worker.at) {
      who += (who.empty() ? "" : ", ") + Label(*w);
      wrong.push_back(w);
    }
  }
  const std::string step = " before step " + std::to_string(message.step + 1);
  const std::string why = wrong.empty()
                              ? "the members' parameters differ" + step + ", and no majority agrees"
                              : who + " held other parameters than most members" + step +
                                    " (its memory may be faulty) and was taken out";
  Log(LogLevel::kError, ToString(job.snapshot.job) + ": " + why);
  for (Worker* w : wrong) {
    job.expelled.insert(w->id);
    Send(w->session, Release{options_.incarnation, w->at.job, {job.generations}, why});
    w->at = {};
    queue_moved_ = true;
  }
  job.reverts = true;
  MemberLost(job, why);
}

// Makes the most advanced survivor write the job state as a checkpoint. If it cannot, the next one
// writes it. Returns false while this is in progress. Members that have yet to revert write the
// state to which they revert. Members that agreed on it come before those that joined later. For
// members that do not revert, the time of joining does not matter: in asynchronous training, a late
// member may have the only new state.
bool CoordinatorCore::StateIsKept(JobRecord& job) {
  if (job.snapshot.training_ms == 0) return true;
  Keeping& k = job.keeping ? *job.keeping : job.keeping.emplace(Keeping{.since_ms = now_ms_});
  if (k.over) return true;
  const Worker* by = FindWorker(k.by);
  const bool late = now_ms_ - k.since_ms >= options_.keep_timeout_ms;
  if (by != nullptr && by->at.job == job.snapshot.job && !late) return false;
  const MemberState* next = nullptr;
  const auto rank = [&job](const MemberState& m) {
    return std::pair(!job.reverts || !m.joined, m.step);
  };
  for (const Worker* w : Survivors(job)) {
    const MemberState& m = job.members[w->place];
    const bool asked = !w->session || k.asked.contains(w->id);
    if (!asked && (next == nullptr || rank(m) > rank(*next))) next = &m;
  }
  if (next == nullptr || late) {
    k.over = true;
    Log(LogLevel::kWarning,
        ToString(job.snapshot.job) + ": no member could write its state" +
            (by != nullptr && late
                 ? ": " + Label(*by) + " has not done so for " + HumanDuration(now_ms_ - k.since_ms)
                 : ""));
    return true;
  }
  k.by = next->member.worker;
  k.asked.insert(k.by);
  Send(FindWorker(k.by)->session,
       KeepState{options_.incarnation, job.snapshot.job, job.snapshot.generation, job.reverts});
  return false;
}

void CoordinatorCore::Obey(Worker& worker, const StateKept& message) {
  const Place at = Judge(worker, {message.job, message.generation}, "StateKept");
  if (at.job == nullptr) return;
  if (!at.job->keeping || at.job->keeping->by != worker.id) {
    // An earlier life of this coordinator asked for the state. The member has stopped, and no other
    // part of the system knows that the job was to be given up.
    if (at.job->recovery.since_ms == 0 && !at.job->leaves.empty()) {
      MemberLost(*at.job, Label(worker) + " paused to keep the job's state");
    }
    return;
  }
  Keeping& k = *at.job->keeping;
  k.by = {};
  k.over = message.why.ok() && message.step > 0;
  if (k.over) k.path = message.path;
  queue_moved_ = true;
  Log(message.why.ok() ? LogLevel::kInfo : LogLevel::kWarning,
      ToString(message.job) + ": " + Label(worker) +
          (k.over ? " keeps step " + std::to_string(message.step) + " in " +
                        Printable(message.path, 300)
                  : " has no state to keep" +
                        (message.why.ok() ? "" : ": " + message.why.ToString())));
}

}  // namespace espalier::cluster
