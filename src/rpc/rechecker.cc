#include "src/rpc/rechecker.h"

#include <chrono>
#include <utility>

namespace espalier::rpc {

Rechecker::Rechecker(std::shared_ptr<Authorizer> authorizer, OpenCalls* calls, int64_t interval_ms)
    : authorizer_(std::move(authorizer)), calls_(calls), interval_ms_(interval_ms) {
  thread_ = std::thread([this] { Run(); });
}

Rechecker::~Rechecker() {
  {
    MutexLock lock(mutex_);
    over_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void Rechecker::Run() {
  auto files = authorizer_->CurrentFiles();
  const auto interval = std::chrono::milliseconds(interval_ms_);
  for (ReleasableMutexLock lock(mutex_);;) {
    if (changed_.WaitFor(mutex_, interval, [this]() REQUIRES(mutex_) { return over_; })) return;
    lock.Unlock();
    authorizer_->TellRest();
    auto now = authorizer_->CurrentFiles();
    if (now != files) calls_->Recheck();
    files = std::move(now);
    lock.Lock();
  }
}

}  // namespace espalier::rpc
