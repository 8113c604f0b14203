// Shards as an earlier job on this worker has profiled and decoded them, kept in its memory for the
// jobs to come: those of a sweep differ in how they train, and mostly not in what they make of the
// table (with folds, once a fold).
//
// What is kept never changes and is shared. It serves another job only where all is equal that
// decoding and the profiling pass depend on: of each file of the job path, length and time of
// change, how they are cut, the schema, and what the job says of data, task, precision and the
// seed. What comes out is what that job would have found itself.
//
// All together they take at most `bytes_max`; what does not fit is not kept, unless what is kept of
// other files can make room. What no job uses for a while is given up, as is everything for a job
// that needs the memory.
//
// Thread rule: safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "src/data/profile/profile_shard.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::worker {

struct ShardCacheOptions {
  int64_t bytes_max = 0;
  int64_t idle_us_max = 600'000'000;
};

struct KeptShard {
  std::shared_ptr<data::MemoryBudget> room;  // that the rows draw on
  spec::ShardProfile profile;                // with its sample
  data::ShardRows rows;
};

class ShardCache {
 public:
  // What is kept of one input for all jobs that decode it alike. As long as a job has it, it does
  // not expire.
  class Table;

  // `now_us`: a clock that never goes back.
  ShardCache(ShardCacheOptions options, std::function<int64_t()> now_us)
      : options_(options), now_us_(std::move(now_us)) {}

  // For a job that begins. Gives up what is kept of other files and no job has.
  std::shared_ptr<Table> Use(const spec::JobSpec& job,
                             std::shared_ptr<const spec::InputPlan> input);
  // Null: not kept.
  std::shared_ptr<const KeptShard> Find(const Table& table, int32_t shard) const;
  // Keeps the shard (profile.shard) if there is room; then the caller's is empty. REQUIRES: its
  // rows are not spilled.
  std::shared_ptr<const KeptShard> Keep(Table& table, KeptShard& shard);

  // Gives up everything. What somebody still has is freed when they are done.
  void Clear();
  // Gives up what no job has and none has used for `idle_us_max`. To be called now and then.
  void Expire();
  // What is kept now, and what more may be.
  int64_t bytes() const;
  int64_t room() const { return options_.bytes_max - bytes(); }

 private:
  const ShardCacheOptions options_;
  const std::function<int64_t()> now_us_;
  mutable std::mutex mutex_;  // guards the next, and all that is in tables
  std::vector<std::shared_ptr<Table>> tables_;
  int64_t bytes_ = 0;
};

}  // namespace espalier::worker
