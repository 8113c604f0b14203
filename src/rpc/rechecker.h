// Ends the open calls of those who would not get in any more. Private to rpc/.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "src/rpc/authorizer.h"
#include "src/rpc/open_calls.h"

namespace espalier::rpc {

// From its making to its destruction it looks, every `interval_ms` on a thread of its own, whether
// files of certificates, revocations or tokens were replaced, and after that judges all calls anew.
// Thread rule: one thread.
class Rechecker {
 public:
  // `calls` outlives it.
  Rechecker(std::shared_ptr<Authorizer> authorizer, OpenCalls* calls, int64_t interval_ms);
  ~Rechecker();
  Rechecker(const Rechecker&) = delete;

 private:
  void Run();

  const std::shared_ptr<Authorizer> authorizer_;
  OpenCalls* const calls_;
  const int64_t interval_ms_;
  std::mutex mutex_;  // guards over_
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace espalier::rpc
