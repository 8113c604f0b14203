// Each case needs threads in a forked child. ThreadSanitizer does not support that if the parent
// has threads.
#ifndef __SANITIZE_THREAD__
#include "src/worker/crash_watch.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <thread>

namespace espalier::worker {
namespace {

constexpr int kHeard = 50, kOtherName = 51;

// The signal or the exit code by which a process ended.
struct End {
  int signal = 0, code = 0;
  bool operator==(const End&) const = default;
};
// Forks a process that runs `loop` on its main thread and `crash` on another one. Returns its end.
End EndOf(const std::function<void()>& crash, const std::function<void(CrashWatch&)>& loop) {
  const pid_t pid = fork();
  if (pid == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    // Without the handlers of Catch2 and of the address sanitizer.
    for (int s : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) signal(s, SIG_DFL);
    CrashWatch watch;
    std::thread(crash).detach();
    loop(watch);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return {WIFSIGNALED(status) ? WTERMSIG(status) : 0, WIFEXITED(status) ? WEXITSTATUS(status) : 0};
}

void Wait(const CrashWatch& watch) {
  pollfd crashed{watch.fd(), POLLIN, 0};
  poll(&crashed, 1, -1);
}

const auto kDie = [](CrashWatch& watch) {
  Wait(watch);
  watch.Signal();
  watch.Die();
};

// Throws an exception that is not caught. The library prints nothing about it.
void Throw() {
  std::set_terminate(std::abort);
  throw std::runtime_error("chance");
}

TEST_CASE("a process ends by the signal of its crashed thread") {
  for (int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) {
    CHECK(EndOf([=] { std::raise(signal); }, kDie) == End{signal, 0});
  }
  CHECK(EndOf([] { std::abort(); }, kDie) == End{SIGABRT, 0});
  CHECK(EndOf(Throw, kDie) == End{SIGABRT, 0});
}

TEST_CASE("a faulting instruction ends the process by its signal") {
  const auto fault = [] {  // sanitizers report a null pointer before the process faults
    void* const page = mmap(nullptr, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile int*>(page) = 1;
  };
  CHECK(EndOf(fault, kDie) == End{SIGSEGV, 0});
}

TEST_CASE("the loop learns the signal before the process ends") {
  const auto heard = [](CrashWatch& watch) {
    Wait(watch);
    _exit(std::strcmp(watch.Signal(), "SIGFPE") == 0 ? kHeard : kOtherName);
  };
  CHECK(EndOf([] { std::raise(SIGFPE); }, heard) == End{0, kHeard});
}

TEST_CASE("a process ends even if its loop does not report") {
  const auto mute = [](CrashWatch&) {
    for (;;) pause();
  };
  CHECK(EndOf([] { std::raise(SIGSEGV); }, mute) == End{SIGSEGV, 0});
}

TEST_CASE("a crash of the loop's own thread ends the process at once") {
  const auto start = std::chrono::steady_clock::now();
  CHECK(EndOf([] {}, [](CrashWatch&) { std::raise(SIGSEGV); }) == End{SIGSEGV, 0});
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(kCrashReportMs));
}

TEST_CASE("the watch restores the previous handlers") {
  CHECK(EndOf([] {}, [](CrashWatch&) {}) == End{0, 0});
  struct sigaction before = {}, after = {};
  sigaction(SIGSEGV, nullptr, &before);
  { CrashWatch watch; }
  sigaction(SIGSEGV, nullptr, &after);
  CHECK(before.sa_sigaction == after.sa_sigaction);
}

}  // namespace
}  // namespace espalier::worker
#endif  // __SANITIZE_THREAD__
