#include "src/worker/profiling_run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "src/base/mutex.h"
#include "src/base/thread_pool.h"
#include "src/data/table/row_sample.h"
#include "src/rpc/message_size.h"
#include "src/worker/watched_files.h"

namespace espalier::worker {
namespace {

class ProfilingRun {
 public:
  ProfilingRun(const storage::FileSystem& files, const spec::InputPlan& input,
               const std::vector<int32_t>& shards, const ProfileOne& profile_one,
               const std::atomic<bool>& aborted, const ProfilingRunOptions& options,
               const ProfilingRunHooks& hooks)
      : files_(files),
        input_(input),
        shards_(shards),
        profile_one_(profile_one),
        aborted_(aborted),
        options_(options),
        hooks_(hooks),
        results_(shards.size()),
        bytes_(shards.size()) {}

  Result<std::vector<data::ProfiledShard>> Run() {
    {
      MutexLock lock(mutex_);
      last_us_ = part_us_ = hooks_.now_us();
    }
    ComputePool pool(options_.threads);
    pool.ParallelFor(static_cast<int64_t>(shards_.size()), [this](int64_t i) { Profile(i); });
    if (aborted_) return Cancelled("the profiling pass was aborted");
    std::vector<data::ProfiledShard> out;
    MutexLock lock(mutex_);
    for (size_t i = 0; i < results_.size(); ++i) {
      auto& r = results_[i];
      if (!r) continue;  // skipped after a bad one
      if (!r->ok()) return r->status();
      data::ProfiledShard& shard = out.emplace_back();
      shard.profile.shard = shards_[i];
      shard.rows = std::move((*r)->rows);
      shard.has_rows = (*r)->has_rows;
    }
    return out;
  }

 private:
  void Profile(int64_t i) {
    if (aborted_ || failed_) return;
    const spec::Shard& shard = input_.shards[shards_[i]];
    const int64_t size = shard.end - shard.begin;
    int64_t read = 0;  // bytes of this shard; a reader may read beyond it, or twice
    const auto count = [&](int64_t bytes) {
      const int64_t more = std::min(bytes, size - read);
      read += more;
      CountBytes(more);
    };
    const WatchedFiles watched(
        files_,
        [this] { return aborted_ ? Cancelled("the profiling pass was aborted") : Status::Ok(); },
        count);
    Result<ShardOutcome> result = profile_one_(watched, shards_[i]);
    count(size);
    if (!result.ok()) return Take(i, result.status(), 0);
    if (auto* profile = std::get_if<spec::ShardProfile>(&result->result)) {
      MutexLock lock(mutex_);
      pruner_.Prune(&profile->sample);
    }
    const Result<int64_t> message_bytes = rpc::MeasureResult(input_, result->result);
    if (!message_bytes.ok()) return Take(i, message_bytes.status(), 0);
    Take(i, std::move(result), *message_bytes);
  }

  void CountBytes(int64_t more) {
    MutexLock lock(mutex_);
    bytes_read_ += more;
    const int64_t now_us = hooks_.now_us();
    if (now_us - last_us_ < options_.report_interval_us) return;
    last_us_ = now_us;
    hooks_.on_bytes_read(bytes_read_);
  }

  void Take(int64_t i, Result<ShardOutcome> result, int64_t message_bytes) {
    MutexLock lock(mutex_);
    if (!result.ok()) failed_ = true;
    results_[i] = std::move(result);
    bytes_[i] = message_bytes;
    if (failed_) return;
    KeepWithinBudget(**results_[i]);
    for (; sent_ < results_.size() && results_[sent_]; ++sent_) {
      if (part_bytes_ + bytes_[sent_] > options_.part_bytes) SendPart();
      part_bytes_ += bytes_[sent_];
      part_.push_back(
          std::make_shared<const spec::ShardResult>(std::move((*results_[sent_])->result)));
    }
    const bool due = hooks_.now_us() - part_us_ >= options_.part_interval_us;
    if (due || sent_ == results_.size()) SendPart();
  }

  void SendPart() REQUIRES(mutex_) {
    part_bytes_ = 0;
    if (part_.empty()) return;
    part_us_ = hooks_.now_us();
    hooks_.on_part(std::exchange(part_, {}));
  }

  void KeepWithinBudget(ShardOutcome& shard) REQUIRES(mutex_) {
    const int64_t bytes = shard.rows.MemoryBytes();
    if (!shard.rows.spilled() && kept_bytes_ + bytes <= options_.rows_bytes_max) {
      kept_bytes_ += bytes;
      return;
    }
    shard.rows = {};
    shard.has_rows = false;
  }

  const storage::FileSystem& files_;
  const spec::InputPlan& input_;
  const std::vector<int32_t>& shards_;
  const ProfileOne& profile_one_;
  const std::atomic<bool>& aborted_;
  const ProfilingRunOptions& options_;
  const ProfilingRunHooks& hooks_;
  std::atomic<bool> failed_{false};

  Mutex mutex_;
  // Indexed by place in shards_.
  std::vector<std::optional<Result<ShardOutcome>>> results_ GUARDED_BY(mutex_);
  std::vector<int64_t> bytes_ GUARDED_BY(mutex_);  // size of each result in a message
  size_t sent_ GUARDED_BY(mutex_) = 0;             // number of shards that are sent or in part_
  data::SamplePruner pruner_ GUARDED_BY(mutex_);
  cluster::ShardResults part_ GUARDED_BY(mutex_);
  int64_t part_us_ GUARDED_BY(mutex_) = 0;  // time of the last part sent
  int64_t part_bytes_ GUARDED_BY(mutex_) = 0;
  int64_t kept_bytes_ GUARDED_BY(mutex_) = 0;
  int64_t bytes_read_ GUARDED_BY(mutex_) = 0;
  int64_t last_us_ GUARDED_BY(mutex_) = 0;  // time of the last report of bytes read
};

}  // namespace

Result<std::vector<data::ProfiledShard>> RunProfiling(const storage::FileSystem& files,
                                                      const spec::InputPlan& input,
                                                      const std::vector<int32_t>& shards,
                                                      const ProfileOne& profile_one,
                                                      const std::atomic<bool>& aborted,
                                                      const ProfilingRunOptions& options,
                                                      const ProfilingRunHooks& hooks) {
  return ProfilingRun(files, input, shards, profile_one, aborted, options, hooks).Run();
}

}  // namespace espalier::worker
