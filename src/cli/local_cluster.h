// A whole cluster on this machine for the time of one command: one coordinator and N workers, the
// real programs, as direct children. They listen on Unix sockets that are this user's alone: no
// other account of the machine reaches them. Nothing of it outlives the command: the daemons carry
// a parent-death signal, and logs, sockets and row stores lie in a temporary directory that is
// removed at the end.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/cli/child_process.h"
#include "src/cli/command_directory.h"

namespace espalier::cli {

struct LocalClusterOptions {
  int workers = 1;
  int threads = 1;                  // compute threads a worker
  int64_t memory_bytes_max = 0;     // for the rows of a worker; 0: its own default
  std::string program_directory;    // where espalier-coordinator and espalier-worker lie
  std::string temporary_directory;  // where ours is made
};

// A daemon that ended though nobody asked it to.
struct DaemonDeath {
  std::string name;  // "the coordinator", "worker local-2"
  bool coordinator = false;
  std::string text;  // how it ended, and the last lines of its log; several lines, ended by '\n'
};

// Thread rule: KillAtOnce from any thread, all else from the main thread (see ChildProcess).
class LocalCluster {
 public:
  static constexpr int64_t kStopWaitMs = 3'000;
  static constexpr int64_t kFailedStopWaitMs = 1'000;  // after a failure, which may be a worker's

  explicit LocalCluster(LocalClusterOptions options) : options_(std::move(options)) {}
  ~LocalCluster();  // as Stop
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  // kNotFound when the programs are not there, naming the paths that were looked for. Does nothing
  // but look.
  Status CheckPrograms() const;

  // Starts the coordinator, waits until it listens, starts the workers (which register by
  // themselves). Looks at `interrupted` several times a second: then kCancelled. On any error what
  // was started lives on until Stop.
  Status Start(const std::function<bool()>& interrupted);

  // Of the coordinator (config/address.h). REQUIRES: Start was OK.
  const std::string& address() const { return address_; }

  // The daemons that have died since the last call, the coordinator first.
  std::vector<DaemonDeath> TakeDeaths();

  // SIGTERM, a little patience with the workers, SIGKILL; then the temporary directory goes.
  void Stop(int64_t worker_wait_ms = kStopWaitMs);

  // SIGKILL and removal, for a process that is about to end.
  void KillAtOnce();

 private:
  Status MakeDirectories();
  // The address of the daemon of that name.
  std::string Socket(const std::string& name) const;
  Status StartCoordinator(const std::function<bool()>& interrupted);
  Status StartWorker(int number);
  Status AwaitAddress(int fd, const std::function<bool()>& interrupted);
  Status Adopt(ChildProcess::Options options);
  std::string ProgramPath(const char* name) const;

  const LocalClusterOptions options_;
  CommandDirectory directory_;
  CommandDirectory short_directory_;  // of the sockets; not made when they are in directory_
  std::string address_;
  std::mutex mutex_;                                    // guards daemons_ (the vector)
  std::vector<std::unique_ptr<ChildProcess>> daemons_;  // the coordinator first
  std::vector<bool> death_told_;
};

}  // namespace espalier::cli
