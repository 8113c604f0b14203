// The one who submits jobs and waits for them: again and again, until they are acknowledged and
// ended.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/cluster/coordinator_actions.h"
#include "src/cluster/coordinator_core.h"

namespace espalier::sim {

class World;

class Client {
 public:
  explicit Client(World& world) : world_(world) {}

  // `replaces`: the output is that of the job before.
  void Submit(int kind, int64_t workers_min, int64_t workers_max, bool replaces = false);
  void Replied(const cluster::Reply& reply);
  // Asks for the end of a job that is open.
  void CancelOne();
  // A member of the job lied: the job may fail, and its history may be wrong.
  void LiedTo(JobId job) { lied_to_.insert(job); }
  bool HasEnded(const std::string& job_yaml) const;
  // Asks for what is open, and submits again what was not acknowledged, or was forgotten.
  void Poll();
  // Not ended yet.
  int64_t open() const;
  int64_t submitted() const { return static_cast<int64_t>(jobs_.size()); }
  int64_t ended_by_a_limit() const;
  // How long job `i` waited for its workers; none: it still does.
  std::optional<int64_t> WaitedMs(size_t i) const;
  JobId id(size_t i) const { return jobs_[i].id; }
  // Each job ended, rightly; else what is wrong.
  std::string Verdict() const;

 private:
  struct Job {
    cluster::Submission submission;
    int kind = 0;
    bool acknowledged = false, ended = false, by_a_limit = false;
    bool cancel_asked = false;
    std::string wrong;
    spec::JobState state = spec::JobState::kQueued;
    JobId id;
    int64_t submitted_ms = 0, started_ms = 0;
    std::string waiting;
  };
  void Learn(Job& job, const cluster::CoordinatorCore& core, JobId id);

  World& world_;
  std::vector<Job> jobs_;
  std::set<JobId> lied_to_;
  void CancelReplied(Job& job, const cluster::Reply& reply);

  struct Request {
    size_t job = 0;
    bool cancels = false;
  };
  std::map<cluster::RequestId, Request> requests_;
};

}  // namespace espalier::sim
