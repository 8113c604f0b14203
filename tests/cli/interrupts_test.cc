#include "src/cli/interrupts.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

namespace espalier::cli {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);
constexpr int kSignals = 5000, kLibraryThreads = 2;

// Restores the signal handling that Interrupts::Make changes, for the tests that follow.
class SignalsAsBefore {
 public:
  SignalsAsBefore() {
    pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
    for (size_t i = 0; i < kTaken.size(); ++i) sigaction(kTaken[i], nullptr, &actions_[i]);
  }
  ~SignalsAsBefore() {
    for (size_t i = 0; i < kTaken.size(); ++i) sigaction(kTaken[i], &actions_[i], nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  static constexpr std::array kTaken = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
  sigset_t mask_;
  std::array<struct sigaction, kTaken.size()> actions_;
};

// Threads that wait without blocking signals, like those of a library. A signal may wake one of
// them or the watching thread first. They wait in poll(2), where the thread sanitizer delivers
// signals.
class LibraryThreads {
 public:
  LibraryThreads() {
    for (int i = 0; i < kLibraryThreads; ++i) {
      threads_.emplace_back([this] {
        pollfd stop{stop_fd_, POLLIN, 0};
        while (poll(&stop, 1, -1) != 1) {
        }
      });
    }
  }
  ~LibraryThreads() {
    eventfd_write(stop_fd_, 1);
    for (std::thread& thread : threads_) thread.join();
    close(stop_fd_);
  }

 private:
  const int stop_fd_ = eventfd(0, EFD_CLOEXEC);
  std::vector<std::thread> threads_;
};

TEST_CASE("no signal is lost for any thread, and the watch ends") {
  const SignalsAsBefore before;
  const LibraryThreads library;
  auto interrupts = Interrupts::Make(false);
  REQUIRE(interrupts.ok());
  for (int i = 0; i < kSignals; ++i) {
    REQUIRE(kill(getpid(), SIGINT) == 0);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!(*interrupts)->any() && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    INFO("signal " << i);
    REQUIRE((*interrupts)->count() == 1);
    (*interrupts)->Forget();
  }
}

}  // namespace
}  // namespace espalier::cli
