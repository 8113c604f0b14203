// A complete cluster on this machine for the duration of one command: one coordinator and N
// workers, as direct children that run the real programs. They listen on Unix sockets that only
// this user can access, so no other account of the machine reaches them. No part of the cluster
// outlives the command. The daemons have a parent-death signal. Logs, sockets and row stores are in
// a temporary directory that is removed at the end.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/cli/child_process.h"
#include "src/cli/command_directory.h"

namespace espalier::cli {

struct LocalClusterOptions {
  int workers = 1;
  int threads = 1;                  // compute threads of each worker
  int64_t memory_bytes_max = 0;     // memory for the rows of each worker; 0: its default
  std::string program_directory;    // contains espalier-coordinator and espalier-worker
  std::string temporary_directory;  // parent of the cluster's directory
};

// A daemon that ended unexpectedly.
struct DaemonDeath {
  std::string name;  // "the coordinator", "worker local-2"
  bool coordinator = false;
  std::string text;  // how it ended, and the end of its log; lines that end with '\n'
};

// Thread rule: KillAtOnce from any thread, all other methods from the main thread (see
// ChildProcess).
class LocalCluster {
 public:
  static constexpr int64_t kStopWaitMs = 3'000;
  static constexpr int64_t kFailedStopWaitMs = 1'000;  // after a failure, possibly of a worker
  static constexpr int64_t kHastyStopWaitMs = 2'000;

  explicit LocalCluster(LocalClusterOptions options) : options_(std::move(options)) {}
  ~LocalCluster();  // calls Stop
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  // Checks that the programs exist, without starting anything. kNotFound contains the searched
  // paths.
  Status CheckPrograms() const;

  // Starts the coordinator, waits until it listens, and starts the workers, which register by
  // themselves. Calls `interrupted` several times a second and returns kCancelled when it is true.
  // After an error, started processes run until Stop.
  Status Start(const std::function<bool()>& interrupted);

  // Returns the coordinator's address (config/address.h). REQUIRES: Start returned OK.
  const std::string& address() const { return address_; }

  // Returns the daemons that have died since the last call, the coordinator first. None after
  // KillAtOnce.
  std::vector<DaemonDeath> TakeDeaths();

  // Ends the workers, by SIGKILL after `worker_wait_ms`. Then ends the coordinator, which cancels
  // open jobs and removes their leftovers next to their outputs. Removes the temporary directory.
  void Stop(int64_t worker_wait_ms = kStopWaitMs);

  // Does the same within kHastyStopWaitMs, for a process that is about to end. Workers get SIGKILL
  // at once.
  void KillAtOnce();

 private:
  Status MakeDirectories();
  // Returns the address of the daemon with this name.
  std::string Socket(const std::string& name) const;
  Status StartCoordinator(const std::function<bool()>& interrupted);
  Status StartWorker(int number);
  Status AwaitAddress(int fd, const std::function<bool()>& interrupted);
  Status Adopt(ChildProcess::Options options);
  // Returns the daemons, the coordinator first. Only the main thread removes them.
  std::vector<ChildProcess*> DaemonsLocked() const REQUIRES(mutex_);
  std::vector<ChildProcess*> Daemons() const EXCLUDES(mutex_);
  std::string ProgramPath(const char* name) const;

  const LocalClusterOptions options_;
  CommandDirectory directory_;
  CommandDirectory short_directory_;  // of the sockets; not created if they fit in directory_
  std::string address_;
  mutable Mutex mutex_;  // guards the vector, not the daemons
  std::vector<std::unique_ptr<ChildProcess>> daemons_ GUARDED_BY(mutex_);  // coordinator first
  std::vector<bool> death_told_;
  std::atomic<bool> killing_{false};
};

}  // namespace espalier::cli
