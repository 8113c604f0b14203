#include "src/base/mutex.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

namespace espalier {
namespace {

TEST_CASE("a released lock lets other threads in until it locks") {
  Mutex mutex;
  int turns = 0;
  {
    ReleasableMutexLock lock(mutex);
    lock.Unlock();
    std::thread([&] {
      MutexLock other(mutex);
      ++turns;
    }).join();
    lock.Lock();
    ++turns;
  }
  {
    ReleasableMutexLock lock(mutex);
    lock.Unlock();  // the destructor does not unlock a second time
  }
  MutexLock lock(mutex);
  CHECK(turns == 2);
}

TEST_CASE("a waiting thread frees the mutex and has it again afterwards") {
  Mutex mutex;
  CondVar changed;
  int ping = 0, pong = 0;
  std::thread other([&] {
    MutexLock lock(mutex);
    for (int i = 1; i <= 100; ++i) {
      while (ping < i) changed.Wait(mutex);
      pong = i;
      changed.NotifyAll();
    }
  });
  {
    MutexLock lock(mutex);
    for (int i = 1; i <= 100; ++i) {
      ping = i;
      changed.NotifyAll();
      while (pong < i) changed.Wait(mutex);
    }
  }
  other.join();
  CHECK(pong == 100);
}

TEST_CASE("a wait with a limit returns whether its condition holds") {
  Mutex mutex;
  CondVar changed;
  MutexLock lock(mutex);
  CHECK_FALSE(changed.WaitFor(mutex, std::chrono::milliseconds(1), [] { return false; }));
  CHECK(changed.WaitFor(mutex, std::chrono::hours(1), [] { return true; }));
  bool set = false;
  std::thread other([&] {
    MutexLock lock(mutex);  // waits for WaitFor, which frees the mutex
    set = true;
    changed.NotifyOne();
  });
  CHECK(changed.WaitFor(mutex, std::chrono::hours(1), [&] { return set; }));
  other.join();
}

TEST_CASE("readers share a mutex and a writer excludes them") {
  SharedMutex mutex;
  int value = 0;
  {
    ReaderMutexLock lock(mutex);
    std::thread([&] { ReaderMutexLock other(mutex); }).join();  // does not wait
  }
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) {
        WriterMutexLock lock(mutex);
        ++value;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  ReaderMutexLock lock(mutex);
  CHECK(value == 4000);
}

TEST_CASE("the holder of a recursive mutex may lock it again") {
  RecursiveMutex mutex;
  std::atomic<bool> in{false};
  std::thread other;
  {
    RecursiveMutexLock lock(mutex);
    { RecursiveMutexLock again(mutex); }
    other = std::thread([&] {
      RecursiveMutexLock third(mutex);
      in = true;
    });
    CHECK_FALSE(in);
  }
  other.join();
  CHECK(in);
}

}  // namespace
}  // namespace espalier
