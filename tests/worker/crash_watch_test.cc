// ThreadSanitizer has no threads in the child of a process with threads, as each case here needs.
#ifndef __SANITIZE_THREAD__
#include "src/worker/crash_watch.h"

#include <poll.h>
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

// How a process ends in which another thread than the loop's runs `crash`: the signal, or the exit
// code with which `loop` ended it.
struct End {
  int signal = 0, code = 0;
  bool operator==(const End&) const = default;
};
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

// An exception that no one catches; the library prints nothing about it.
void Throw() {
  std::set_terminate(std::abort);
  throw std::runtime_error("chance");
}

TEST_CASE("a process ends by the signal that its thread crashed by") {
  for (int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) {
    CHECK(EndOf([=] { std::raise(signal); }, kDie) == End{signal, 0});
  }
  CHECK(EndOf([] { std::abort(); }, kDie) == End{SIGABRT, 0});
  CHECK(EndOf(Throw, kDie) == End{SIGABRT, 0});
}

TEST_CASE("an instruction's fault ends the process as without a handler") {
  const auto fault = [] { *static_cast<volatile int*>(nullptr) = 1; };
  CHECK(EndOf(fault, kDie) == End{SIGSEGV, 0});
}

TEST_CASE("the loop hears of a crash by name before the process ends") {
  const auto heard = [](CrashWatch& watch) {
    Wait(watch);
    _exit(std::strcmp(watch.Signal(), "SIGFPE") == 0 ? kHeard : kOtherName);
  };
  CHECK(EndOf([] { std::raise(SIGFPE); }, heard) == End{0, kHeard});
}

TEST_CASE("a process ends although its loop does not report") {
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

TEST_CASE("the handlers of before are back after the watch") {
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
