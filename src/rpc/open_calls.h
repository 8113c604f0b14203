// The calls a server has open, so that a shutdown can end them all, and what their callers have not
// read yet. Private to rpc/.
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

struct OpenCallLimits {
  int64_t caller_max = 0;        // calls that one caller may have open
  int64_t unread_bytes_max = 0;  // of answers under way to all callers; one has a quarter of it
  // Time to receive a request, and time for the caller to read an answer.
  int64_t read_timeout_ms = 60'000;
};

// Keeps each call alive from Add to Remove (its OnDone). Thread rule: any thread.
class OpenCalls {
 public:
  explicit OpenCalls(const OpenCallLimits& limits) : limits_(limits) {}
  const OpenCallLimits& limits() const { return limits_; }

  // An error, with which it is ended at once, when its caller has too many, or everything ends.
  // `caller`: by whom it is counted; empty: by nobody. `may`: whether it may stay open, for
  // Recheck; or none.
  Status Add(std::shared_ptr<OpenCall> call, const std::string& caller,
             std::function<Status()> may = {}) {
    Status why;
    {
      std::lock_guard lock(mutex_);
      if (!caller.empty() && ++callers_[caller].calls > limits_.caller_max) why = TooMany();
      if (!over_.ok()) why = over_;
      calls_[call.get()] = {call, caller, std::move(may)};
    }
    if (!why.ok()) call->End(why);
    return why;
  }
  // Replaces the check that Recheck makes for the call.
  void SetMay(OpenCall* call, std::function<Status()> may) {
    std::lock_guard lock(mutex_);
    const auto it = calls_.find(call);
    if (it != calls_.end()) it->second.may = std::move(may);
  }
  void Remove(OpenCall* call) {
    std::shared_ptr<OpenCall> last;  // destroyed after the lock is released
    std::lock_guard lock(mutex_);
    const auto it = calls_.find(call);
    if (it == calls_.end()) return;
    HoldLocked(it->second, 0);
    const auto counted = callers_.find(it->second.caller);
    if (counted != callers_.end() && --counted->second.calls == 0) callers_.erase(counted);
    last = std::move(it->second.call);
    calls_.erase(it);
  }
  // So many bytes are under way to the caller of `call`, in place of those that were; 0: all are
  // read. An error, and nothing is counted, when too much is under way already: a caller that does
  // not read would else fill the memory. However large one answer is, it may go when nothing waits;
  // small ones always may.
  Status Hold(OpenCall* call, int64_t bytes) {
    std::lock_guard lock(mutex_);
    const auto it = calls_.find(call);
    if (it == calls_.end()) return Status::Ok();  // it has ended
    HoldLocked(it->second, 0);
    if (bytes <= kSmallBytes) return Status::Ok();
    const auto caller = callers_.find(it->second.caller);
    const int64_t of_caller = caller == callers_.end() ? 0 : caller->second.unread_bytes;
    if (of_caller >= limits_.unread_bytes_max / 4) return Unread("this caller has", of_caller);
    if (unread_bytes_ >= limits_.unread_bytes_max) return Unread("callers have", unread_bytes_);
    HoldLocked(it->second, bytes);
    return Status::Ok();
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
    int64_t unread_bytes = 0;
  };
  static constexpr int64_t kSmallBytes = 4096;

  struct OfCaller {
    int64_t calls = 0;
    int64_t unread_bytes = 0;
  };
  void HoldLocked(Open& open, int64_t bytes) {
    const int64_t more = bytes - std::exchange(open.unread_bytes, bytes);
    unread_bytes_ += more;
    const auto caller = callers_.find(open.caller);
    if (caller != callers_.end()) caller->second.unread_bytes += more;
  }
  static Status Unread(const std::string& who, int64_t bytes) {
    return ResourceExhausted(who + " not read " + std::to_string(bytes) +
                             " bytes of earlier answers; read them, then ask again");
  }
  Status TooMany() const {
    return ResourceExhausted("this caller has " + std::to_string(limits_.caller_max) +
                             " calls open, the limit; end some of them first");
  }

  const OpenCallLimits limits_;
  std::mutex mutex_;  // guards what follows
  std::map<OpenCall*, Open> calls_;
  std::map<std::string, OfCaller> callers_;
  int64_t unread_bytes_ = 0;
  Status over_;  // OK: not yet
};

}  // namespace espalier::rpc
