// Submissions between a client's call and CoordinatorCore, while the coordinator reads their files.
//
// Reading may wait for storage, so it has separate threads, and every wait ends. The intake gives
// up on unreachable storage before the client gives up (PatienceOfIntake), and reports the reason.
// It drops a submission that was withdrawn, or whose callers have all gone. So no job starts whose
// submitter received a failure.
//
// Submissions of one caller take at most half of the threads and half of the places. So do
// submissions on one file system, and submissions of one caller on one file system take at most a
// quarter. An unreachable file system thus blocks neither jobs on others nor other callers. Each
// spelling of a file system's name counts separately. A caller counts by its name, or by its
// address if it has no name.
//
// Thread rule: all calls from the thread to which `post` brings calls. busy() is safe from any
// thread.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/base/thread_pool.h"
#include "src/cluster/coordinator_actions.h"
#include "src/rpc/coordinator_server.h"
#include "src/storage/file_systems.h"

namespace espalier::coordinator {

// With these limits, even the last of `reading_max` submissions that all wait for storage in vain
// gets its answer within ApiClientOptions::submit_timeout_ms.
struct IntakeLimits {
  int threads = 32;  // these mostly wait
  int reading_max = 128;
};

// Returns the file systems in a job's text, like "hdfs://host:8020", or "" if there is none. The
// text is searched and not parsed, so comments count.
std::set<std::string> FileSystemsNamed(const std::string& job_yaml);

// Returns the storage options for submissions, where a client waits for the answer.
storage::StorageOptions PatienceOfIntake(storage::StorageOptions storage);

class Intake {
 public:
  using Post = std::function<void(std::function<void()>)>;
  // Receives a submission that was read, and the callers that wait for its job.
  using Ready = std::function<void(cluster::Submission, std::vector<rpc::Done<JobId>>)>;

  // Calls `post` from any thread until the destructor returns. Calls `ready` only in posted calls.
  Intake(const storage::StorageOptions& storage, const IntakeLimits& limits, Post post,
         Ready ready);
  // Waits for the submissions being read.
  ~Intake();

  // Adds a submission of `by`, the owner of the job. If one of the same owner with the same id is
  // being read already, adds one more caller to it. Answers an invalid submission at once, and one
  // beyond a limit with kResourceExhausted.
  void Add(const cluster::Requester& by, spec::SubmitRequest request, rpc::CallerGone gone,
           rpc::Done<JobId> done);
  // Drops a submission with that id while it is being read, if the requester is its owner or an
  // admin.
  void Withdraw(const cluster::Requester& by, const std::string& client_request_id);
  // Drops submissions whose callers have all gone. Call it from time to time.
  void DropAbandoned();
  // Drops all submissions. Their callers get no answer from the intake.
  void Close();

  // Returns whether a thread is reading.
  bool busy() const { return reading_ > 0; }

 private:
  struct Caller {
    rpc::CallerGone gone;
    rpc::Done<JobId> done;
  };
  struct Reading {
    std::string owner;
    std::vector<Caller> callers;
    std::shared_ptr<std::atomic<bool>> dropped;  // ends the waits of the reading thread
  };
  // Submissions with a common limit: those of a caller, on a file system, or of a caller on a file
  // system. At least one is set.
  struct Group {
    std::optional<std::string> caller, file_system;
    auto operator<=>(const Group&) const = default;
    // Returns the share of this group in a number of threads or places.
    int Share(int all) const;
    std::string ToString() const;
  };
  // A submission that waits for a thread.
  struct Waiting {
    std::string owner;
    spec::SubmitRequest request;  // its id is the key
    std::vector<Group> groups;
    std::shared_ptr<std::atomic<bool>> dropped;
  };
  // Number of submissions in one group.
  struct Load {
    int taken = 0;    // waiting or being read
    int reading = 0;  // being read
  };
  static std::vector<Group> GroupsOf(const cluster::Requester& by, const std::string& job_yaml);
  Status CheckLimits(const std::vector<Group>& groups) const;
  void Drop(const std::string& key);
  void ReadNext();
  void GiveUpPlace(const Waiting& waiting);
  void Read(const Waiting& waiting);
  void End(const Waiting& read, Result<cluster::Submission> prepared);

  const storage::StorageOptions storage_;
  const IntakeLimits limits_;
  const Post post_;
  const Ready ready_;
  std::map<std::string, Reading> by_key_;  // RequestKey
  std::deque<Waiting> waiting_;
  std::map<Group, Load> loads_;
  std::atomic<int> reading_{0};  // includes waiting submissions and dropped ones still being read
  JobPool pool_;                 // last: its jobs refer to the members above
};

}  // namespace espalier::coordinator
