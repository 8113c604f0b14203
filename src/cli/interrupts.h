// Ctrl-C (SIGINT), SIGTERM and SIGHUP (unless it was ignored at the start, as nohup(1) does) as
// numbers to look at instead of sudden death.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "src/base/status.h"

namespace espalier::cli {

// Takes the three signals from all threads for the rest of the process's life. The first one only
// raises count(): who works looks at it several times a second and ends cleanly. The second ends
// the process at once with code 130, after the emergency action. Thread rule: count() and
// SetEmergency() from any thread; the action runs on a thread of its own.
class Interrupts {
 public:
  // `with_parent`: the end of the process that started this one is like a signal. It is looked for
  // a few times a second rather than asked of the kernel, which tells it when the *thread* ends
  // that started this process (prctl(2), PR_SET_PDEATHSIG). One that ended before is not noticed.
  // REQUIRES: called once, in main, before any other thread of ours exists (they inherit the signal
  // mask).
  static Result<std::unique_ptr<Interrupts>> Make(bool with_parent);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int count() const { return count_; }
  bool any() const { return count_ > 0; }
  // Whether the process that started this one has ended, which any() counts too.
  bool orphaned() const { return orphaned_; }
  // The first one was talked about with the person and counts no more.
  void Forget() { count_ = 0; }
  // Whether what uses storage is to be given up.
  bool cancels() const { return any() && !ending_; }
  // From now on what is done is the clean end itself, for which storage may be needed.
  void BeginEnding() { ending_ = true; }
  // What to do before sudden death; empty: nothing. Does not return while the action is running.
  void SetEmergency(std::function<void()> action);

 private:
  Interrupts(int signal_fd, int stop_fd, pid_t parent);
  void Run();
  void DieAtOnce();

  const int signal_fd_, stop_fd_;
  pid_t parent_;  // of the thread; 0: nobody's end matters
  std::atomic<int> count_{0};
  std::atomic<bool> ending_{false}, orphaned_{false};
  std::mutex mutex_;  // guards emergency_
  std::function<void()> emergency_;
  std::thread thread_;
};

}  // namespace espalier::cli
