#include "src/worker/crash_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <iterator>

namespace espalier::worker {
namespace {

constexpr int kSignals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};

// Data of the handler, written before it is installed.
std::array<struct sigaction, std::size(kSignals)> previous;
pid_t reporter = 0;
int to_loop = -1, from_loop = -1;

// Handles a crash. It makes only calls that are safe in a signal handler.
void OnCrash(int signal, siginfo_t* info, void*) {
  const int error = errno;
  if (gettid() != reporter) {
    const auto byte = static_cast<unsigned char>(signal);
    if (write(to_loop, &byte, 1) == 1) {
      pollfd reported{from_loop, POLLIN, 0};
      poll(&reported, 1, kCrashReportMs);
    }
  }
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    if (kSignals[i] == signal) sigaction(signal, &previous[i], nullptr);
  }
  if (info->si_code <= 0) raise(signal);  // not caused by an instruction, so it would not recur
  errno = error;
}

}  // namespace

CrashWatch::CrashWatch() {
  if (pipe2(crashed_, O_CLOEXEC) != 0 || pipe2(reported_, O_CLOEXEC) != 0) return;
  reporter = gettid();
  to_loop = crashed_[1];
  from_loop = reported_[0];
  struct sigaction handler = {};
  handler.sa_sigaction = OnCrash;
  handler.sa_flags = SA_SIGINFO;
  sigemptyset(&handler.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &handler, &previous[i]);
  }
}

CrashWatch::~CrashWatch() {
  if (reported_[0] >= 0) {
    for (size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], &previous[i], nullptr);
    }
  }
  for (int fd : {crashed_[0], crashed_[1], reported_[0], reported_[1]}) {
    if (fd >= 0) close(fd);
  }
}

const char* CrashWatch::Signal() const {
  unsigned char byte = 0;
  if (read(crashed_[0], &byte, 1) != 1) return "a signal";
  switch (byte) {
    case SIGABRT:
      return "SIGABRT";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    default:
      return "SIGSEGV";
  }
}

void CrashWatch::Die() {
  const char byte = 0;
  [[maybe_unused]] const auto written = write(reported_[1], &byte, 1);
  for (;;) pause();
}

}  // namespace espalier::worker
