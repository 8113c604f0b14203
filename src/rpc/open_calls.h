// The open calls of a server, so that a shutdown can end all of them, and the answer bytes that
// callers have not read yet. Private to rpc/.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"

namespace espalier::rpc {

// A call that can be ended early. Thread rule: any thread, any number of times.
class OpenCall {
 public:
  virtual ~OpenCall() = default;
  virtual void End(const Status& why) = 0;
};

struct OpenCallLimits {
  int64_t caller_max = 0;        // open calls of one caller
  int64_t unread_bytes_max = 0;  // answers in transit to all callers; one may have a quarter
  // Time to receive a request, and time for the caller to read an answer.
  int64_t read_timeout_ms = 60'000;
};

// Keeps each call alive from Add to Remove (its OnDone). Thread rule: any thread.
class OpenCalls {
 public:
  explicit OpenCalls(const OpenCallLimits& limits) : limits_(limits) {}
  const OpenCallLimits& limits() const { return limits_; }

  // Adds a call. If its caller has too many calls, if all calls have ended, or if the call fails
  // its check, ends the call at once and returns that error. `caller` is the key for the count. An
  // empty key is not counted. `may` is the check for Recheck, or empty.
  Status Add(std::shared_ptr<OpenCall> call, const std::string& caller,
             std::function<Status()> may = {}) {
    Status why;
    {
      MutexLock lock(mutex_);
      if (!caller.empty() && ++callers_[caller].calls > limits_.caller_max) why = TooMany();
      if (!over_.ok()) why = over_;
      calls_[call.get()] = {call, caller, may};
    }
    // The caller may have lost its rights since it was identified. A Recheck that ran before the
    // call was in the table did not see it. A later Recheck does, so the lock is not needed here.
    if (why.ok() && may) why = may();
    if (!why.ok()) call->End(why);
    return why;
  }
  // Replaces the call's check for Recheck.
  void SetMay(OpenCall* call, std::function<Status()> may) {
    MutexLock lock(mutex_);
    const auto it = calls_.find(call);
    if (it != calls_.end()) it->second.may = std::move(may);
  }
  void Remove(OpenCall* call) {
    std::shared_ptr<OpenCall> last;  // destroyed after the lock is released
    MutexLock lock(mutex_);
    const auto it = calls_.find(call);
    if (it == calls_.end()) return;
    HoldLocked(it->second, 0);
    const auto counted = callers_.find(it->second.caller);
    if (counted != callers_.end() && --counted->second.calls == 0) callers_.erase(counted);
    last = std::move(it->second.call);
    calls_.erase(it);
  }
  // Replaces the number of unread bytes in transit to the caller of `call`. 0: the caller has read
  // all. Returns an error and counts nothing if too many bytes are already in transit, because a
  // caller that does not read would fill the memory. An answer of any size may be sent if nothing
  // waits. Small answers may always be sent.
  Status Hold(OpenCall* call, int64_t bytes) {
    MutexLock lock(mutex_);
    const auto it = calls_.find(call);
    if (it == calls_.end()) return Status::Ok();  // the call has ended
    HoldLocked(it->second, 0);
    if (bytes <= kSmallBytes) return Status::Ok();
    const auto caller = callers_.find(it->second.caller);
    const int64_t of_caller = caller == callers_.end() ? 0 : caller->second.unread_bytes;
    if (of_caller >= limits_.unread_bytes_max / 4) return Unread("this caller has", of_caller);
    if (unread_bytes_ >= limits_.unread_bytes_max) return Unread("callers have", unread_bytes_);
    HoldLocked(it->second, bytes);
    return Status::Ok();
  }
  // Ends all calls, and all calls that are added later. REQUIRES: `why` is an error.
  void EndAll(const Status& why) {
    std::vector<std::shared_ptr<OpenCall>> calls;
    {
      MutexLock lock(mutex_);
      over_ = why;
      for (const auto& [key, open] : calls_) calls.push_back(open.call);
    }
    for (const auto& call : calls) call->End(why);
  }
  // Ends the calls that fail their check.
  void Recheck() {
    std::vector<Open> calls;
    {
      MutexLock lock(mutex_);
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
  void HoldLocked(Open& open, int64_t bytes) REQUIRES(mutex_) {
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
  Mutex mutex_;
  std::map<OpenCall*, Open> calls_ GUARDED_BY(mutex_);
  std::map<std::string, OfCaller> callers_ GUARDED_BY(mutex_);
  int64_t unread_bytes_ GUARDED_BY(mutex_) = 0;
  Status over_ GUARDED_BY(mutex_);  // error of EndAll; OK: not called yet
};

}  // namespace espalier::rpc
