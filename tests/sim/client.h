// A client that submits jobs until they are acknowledged, and polls them until they have ended.
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

  // Submits a job. `replaces`: its output is that of the previous job.
  void Submit(int kind, int64_t workers_min, int64_t workers_max, bool replaces = false);
  void Replied(const cluster::Reply& reply);
  // Cancels one open job.
  void CancelOne();
  // A member of the job sent a false report. The job may fail, and its history may be wrong.
  void LiedTo(JobId job) { lied_to_.insert(job); }
  bool HasEnded(const std::string& job_yaml) const;
  // Polls open jobs. Submits jobs again that were not acknowledged or were lost.
  void Poll();
  // Returns the number of jobs that have not ended.
  int64_t open() const;
  int64_t submitted() const { return static_cast<int64_t>(jobs_.size()); }
  int64_t ended_by_a_limit() const;
  // Returns how long job `i` waited for its workers. Returns nothing if it still waits.
  std::optional<int64_t> WaitedMs(size_t i) const;
  JobId id(size_t i) const { return jobs_[i].id; }
  // Returns an empty text if each job ended correctly, or what is wrong.
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
