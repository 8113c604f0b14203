// The shards of one job that trains: read by itself, or taken over from a job before that decoded
// them alike (shard_cache.h), of jobs with `workers: {cache_input: true}`.
//
// Thread rule: Profile, TakeOver and Take are safe from several threads; the rest from one.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "src/base/status.h"
#include "src/data/profile/row_store.h"
#include "src/storage/file_system.h"
#include "src/worker/shard_cache.h"

namespace espalier::worker {

class JobShards {
 public:
  // All must outlive this but `input` and `room`, which rows draw on. `cache`: null for a job that
  // neither takes nor leaves anything; else `table` is what it has of this job's (ShardCache::Use).
  JobShards(ShardCache* cache, std::shared_ptr<ShardCache::Table> table, const spec::JobSpec& job,
            std::shared_ptr<const spec::InputPlan> input, std::shared_ptr<data::MemoryBudget> room);

  // As ProfileShard. Without rows when they are kept: Kept has them then.
  Result<data::ProfiledShard> Profile(const storage::FileSystem& files, int32_t shard);
  // Null: not kept.
  std::shared_ptr<const KeptShard> Kept(int32_t shard) const;
  // Before the rows of a kept shard are used: unless this job has read them itself, that the file
  // is still what was listed, and that this job may read it, which is asked once a file.
  Status TakeOver(const storage::FileSystem& files, int32_t shard);
  // A shard that is not kept, after reading it, for this job and those to come; null where it would
  // hardly fit: then the caller reads it.
  Result<std::shared_ptr<const KeptShard>> Take(const storage::FileSystem& files, int32_t shard);

  // Whether a row store of these rows surely fits into the memory beside all that is kept. When
  // not, that must be given up (GiveUp) once this job has taken hold of what it needs. Also decides
  // whether Take reads from now on.
  bool FitsBeside(const spec::TableProfile& profile, const data::RowRanges& ranges,
                  int64_t memory_bytes);
  void GiveUp();
  int64_t kept_bytes() const { return table_ ? cache_->bytes() : 0; }
  // What all that is kept may come to.
  int64_t kept_bytes_max() const { return table_ ? cache_->bytes() + cache_->room() : 0; }

  bool keeps() const { return table_ != nullptr; }
  // So far: how often this job has parsed a shard, and how many it has taken over.
  int64_t parsed() const;
  int64_t taken() const;

 private:
  Result<KeptShard> Read(const storage::FileSystem& files, int32_t shard);
  int32_t FileOf(int32_t shard) const { return input_->shards[static_cast<size_t>(shard)].file; }
  // This job parses the shard, or is about to.
  void NoteParsed(int32_t shard);

  ShardCache* const cache_;
  const spec::JobSpec& job_;
  const std::shared_ptr<const spec::InputPlan> input_;
  const std::shared_ptr<data::MemoryBudget> room_;
  const std::shared_ptr<ShardCache::Table> table_;
  bool grows_ = true;         // what is kept may
  mutable std::mutex mutex_;  // guards all below
  int64_t parsed_ = 0;
  std::set<int32_t> own_, taken_;  // shards
  std::set<int32_t> checked_;      // files
};

}  // namespace espalier::worker
