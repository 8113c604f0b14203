// InOrder runs many slow tasks at once and uses their results one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/base/thread_pool.h"

namespace espalier {

// Calls `make(i)` for 0 <= i < count on up to `threads` separate threads. Calls `take(i, made)` on
// the caller's thread, in the order of i. At most twice `threads` items are in progress or waiting
// for `take`.
//
// The first error of `take` ends the run. InOrder returns it after the running calls of `make` have
// finished. The result therefore does not depend on which of them was faster.
//
// `make` must be safe from several threads, also while `take` runs for a smaller i.
template <typename T>
Status InOrder(int64_t count, int threads, const std::function<T(int64_t)>& make,
               const std::function<Status(int64_t, T)>& take) {
  if (threads <= 1 || count <= 1) {
    for (int64_t i = 0; i < count; ++i) ESPALIER_RETURN_IF_ERROR(take(i, make(i)));
    return {};
  }
  Mutex mutex;
  CondVar changed;
  std::map<int64_t, T> made GUARDED_BY(mutex);
  bool ended GUARDED_BY(mutex) = false;
  const auto make_one = [&](int64_t i) {
    {
      MutexLock lock(mutex);
      if (ended) return;
    }
    T thing = make(i);
    MutexLock lock(mutex);
    made.emplace(i, std::move(thing));
    changed.NotifyOne();
  };
  JobPool pool(static_cast<int>(std::min<int64_t>(threads, count)));
  int64_t ordered = 0;
  for (int64_t i = 0; i < count; ++i) {
    for (; ordered < std::min(count, i + 2 * threads); ++ordered) {
      pool.Submit([&make_one, n = ordered] { make_one(n); });
    }
    ReleasableMutexLock lock(mutex);
    while (!made.contains(i)) changed.Wait(mutex);
    T thing = std::move(made.extract(i).mapped());
    lock.Unlock();
    if (Status s = take(i, std::move(thing)); !s.ok()) {
      lock.Lock();
      ended = true;
      return s;
    }
  }
  return {};
}

}  // namespace espalier
