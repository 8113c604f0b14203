// The shards of one training job: read by the job, or taken over from an earlier job that decoded
// them in the same way (shard_cache.h). The second case requires jobs with `workers: {cache_input:
// true}`.
//
// Thread rule: Profile, TakeOver and Take are safe from several threads; the rest from one.
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/data/profile/row_store.h"
#include "src/storage/file_system.h"
#include "src/worker/shard_cache.h"

namespace espalier::worker {

class JobShards {
 public:
  // All arguments must outlive this object except `input` and `room`, whose memory the rows use.
  // `cache`: null for a job that neither takes shards over nor keeps any. Otherwise `table` is the
  // cache's table for this job (ShardCache::Use).
  JobShards(ShardCache* cache, std::shared_ptr<ShardCache::Table> table, const spec::JobSpec& job,
            std::shared_ptr<const spec::InputPlan> input, std::shared_ptr<data::MemoryBudget> room);

  // Like ProfileShard, but the result has no rows if the cache keeps them. Then Kept returns them.
  Result<data::ProfiledShard> Profile(const storage::FileSystem& files, int32_t shard);
  // Returns the kept shard. Null: not kept.
  std::shared_ptr<const KeptShard> Kept(int32_t shard) const;
  // Call before using the rows of a kept shard. Checks that the file has not changed since it was
  // listed, and that this job may read it. Skips this for rows that this job has read itself, and
  // after the first check of a file.
  Status TakeOver(const storage::FileSystem& files, int32_t shard);
  // Reads a shard that is not kept, and keeps it for this job and later ones. Returns null if it
  // would hardly fit. Then the caller reads it.
  Result<std::shared_ptr<const KeptShard>> Take(const storage::FileSystem& files, int32_t shard);

  // Returns whether a row store of these rows surely fits into memory next to all kept shards. If
  // not, the caller must call GiveUp once this job has the shards that it needs. The result also
  // determines whether Take reads shards from now on.
  bool FitsBeside(const spec::TableProfile& profile, const data::RowRanges& ranges,
                  int64_t memory_bytes);
  void GiveUp();
  int64_t kept_bytes() const { return table_ ? cache_->bytes() : 0; }
  // Returns the maximum size of all kept shards, in bytes.
  int64_t kept_bytes_max() const { return table_ ? cache_->bytes() + cache_->room() : 0; }

  bool keeps() const { return table_ != nullptr; }
  // Numbers so far: shards that this job has parsed, counting repetitions, and shards that it has
  // taken over.
  int64_t parsed() const;
  int64_t taken() const;

 private:
  Result<KeptShard> Read(const storage::FileSystem& files, int32_t shard);
  int32_t FileOf(int32_t shard) const { return input_->shards[static_cast<size_t>(shard)].file; }
  // Counts a shard that this job parses or is about to.
  void NoteParsed(int32_t shard);

  ShardCache* const cache_;
  const spec::JobSpec& job_;
  const std::shared_ptr<const spec::InputPlan> input_;
  const std::shared_ptr<data::MemoryBudget> room_;
  const std::shared_ptr<ShardCache::Table> table_;
  bool grows_ = true;  // more shards may be kept
  mutable Mutex mutex_;
  int64_t parsed_ GUARDED_BY(mutex_) = 0;
  std::set<int32_t> own_ GUARDED_BY(mutex_), taken_ GUARDED_BY(mutex_);  // shards
  std::set<int32_t> checked_ GUARDED_BY(mutex_);                         // files
};

}  // namespace espalier::worker
