// CoordinatorDaemon: work on pools, which reads and writes files or waits for others.
#include <boost/asio/post.hpp>
#include <chrono>
#include <thread>
#include <utility>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/coordinator/daemon.h"
#include "src/coordinator/preparation.h"
#include "src/coordinator/token_keeper.h"

namespace espalier {
namespace {

constexpr int64_t kAwaitMs = 10;

}  // namespace

void CoordinatorDaemon::OnPool(JobPool& pool, std::function<void()> work) {
  ++busy_;
  pool.Submit([this, work = std::move(work)] {
    work();
    --busy_;
  });
}

void CoordinatorDaemon::StartMerge(MergeWork work) {
  auto wanted = std::make_shared<std::atomic<bool>>(true);
  if (work.kind != JobKind::kTrain) wanted_[work.job] = wanted;
  OnPool(*merging_, [this, wanted, shared = std::make_shared<MergeWork>(std::move(work))] {
    const JobId job = shared->job;
    const Generation generation = shared->generation;
    const StorageOptions storage = WithTokens(storage_, shared->tokens);
    if (shared->kind != JobKind::kTrain) {
      JobScored scored{job, generation, MergeScored(std::move(*shared), storage, [&wanted] {
                         return wanted->load();
                       })};
      boost::asio::post(loop_, [this, scored = std::move(scored)] {
        wanted_.erase(scored.job);
        Feed(scored);
      });
      return;
    }
    SurveyMerged merged{job, generation, MergeShards(std::move(*shared), storage)};
    boost::asio::post(loop_, [this, merged = std::move(merged)] { Feed(merged); });
  });
}

// On the merges' thread, hence after those of the job. Workers that were told to stop may write a
// last file meanwhile: then it is tried again. What an earlier life may have left must not keep
// this one from its merges.
void CoordinatorDaemon::StartClear(ClearWork work, int tries) {
  if (work.again) return ClearAgain(std::move(work));
  static constexpr int kTriesMax = 20;
  static constexpr auto kAgain = std::chrono::milliseconds(500);
  OnPool(*merging_, [this, tries, work = std::move(work)] {
    const Status done = ClearScored(work, WithTokens(storage_, work.tokens));
    if (!done.ok() && tries < kTriesMax) {
      boost::asio::post(loop_, [this, work, tries] {
        auto timer = std::make_shared<boost::asio::steady_timer>(loop_, kAgain);
        timer->async_wait([this, timer, work, tries](const boost::system::error_code& error) {
          if (!error) StartClear(work, tries + 1);
        });
      });
      return;
    }
    if (!done.ok()) LogWarning(ToString(work.job) + ": what it wrote stays: " + done.ToString());
    for (const StorageToken& token : work.tokens) {
      const Status cancelled = CancelToken(token, PatienceOfIntake(storage_));
      if (!cancelled.ok()) LogInfo(ToString(work.job) + ": " + cancelled.ToString());
    }
  });
}

void CoordinatorDaemon::ClearAgain(ClearWork work) {
  OnPool(*pool_, [this, work = std::move(work)] {
    const Status done = ClearScored(work, PatienceOfIntake(storage_));
    if (done.ok()) return;
    LogInfo(ToString(work.job) + ": what it may have left beside " + QuotedPath(work.output) +
            " was not removed: " + done.ToString());
  });
}

void CoordinatorDaemon::StartTokenWork(TokenWork work) {
  OnPool(*keeping_tokens_, [this, work = std::move(work)] {
    const StorageOptions storage = PatienceOfIntake(storage_);
    if (work.cancel) {
      const Status done = CancelToken(work.token, storage);
      if (!done.ok()) LogInfo(ToString(work.job) + ": " + done.ToString());
      return;
    }
    TokenKept kept{work.job, work.token.file_system, KeepToken(work.token, storage)};
    boost::asio::post(loop_, [this, kept = std::move(kept)] { Feed(kept); });
  });
}

// What jobs that were cancelled have left is being removed, and without a journal nobody else will.
void CoordinatorDaemon::AwaitWork(int64_t limit_ms) const {
  for (int64_t ms = 0; busy() && ms < limit_ms; ms += kAwaitMs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kAwaitMs));
  }
}

}  // namespace espalier
