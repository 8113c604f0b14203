// Shards that an earlier job on this worker has profiled and decoded, kept in memory for later
// jobs. The jobs of a sweep differ in training and mostly decode the table in the same way (with
// folds, once per fold).
//
// Kept shards never change and are shared. They serve another job only if all inputs of decoding
// and the profiling pass are equal. These are each file's path, length and time of change, the
// division into shards, the schema, and the job's data, task, precision and seed. The result is
// what that job would have computed itself.
//
// All shards together take at most `bytes_max`. A shard that does not fit is not kept, unless
// dropping shards of other files makes room. The cache drops shards that no job uses for a while.
// It drops all shards for a job that needs the memory.
//
// Thread rule: safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "src/base/mutex.h"
#include "src/data/profile/profile_shard.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::worker {

struct ShardCacheOptions {
  int64_t bytes_max = 0;
  int64_t idle_us_max = 600'000'000;
};

struct KeptShard {
  std::shared_ptr<data::MemoryBudget> room;  // memory that the rows use
  spec::ShardProfile profile;                // includes its sample
  data::ShardRows rows;
};

class ShardCache {
 public:
  // The kept shards of one input, for all jobs that decode it in the same way. It does not expire
  // while a job has it.
  class Table;

  // `now_us`: a clock that never goes back.
  ShardCache(ShardCacheOptions options, std::function<int64_t()> now_us)
      : options_(options), now_us_(std::move(now_us)) {}

  // Returns the table for a job that begins. Drops the tables of other files that no job has.
  std::shared_ptr<Table> Use(const spec::JobSpec& job,
                             std::shared_ptr<const spec::InputPlan> input);
  // Returns a kept shard. Null: not kept.
  std::shared_ptr<const KeptShard> Find(const Table& table, int32_t shard) const;
  // Keeps the shard (profile.shard) if there is room, and empties the caller's. REQUIRES: its rows
  // are not spilled.
  std::shared_ptr<const KeptShard> Keep(Table& table, KeptShard& shard);

  // Drops all shards. Shards still in use are freed after their last use.
  void Clear();
  // Drops tables that no job has and none has used for `idle_us_max`. Call it from time to time.
  void Expire();
  // Returns the size of the kept shards, and the size that may be added.
  int64_t bytes() const;
  int64_t room() const { return options_.bytes_max - bytes(); }

 private:
  const ShardCacheOptions options_;
  const std::function<int64_t()> now_us_;
  mutable Mutex mutex_;  // also guards the content of the tables
  std::vector<std::shared_ptr<Table>> tables_ GUARDED_BY(mutex_);
  int64_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::worker
