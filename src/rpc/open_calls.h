// The calls a server has open, so that a shutdown can end them all. Private to rpc/.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "src/base/status.h"

namespace espalier::rpc {

// A call that can be ended early. Thread rule: any thread, any number of times.
class OpenCall {
 public:
  virtual ~OpenCall() = default;
  virtual void End(const Status& why) = 0;
};

// Keeps each call alive from Add to Remove (its OnDone). Thread rule: any thread.
class OpenCalls {
 public:
  void Add(std::shared_ptr<OpenCall> call) {
    bool over;
    {
      std::lock_guard lock(mutex_);
      over = over_;
      calls_[call.get()] = call;
    }
    if (over) call->End(ShuttingDown());
  }
  void Remove(OpenCall* call) {
    std::shared_ptr<OpenCall> last;  // destroyed after the lock is released
    std::lock_guard lock(mutex_);
    if (auto it = calls_.find(call); it != calls_.end()) {
      last = std::move(it->second);
      calls_.erase(it);
    }
  }
  // Ends all, and all that are added later.
  void EndAll() {
    std::vector<std::shared_ptr<OpenCall>> calls;
    {
      std::lock_guard lock(mutex_);
      over_ = true;
      for (const auto& [key, call] : calls_) calls.push_back(call);
    }
    for (const auto& call : calls) call->End(ShuttingDown());
  }
  static Status ShuttingDown() { return Unavailable("the coordinator is shutting down"); }

 private:
  std::mutex mutex_;  // guards what follows
  std::map<OpenCall*, std::shared_ptr<OpenCall>> calls_;
  bool over_ = false;
};

}  // namespace espalier::rpc
