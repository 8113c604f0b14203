#include "src/cli/local_cluster.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <span>

#include "src/base/text.h"
#include "src/cli/cores.h"
#include "src/config/address.h"

namespace espalier::cli {
namespace {

constexpr const char* kCoordinatorProgram = "espalier-coordinator";
constexpr const char* kWorkerProgram = "espalier-worker";
constexpr int64_t kListenWaitMs = 20'000;
// Longer than the coordinator's own limits for its end and for the removal of leftovers.
constexpr int64_t kCoordinatorStopWaitMs = 15'000;
constexpr int64_t kKilledWaitMs = 1'000;
constexpr int kPollMs = 50;
constexpr int kLogTailLines = 12;
// Parent directory of the sockets if TMPDIR is too long (YARN containers), because sockets need
// short, plain paths.
constexpr const char* kShortParent = "/tmp";
constexpr const char* kSocketSuffix = ".socket";
constexpr size_t kSocketNameBytesMax = 24;  // "/coordinator.socket", "/local-10000.socket"

// Sends SIGTERM. A stopped process (SIGSTOP, a debugger) handles it only after SIGCONT.
void Terminate(const ChildProcess& daemon) {
  daemon.Signal(SIGTERM);
  daemon.Signal(SIGCONT);
}

// Waits until all of the daemons have ended, at most `ms` milliseconds.
void AwaitEnd(std::span<ChildProcess* const> daemons, int64_t ms) {
  const auto ended = [](const ChildProcess* daemon) { return daemon->Ended(); };
  for (int64_t waited_ms = 0; waited_ms < ms && !std::all_of(daemons.begin(), daemons.end(), ended);
       waited_ms += 5) {
    poll(nullptr, 0, 5);
  }
}

// Kills the remaining workers, so that none of them writes next to an output after the coordinator
// has removed the leftovers there. Then ends the coordinator.
void EndRest(std::span<ChildProcess* const> daemons, int64_t coordinator_wait_ms) {
  if (daemons.empty()) return;
  for (const ChildProcess* worker : daemons.subspan(1)) worker->Signal(SIGKILL);
  AwaitEnd(daemons.subspan(1), kKilledWaitMs);
  Terminate(*daemons[0]);
  AwaitEnd(daemons.first(1), coordinator_wait_ms);
  daemons[0]->Signal(SIGKILL);
}

}  // namespace

LocalCluster::~LocalCluster() { Stop(); }

std::string LocalCluster::ProgramPath(const char* name) const {
  return options_.program_directory + "/" + name;
}

Status LocalCluster::CheckPrograms() const {
  for (const char* name : {kCoordinatorProgram, kWorkerProgram}) {
    if (access(ProgramPath(name).c_str(), X_OK) != 0) {
      return NotFound("looked for the program " + ProgramPath(name) + ": " + std::strerror(errno) +
                      ". " + kCoordinatorProgram + " and " + kWorkerProgram +
                      " must be next to espalier; ./tools/build puts all three into build/bin/");
    }
  }
  return Status::Ok();
}

Status LocalCluster::Start(const std::function<bool()>& interrupted) {
  ESPALIER_RETURN_IF_ERROR(CheckPrograms());
  ESPALIER_RETURN_IF_ERROR(MakeDirectories());
  ESPALIER_RETURN_IF_ERROR(StartCoordinator(interrupted));
  for (int number = 1; number <= options_.workers; ++number) {
    ESPALIER_RETURN_IF_ERROR(StartWorker(number));
  }
  return Status::Ok();
}

Status LocalCluster::MakeDirectories() {
  const std::string& parent = options_.temporary_directory;
  const std::string longest(CommandDirectory::kNameBytes + kSocketNameBytesMax - 1, 'x');
  const bool fits = config::ParseAddress("unix:" + parent + "/" + longest).ok();
  CommandDirectory::RemoveOrphans(parent);
  if (!fits) CommandDirectory::RemoveOrphans(kShortParent);
  MutexLock lock(mutex_);
  ESPALIER_RETURN_IF_ERROR(directory_.Make(parent));
  if (fits) return Status::Ok();
  return short_directory_.Make(kShortParent)
      .Wrap(
          "TMPDIR cannot hold sockets: its path is too long or has characters that are "
          "not valid in an address");
}

std::string LocalCluster::Socket(const std::string& name) const {
  const auto& directory = short_directory_.made() ? short_directory_ : directory_;
  return "unix:" + directory.path() + "/" + name + kSocketSuffix;
}

Status LocalCluster::Adopt(ChildProcess::Options options) {
  // Holds the lock from start to list, so that KillAtOnce finds every daemon.
  MutexLock lock(mutex_);
  ESPALIER_ASSIGN_OR_RETURN(auto child, ChildProcess::Start(std::move(options)));
  daemons_.push_back(std::move(child));
  death_told_.push_back(false);
  return Status::Ok();
}

Status LocalCluster::StartCoordinator(const std::function<bool()>& interrupted) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) {
    return ResourceExhausted(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  Status status = Adopt({.name = "the coordinator",
                         .program = ProgramPath(kCoordinatorProgram),
                         .arguments = {"--listen", Socket("coordinator"), "--ready-fd",
                                       std::to_string(ready[1]), "--exit-with-parent",
                                       // No supervisor restarts a worker here.
                                       "--below-min-timeout-ms", "0"},
                         .log_path = directory_.path() + "/coordinator.log",
                         .inherited_fd = ready[1]});
  close(ready[1]);
  if (status.ok()) status = AwaitAddress(ready[0], interrupted);
  close(ready[0]);
  return status;
}

Status LocalCluster::AwaitAddress(int fd, const std::function<bool()>& interrupted) {
  std::string text;
  for (int64_t waited_ms = 0; waited_ms < kListenWaitMs; waited_ms += kPollMs) {
    if (interrupted()) return Cancelled("interrupted while the coordinator was starting");
    pollfd readable = {fd, POLLIN, 0};
    if (poll(&readable, 1, kPollMs) <= 0) continue;
    char buffer[256];
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
    if (const size_t end = text.find('\n'); end != std::string::npos) {
      address_ = text.substr(0, end);
      return Status::Ok();
    }
    if (n <= 0 || text.size() > sizeof buffer) break;
  }
  ChildProcess& daemon = *Daemons().front();
  const bool ended = daemon.WaitFor(kPollMs);
  return Internal("the coordinator " +
                  (ended ? daemon.Ending()
                         : "did not report its address within " + HumanDuration(kListenWaitMs)) +
                  " at its start; the last lines of its log:\n" + daemon.LogTail(kLogTailLines));
}

Status LocalCluster::StartWorker(int number) {
  const std::string name = "local-" + std::to_string(number);
  const std::string spill = directory_.path() + "/spill-" + name;
  if (mkdir(spill.c_str(), 0700) != 0) {
    return ResourceExhausted("cannot make the directory " + spill + ": " + std::strerror(errno));
  }
  return Adopt(
      {.name = "worker " + name,
       .program = ProgramPath(kWorkerProgram),
       .arguments = {"--coordinator", address_, "--listen", Socket(name), "--threads",
                     std::to_string(options_.threads), "--exit-with-parent", "--name", name,
                     "--spill-directory", spill, "--memory-bytes-max",
                     std::to_string(options_.memory_bytes_max)},
       .log_path = directory_.path() + "/" + name + ".log",
       .cores = ShareOfCores(AllowedCores(), options_.workers, options_.threads, number - 1)});
}

std::vector<DaemonDeath> LocalCluster::TakeDeaths() {
  std::vector<DaemonDeath> deaths;
  const std::vector<ChildProcess*> daemons = Daemons();
  for (size_t i = 0; i < daemons.size() && !killing_; ++i) {
    ChildProcess& daemon = *daemons[i];
    if (death_told_[i] || daemon.Alive()) continue;
    death_told_[i] = true;
    deaths.push_back({daemon.name(), i == 0,
                      daemon.name() + " " + daemon.Ending() + "; the last lines of its log:\n" +
                          daemon.LogTail(kLogTailLines)});
  }
  return deaths;
}

void LocalCluster::Stop(int64_t worker_wait_ms) {
  // Waits without the lock, so that KillAtOnce does not have to wait.
  const std::vector<ChildProcess*> daemons = Daemons();
  for (size_t i = 1; i < daemons.size(); ++i) Terminate(*daemons[i]);
  if (!daemons.empty()) AwaitEnd(std::span(daemons).subspan(1), worker_wait_ms);
  EndRest(daemons, kCoordinatorStopWaitMs);
  MutexLock lock(mutex_);
  daemons_.clear();  // kills the remaining processes
  death_told_.clear();
  directory_.Remove();
  short_directory_.Remove();
}

void LocalCluster::KillAtOnce() {
  killing_ = true;
  MutexLock lock(mutex_);
  EndRest(DaemonsLocked(), kHastyStopWaitMs);
  directory_.Remove();
  short_directory_.Remove();
}

std::vector<ChildProcess*> LocalCluster::DaemonsLocked() const {
  std::vector<ChildProcess*> daemons;
  for (const auto& daemon : daemons_) daemons.push_back(daemon.get());
  return daemons;
}

std::vector<ChildProcess*> LocalCluster::Daemons() const {
  MutexLock lock(mutex_);
  return DaemonsLocked();
}

}  // namespace espalier::cli
