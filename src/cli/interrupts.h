// Counts Ctrl-C (SIGINT), SIGTERM and SIGHUP instead of ending the process. SIGHUP is not counted
// if it was ignored at the start, as nohup(1) does.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "src/base/mutex.h"
#include "src/base/status.h"

namespace espalier::cli {

// Takes the three signals from all threads for the rest of the process. The first signal only
// increments count(). Running work checks it several times a second and ends cleanly. The second
// signal runs the emergency action and ends the process at once with code 130.
//
// Thread rule: count() and setters of actions from any thread. Actions run on a separate thread.
class Interrupts {
 public:
  // `with_parent`: the end of the parent process counts as a signal. The object checks for it a few
  // times a second. The kernel's notification is not suitable, because it is sent when the *thread*
  // that started this process ends (prctl(2), PR_SET_PDEATHSIG). A parent that ended before this
  // call is not noticed. REQUIRES: called once, in main, before this program starts any other
  // thread (threads inherit the signal mask).
  static Result<std::unique_ptr<Interrupts>> Make(bool with_parent);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int count() const { return count_; }
  bool any() const { return count_ > 0; }
  // Returns whether the parent process has ended, which any() also counts.
  bool orphaned() const { return orphaned_; }
  // Resets the count, after the user decided how to handle the first signal.
  void Forget() { count_ = 0; }
  // Returns whether storage operations must be cancelled.
  bool cancels() const { return any() && !ending_; }
  // Call before the clean end, which may need storage.
  void BeginEnding() { ending_ = true; }
  // Sets the action before an immediate end; empty: none. Does not return while the action is
  // running.
  void SetEmergency(std::function<void()> action);
  // Sets an action that follows the emergency action.
  void SetLast(std::function<void()> action);

 private:
  Interrupts(int signal_fd, int stop_fd, pid_t parent);
  void Run();
  void DieAtOnce();

  const int signal_fd_, stop_fd_;
  pid_t parent_;  // parent of the thread; 0: not monitored
  std::atomic<int> count_{0};
  std::atomic<bool> ending_{false}, orphaned_{false};
  Mutex mutex_;
  std::function<void()> emergency_ GUARDED_BY(mutex_), last_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace espalier::cli
