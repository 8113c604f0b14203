// A daemon as a direct child of this process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace espalier::cli {

// Thread rule: Signal and Ended from any thread, all other methods from one thread. That thread
// must live until the end of the process: the kernel sends the parent-death signal when the
// *thread* that started the child ends.
class ChildProcess {
 public:
  struct Options {
    std::string name;     // for messages: "worker local-2"
    std::string program;  // path; also argv[0]
    std::vector<std::string> arguments;
    std::string log_path;    // file for standard output and error
    int inherited_fd = -1;   // open in the child with the same number; -1: none
    std::vector<int> cores;  // allowed cores; empty: those of this process
  };

  // Starts the program in a separate process group, so Ctrl-C at the terminal reaches only this
  // process. No signal is blocked, standard input is empty, and the parent-death signal is SIGKILL.
  static Result<std::unique_ptr<ChildProcess>> Start(Options options);
  // Kills the child if it is still running.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  const std::string& name() const { return options_.name; }
  pid_t pid() const { return pid_; }
  // Returns false after the child has ended, and then reads its exit status.
  bool Alive();
  // Waits for the end, at most `ms` milliseconds. Returns true if the child has ended.
  bool WaitFor(int64_t ms);
  // Returns whether the child has ended. Unlike Alive, it does not read the exit status.
  bool Ended() const;
  // Sends a signal to the child unless its end was already observed.
  void Signal(int signal) const;
  // Returns, for example, "ended with exit code 1" or "was killed by signal 9 (Killed)". REQUIRES:
  // !Alive().
  std::string Ending() const;
  // Returns the last lines of the child's output, at most `lines`, each with a trailing '\n'.
  std::string LogTail(int lines) const;

 private:
  ChildProcess(Options options, pid_t pid) : options_(std::move(options)), pid_(pid) {}
  const Options options_;
  const pid_t pid_;
  std::atomic<int> wait_status_{-1};  // -1: no end observed yet
};

}  // namespace espalier::cli
