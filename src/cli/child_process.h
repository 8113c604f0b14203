// A daemon as a direct child of this process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace espalier::cli {

// Thread rule: Signal from any thread, all else from one thread, which must be the one that lives
// to the end of the process: the kernel sends the parent-death signal when the *thread* that
// started the child ends.
class ChildProcess {
 public:
  struct Options {
    std::string name;     // for messages: "worker local-2"
    std::string program;  // path; also argv[0]
    std::vector<std::string> arguments;
    std::string log_path;    // standard output and error go there
    int inherited_fd = -1;   // open in the child under the same number; -1: none
    std::vector<int> cores;  // that it may run on; empty: those of this process
  };

  // Starts the program in a process group of its own (a Ctrl-C at the terminal reaches us alone),
  // with no signal blocked, standard input empty, and SIGKILL as parent-death signal.
  static Result<std::unique_ptr<ChildProcess>> Start(Options options);
  // Kills the child if it still lives.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  const std::string& name() const { return options_.name; }
  pid_t pid() const { return pid_; }
  // False once the child has ended; takes its exit status then.
  bool Alive();
  // Waits for the end, at most `ms` milliseconds. True when it has ended.
  bool WaitFor(int64_t ms);
  // Sends a signal to the child unless it was seen to have ended.
  void Signal(int signal) const;
  // "ended with exit code 1", "was killed by signal 9 (Killed)". REQUIRES: !Alive().
  std::string Ending() const;
  // The last lines of what the child wrote, at most `lines`, each ended by '\n'.
  std::string LogTail(int lines) const;

 private:
  ChildProcess(Options options, pid_t pid) : options_(std::move(options)), pid_(pid) {}
  const Options options_;
  const pid_t pid_;
  std::atomic<int> wait_status_{-1};  // -1: not seen to have ended
};

}  // namespace espalier::cli
