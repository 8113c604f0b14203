// The calls a server has open, so that a shutdown can end them all. Private to rpc/.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
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
  // `caller_max`: calls that one caller may have open.
  explicit OpenCalls(int64_t caller_max) : caller_max_(caller_max) {}

  // An error, with which it is ended at once, when its caller has too many, or everything ends.
  // `caller`: by whom it is counted; empty: by nobody. `may`: whether it may stay open, for
  // Recheck; or none.
  Status Add(std::shared_ptr<OpenCall> call, const std::string& caller,
             std::function<Status()> may = {}) {
    Status why;
    {
      std::lock_guard lock(mutex_);
      if (!caller.empty() && ++callers_[caller] > caller_max_) why = TooMany();
      if (!over_.ok()) why = over_;
      calls_[call.get()] = {call, caller, std::move(may)};
    }
    if (!why.ok()) call->End(why);
    return why;
  }
  void Remove(OpenCall* call) {
    std::shared_ptr<OpenCall> last;  // destroyed after the lock is released
    std::lock_guard lock(mutex_);
    const auto it = calls_.find(call);
    if (it == calls_.end()) return;
    const auto counted = callers_.find(it->second.caller);
    if (counted != callers_.end() && --counted->second == 0) callers_.erase(counted);
    last = std::move(it->second.call);
    calls_.erase(it);
  }
  // Ends all, and all that are added later. REQUIRES: `why` is an error.
  void EndAll(const Status& why) {
    std::vector<std::shared_ptr<OpenCall>> calls;
    {
      std::lock_guard lock(mutex_);
      over_ = why;
      for (const auto& [key, open] : calls_) calls.push_back(open.call);
    }
    for (const auto& call : calls) call->End(why);
  }
  // Ends those that may not stay open.
  void Recheck() {
    std::vector<Open> calls;
    {
      std::lock_guard lock(mutex_);
      for (const auto& [key, open] : calls_) {
        if (open.may) calls.push_back(open);
      }
    }
    for (const Open& open : calls) {
      if (const Status may = open.may(); !may.ok()) open.call->End(may);
    }
  }
  static Status ShuttingDown() { return Unavailable("the coordinator is shutting down"); }

 private:
  struct Open {
    std::shared_ptr<OpenCall> call;
    std::string caller;
    std::function<Status()> may;
  };
  Status TooMany() const {
    return ResourceExhausted("this caller has " + std::to_string(caller_max_) +
                             " calls open, the limit; end some of them first");
  }

  const int64_t caller_max_;
  std::mutex mutex_;  // guards what follows
  std::map<OpenCall*, Open> calls_;
  std::map<std::string, int64_t> callers_;
  Status over_;  // OK: not yet
};

}  // namespace espalier::rpc
