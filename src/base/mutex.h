// Mutexes, scoped locks and condition variables, and annotations that name what a mutex guards.
// `tools/test alone` checks the annotations with clang's -Wthread-safety. GCC ignores them.
//
// The classes wrap the standard library, not absl::Mutex, because abseil's headers would add
// compile time to most files, and rooms without gRPC would have to link it. Its deadlock detector,
// which release builds disable, finds what the thread sanitizer (`tools/test tsan`) finds as well.
//
// Annotations, with the names that abseil and leveldb use:
//
//   int rows_ GUARDED_BY(mutex_);          rows_ is accessed only while mutex_ is held
//   void AddLocked() REQUIRES(mutex_);     the caller holds mutex_ (also on a lambda)
//   void Add() EXCLUDES(mutex_);           the caller does not hold mutex_
//   void Lock() ACQUIRE(); Unlock() RELEASE();     the function locks or unlocks its object
//
// Example:
//
//   MutexLock lock(mutex_);
//   while (items_.empty()) changed_.Wait(mutex_);
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <utility>

#if defined(__clang__)
#define ESPALIER_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define ESPALIER_THREAD_ATTRIBUTE(x)
#endif

#define CAPABILITY(name) ESPALIER_THREAD_ATTRIBUTE(capability(name))
#define SCOPED_CAPABILITY ESPALIER_THREAD_ATTRIBUTE(scoped_lockable)
#ifndef GUARDED_BY  // abseil's headers, which gRPC includes, define it in the same way
#define GUARDED_BY(...) ESPALIER_THREAD_ATTRIBUTE(guarded_by(__VA_ARGS__))
#endif
#define REQUIRES(...) ESPALIER_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define REQUIRES_SHARED(...) ESPALIER_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define EXCLUDES(...) ESPALIER_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) ESPALIER_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) ESPALIER_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define RELEASE(...) ESPALIER_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define RELEASE_SHARED(...) ESPALIER_THREAD_ATTRIBUTE(release_shared_capability(__VA_ARGS__))

namespace espalier {

// Thread rule, for all classes of this file: safe from any thread, except the locks, which belong
// to one thread.
class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex until the end of the block.
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Holds a mutex until the end of the block, except between Unlock and Lock.
class SCOPED_CAPABILITY ReleasableMutexLock {
 public:
  explicit ReleasableMutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~ReleasableMutexLock() RELEASE() {
    if (held_) mutex_.Unlock();
  }
  ReleasableMutexLock(const ReleasableMutexLock&) = delete;
  ReleasableMutexLock& operator=(const ReleasableMutexLock&) = delete;

  // REQUIRES: the mutex is held.
  void Unlock() RELEASE() {
    held_ = false;
    mutex_.Unlock();
  }
  // REQUIRES: the mutex is not held.
  void Lock() ACQUIRE() {
    mutex_.Lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// Many readers or one writer hold it.
class CAPABILITY("mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }
  void ReaderLock() ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void ReaderUnlock() RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

class SCOPED_CAPABILITY WriterMutexLock {
 public:
  explicit WriterMutexLock(SharedMutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~WriterMutexLock() RELEASE() { mutex_.Unlock(); }
  WriterMutexLock(const WriterMutexLock&) = delete;
  WriterMutexLock& operator=(const WriterMutexLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class SCOPED_CAPABILITY ReaderMutexLock {
 public:
  explicit ReaderMutexLock(SharedMutex& mutex) ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_.ReaderLock();
  }
  ~ReaderMutexLock() RELEASE() { mutex_.ReaderUnlock(); }
  ReaderMutexLock(const ReaderMutexLock&) = delete;
  ReaderMutexLock& operator=(const ReaderMutexLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// A mutex that its holder may lock again.
class CAPABILITY("mutex") RecursiveMutex {
 public:
  RecursiveMutex() = default;
  RecursiveMutex(const RecursiveMutex&) = delete;
  RecursiveMutex& operator=(const RecursiveMutex&) = delete;

  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }

 private:
  std::recursive_mutex mutex_;
};

class SCOPED_CAPABILITY RecursiveMutexLock {
 public:
  explicit RecursiveMutexLock(RecursiveMutex& mutex) ACQUIRE(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~RecursiveMutexLock() RELEASE() { mutex_.Unlock(); }
  RecursiveMutexLock(const RecursiveMutexLock&) = delete;
  RecursiveMutexLock& operator=(const RecursiveMutexLock&) = delete;

 private:
  RecursiveMutex& mutex_;
};

// Waits for other threads to change what a mutex guards. Each wait releases the mutex and holds it
// again when it returns. A wait without a condition may return at any time, so call it in a loop.
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void Wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();  // the caller holds it
  }
  // Waits until `done()` or until the time has passed. Returns `done()`, which is called with the
  // mutex held.
  template <typename Rep, typename Period, typename Condition>
  bool WaitFor(Mutex& mutex, std::chrono::duration<Rep, Period> timeout, Condition done)
      REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool reached = changed_.wait_for(lock, timeout, std::move(done));
    lock.release();  // the caller holds it
    return reached;
  }
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace espalier
