// Ends the open calls of callers that are no longer authorized. Private to rpc/.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "src/base/mutex.h"
#include "src/rpc/authorizer.h"
#include "src/rpc/open_calls.h"

namespace espalier::rpc {

// Checks every `interval_ms`, on a separate thread, whether certificate, revocation or token files
// were replaced. If so, checks all open calls again.
// Thread rule: one thread.
class Rechecker {
 public:
  // `calls` must outlive the rechecker.
  Rechecker(std::shared_ptr<Authorizer> authorizer, OpenCalls* calls, int64_t interval_ms);
  ~Rechecker();
  Rechecker(const Rechecker&) = delete;

 private:
  void Run();

  const std::shared_ptr<Authorizer> authorizer_;
  OpenCalls* const calls_;
  const int64_t interval_ms_;
  Mutex mutex_;
  CondVar changed_;
  bool over_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace espalier::rpc
