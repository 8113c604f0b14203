// CrashWatch: a delay between a crash and the end of the process. The thread that crashes waits in
// the signal handler while the event loop reports the crash to the coordinator. Then the process
// ends as if there were no handler, with its core dump.
//
// A crash of the loop's thread ends the process at once. So does a stack overflow, because the
// handler runs on the stack of its thread. If the loop cannot report, the process ends after
// kCrashReportMs.
//
// Thread rule: one thread, that of the event loop.
#pragma once

namespace espalier::worker {

inline constexpr int kCrashReportMs = 3000;

class CrashWatch {
 public:
  // Handles SIGABRT, SIGBUS, SIGFPE, SIGILL and SIGSEGV until it is destroyed. The calling thread
  // is the one that reports. REQUIRES: no other CrashWatch.
  CrashWatch();
  ~CrashWatch();
  CrashWatch(const CrashWatch&) = delete;
  CrashWatch& operator=(const CrashWatch&) = delete;

  // Descriptor that is readable once a thread has crashed; -1: no pipe is available.
  int fd() const { return crashed_[0]; }
  // Name of the signal. REQUIRES: fd() is readable.
  const char* Signal() const;
  // Lets the process end by that signal. REQUIRES: fd() was readable.
  [[noreturn]] void Die();

 private:
  int crashed_[2] = {-1, -1}, reported_[2] = {-1, -1};  // pipes
};

}  // namespace espalier::worker
