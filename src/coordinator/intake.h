// Submissions that are being read: between a client's call and CoordinatorCore.
//
// Reading may wait for storage, so it has threads of its own, and every wait has an end: storage
// that is away is given up before the client gives up (PatienceOfIntake), with its reason; and a
// submission whose callers have all gone away, or that was withdrawn, is dropped, so that no job
// starts of which its submitter was told that it failed.
//
// Submissions on one file system take at most half of the threads and half of the places, so an
// unreachable file system does not block jobs on others. Each spelling of a name counts separately.
//
// Thread rule: all calls from one thread, the one that `post` brings calls to; but busy() from any.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/base/thread_pool.h"
#include "src/cluster/coordinator_actions.h"
#include "src/rpc/coordinator_server.h"
#include "src/storage/file_systems.h"

namespace espalier::coordinator {

// The last of `reading_max` submissions that all wait for storage in vain still gets its answer
// within ApiClientOptions::submit_timeout_ms.
struct IntakeLimits {
  int threads = 32;  // they mostly wait
  int reading_max = 128;
};

// Returns the file systems in a job's text, like "hdfs://host:8020", or "" if there is none. The
// text is searched and not parsed, so comments count.
std::set<std::string> FileSystemsNamed(const std::string& job_yaml);

// Storage as it is to be read at submit: somebody is waiting for the answer.
storage::StorageOptions PatienceOfIntake(storage::StorageOptions storage);

class Intake {
 public:
  using Post = std::function<void(std::function<void()>)>;
  // Takes a submission that was read, and those who wait for its job.
  using Ready = std::function<void(cluster::Submission, std::vector<rpc::Done<JobId>>)>;

  // `post` is called from any thread until the destructor returns, `ready` only by posted calls.
  Intake(const storage::StorageOptions& storage, const IntakeLimits& limits, Post post,
         Ready ready);
  // Waits for what is being read.
  ~Intake();

  // One of the same owner that is being read already has one more caller. What cannot be a job is
  // answered here, and so is one too many: kResourceExhausted.
  void Add(const std::string& owner, spec::SubmitRequest request, rpc::CallerGone gone,
           rpc::Done<JobId> done);
  // Nothing comes of a submission of that id that is being read, if it is the requester's own or
  // the requester is an admin.
  void Withdraw(const cluster::Requester& by, const std::string& client_request_id);
  // Withdraws what nobody waits for any more. To be called every now and then.
  void DropAbandoned();
  // Drops everything; its callers get no answer from here.
  void Close();

  // Whether a thread is reading.
  bool busy() const { return reading_ > 0; }

 private:
  struct Caller {
    rpc::CallerGone gone;
    rpc::Done<JobId> done;
  };
  struct Reading {
    std::string owner;
    std::vector<Caller> callers;
    std::shared_ptr<std::atomic<bool>> dropped;  // ends the waits of who reads it
  };
  // Submission that waits for a thread.
  struct Waiting {
    std::string owner;
    spec::SubmitRequest request;  // its id is the key
    std::set<std::string> file_systems;
    std::shared_ptr<std::atomic<bool>> dropped;
  };
  // Submissions on one file system.
  struct Load {
    int taken = 0;    // waiting or being read
    int reading = 0;  // being read
  };
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
  std::map<std::string, Load> by_file_system_;
  std::atomic<int> reading_{0};  // with those that wait, and those dropped that have not ended
  JobPool pool_;                 // last: its jobs refer to what stands above
};

}  // namespace espalier::coordinator
