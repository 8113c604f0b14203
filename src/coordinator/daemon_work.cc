// CoordinatorDaemon: work on pools, which reads and writes files or waits for other services.
#include <boost/asio/post.hpp>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "src/base/log.h"
#include "src/coordinator/daemon.h"
#include "src/coordinator/preparation.h"
#include "src/coordinator/token_keeper.h"

namespace espalier::coordinator {
namespace {

constexpr int64_t kAwaitMs = 10;
constexpr int64_t kClearLimitMs = 10'000;

// Returns the groups of work on a file system for a job of `owner`.
std::set<std::string> Groups(const std::string& owner, const std::string& file_system) {
  std::set<std::string> groups = {"file system " + file_system};
  if (!owner.empty()) groups.insert("owner " + owner);
  return groups;
}

}  // namespace

void CoordinatorDaemon::OnPool(JobPool& pool, std::function<void()> work) {
  ++busy_;
  pool.Submit([this, work = std::move(work)] {
    work();
    --busy_;
  });
}

void CoordinatorDaemon::OnPool(FairPool& pool, std::set<std::string> groups,
                               std::function<void()> work) {
  ++busy_;
  pool.Submit(std::move(groups), [this, work = std::move(work)] {
    work();
    --busy_;
  });
}

void CoordinatorDaemon::StartMerge(cluster::MergeWork work) {
  auto wanted = std::make_shared<std::atomic<bool>>(true);
  if (work.score() != nullptr) wanted_[work.job] = wanted;
  OnPool(*merging_, [this, wanted, shared = std::make_shared<cluster::MergeWork>(std::move(work))] {
    const JobId job = shared->job;
    const Generation generation = shared->generation;
    const storage::StorageOptions storage = WithTokens(storage_, shared->tokens);
    if (shared->score() != nullptr) {
      cluster::JobScored scored{
          job, generation,
          MergeScored(std::move(*shared), storage, [&wanted] { return wanted->load(); })};
      boost::asio::post(loop_, [this, scored = std::move(scored)] {
        wanted_.erase(scored.job);
        Feed(scored);
      });
      return;
    }
    const cluster::ProfileMerged merged{job, generation, MergeShards(std::move(*shared), storage)};
    boost::asio::post(loop_, [this, merged = std::move(merged)] { Feed(merged); });
  });
}

void CoordinatorDaemon::StartFence(cluster::FenceWork work) {
  std::set<std::string> groups = Groups(work.owner, FileSystemOf(work.output));
  OnPool(*fencing_, std::move(groups), [this, work = std::move(work)] {
    cluster::OutputFenced fenced{
        work.job, FenceJob(work, WithTokens(PatienceOfIntake(storage_), work.tokens))};
    boost::asio::post(loop_, [this, fenced = std::move(fenced)] { Feed(fenced); });
  });
}

void CoordinatorDaemon::StartCheck(cluster::CheckWork work) {
  std::set<std::string> groups = Groups(work.owner, FileSystemOf(work.output));
  OnPool(*fencing_, std::move(groups), [this, work = std::move(work)] {
    cluster::OutputChecked checked{
        work.job, CheckJob(work, WithTokens(PatienceOfIntake(storage_), work.tokens))};
    boost::asio::post(loop_, [this, checked = std::move(checked)] { Feed(checked); });
  });
}

Clearing::Hooks CoordinatorDaemon::ClearingHooks() {
  Clearing::Hooks hooks;
  hooks.now_ms = [this] { return NowMs(); };
  hooks.submit = [this](spec::JobKind kind, std::function<void()> work) {
    if (kind == spec::JobKind::kTrain) return OnPool(*fencing_, {}, std::move(work));
    OnPool(*merging_, std::move(work));
  };
  hooks.clear = [this](const cluster::ClearWork& work) {
    storage::StorageOptions storage = WithTokens(PatienceOfIntake(storage_), work.tokens);
    storage.webhdfs.http.cancelled = [this] { return clearing_.closed(); };
    return ClearJob(work, storage);
  };
  hooks.over = [this](const cluster::ClearWork& work) {
    if (clearing_.closed()) return;  // the loop is over: the next life clears with the tokens
    for (const spec::StorageToken& token : work.tokens) {
      const Status cancelled = CancelToken(token, PatienceOfIntake(storage_));
      if (!cancelled.ok()) LogInfo(ToString(work.job) + ": " + cancelled.ToString());
    }
    boost::asio::post(loop_, [this, job = work.job] { Feed(cluster::JobCleared{job}); });
  };
  return hooks;
}

void CoordinatorDaemon::StartTokenWork(cluster::TokenWork work) {
  std::set<std::string> groups = Groups(work.owner, work.token.file_system);
  OnPool(*keeping_tokens_, std::move(groups), [this, work = std::move(work)] {
    const storage::StorageOptions storage = PatienceOfIntake(storage_);
    if (work.cancel) {
      const Status done = CancelToken(work.token, storage);
      if (!done.ok()) LogInfo(ToString(work.job) + ": " + done.ToString());
      return;
    }
    cluster::TokenKept kept{work.job, work.token.file_system, KeepToken(work.token, storage)};
    boost::asio::post(loop_, [this, kept = std::move(kept)] { Feed(kept); });
  });
}

// The daemon is removing the leftovers of cancelled jobs, and without a journal no later one will.
// The removal may take longer, but must end before a service manager kills the process.
void CoordinatorDaemon::AwaitWork(int64_t limit_ms) {
  for (int64_t ms = 0;; ms += kAwaitMs) {
    clearing_.Continue();
    const bool clears = clearing_.open();
    if (ms >= (clears ? kClearLimitMs : limit_ms) || (!clears && !busy())) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(kAwaitMs));
  }
  clearing_.Close();
}

}  // namespace espalier::coordinator
