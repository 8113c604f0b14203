#include "src/coordinator/intake.h"

#include <algorithm>
#include <utility>

#include "src/base/log.h"
#include "src/coordinator/preparation.h"
#include "src/coordinator/token_keeper.h"

namespace espalier {
namespace {

constexpr int64_t kStorageGiveUpMs = 20'000;
constexpr int64_t kStorageConnectMs = 5'000;

}  // namespace

StorageOptions PatienceOfIntake(StorageOptions storage) {
  RetryOptions& retry = storage.webhdfs.retry;
  retry.give_up_ms = std::min(retry.give_up_ms, kStorageGiveUpMs);
  HttpOptions& http = storage.webhdfs.http;
  http.connect_ms = std::min(http.connect_ms, kStorageConnectMs);
  http.reply_ms = std::min(http.reply_ms, kStorageGiveUpMs);
  http.stall_ms = std::min(http.stall_ms, kStorageGiveUpMs);
  return storage;
}

Intake::Intake(const StorageOptions& storage, const IntakeLimits& limits, Post post, Ready ready)
    : storage_(storage),
      limits_(limits),
      post_(std::move(post)),
      ready_(std::move(ready)),
      pool_(limits.threads) {}

Intake::~Intake() { Close(); }

void Intake::Add(SubmitRequest request, CallerGone gone, Done<JobId> done) {
  const auto it = by_id_.find(request.client_request_id);
  if (it != by_id_.end()) {
    it->second.callers.push_back({std::move(gone), std::move(done)});
    return;
  }
  if (reading_ >= limits_.reading_max) {
    done(ResourceExhausted("too many submissions are being read: " + std::to_string(reading_) +
                           ", the limit of this coordinator is " +
                           std::to_string(limits_.reading_max) +
                           "; submit again in a moment (its log tells when storage is away)"));
    return;
  }
  ++reading_;
  Reading& reading = by_id_[request.client_request_id];
  reading.callers.push_back({std::move(gone), std::move(done)});
  reading.dropped = std::make_shared<std::atomic<bool>>(false);
  pool_.Submit([this, request = std::move(request), dropped = reading.dropped] {
    Read(request, dropped);
    --reading_;
  });
}

// On a thread of the pool.
void Intake::Read(const SubmitRequest& request, std::shared_ptr<std::atomic<bool>> dropped) {
  if (*dropped) return;
  StorageOptions storage = WithTokens(storage_, request.tokens);
  storage.webhdfs.http.cancelled = [dropped] { return dropped->load(); };
  Result<Submission> prepared = PrepareSubmission(request, storage);
  post_([this, id = request.client_request_id, dropped, prepared = std::move(prepared)]() mutable {
    End(id, *dropped, std::move(prepared));
  });
}

void Intake::End(const std::string& id, const std::atomic<bool>& dropped,
                 Result<Submission> prepared) {
  DropAbandoned();
  if (dropped) return;  // and the id may be another reading's by now
  std::vector<Done<JobId>> callers;
  for (Caller& caller : by_id_.at(id).callers) callers.push_back(std::move(caller.done));
  by_id_.erase(id);
  if (prepared.ok()) return ready_(*std::move(prepared), std::move(callers));
  LogInfo("refused a submission: " + prepared.status().ToString());
  for (const Done<JobId>& done : callers) done(prepared.status());
}

void Intake::Withdraw(const std::string& client_request_id) {
  const auto it = by_id_.find(client_request_id);
  if (it == by_id_.end()) return;
  *it->second.dropped = true;
  for (const Caller& caller : it->second.callers) {
    caller.done(Cancelled("the submission was withdrawn"));
  }
  by_id_.erase(it);
}

void Intake::DropAbandoned() {
  std::vector<std::string> abandoned;
  for (const auto& [id, reading] : by_id_) {
    const bool gone = std::all_of(reading.callers.begin(), reading.callers.end(),
                                  [](const Caller& caller) { return caller.gone(); });
    if (gone) abandoned.push_back(id);
  }
  for (const std::string& id : abandoned) {
    LogInfo("dropped a submission: nobody waits for its answer any more");
    Withdraw(id);
  }
}

void Intake::Close() {
  for (auto& [id, reading] : by_id_) *reading.dropped = true;
  by_id_.clear();
}

}  // namespace espalier
