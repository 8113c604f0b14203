// Profiles or scores the shards of one member. A team of threads reads each shard once. Results are
// sent in parts, in the order of the shards, as soon as they are complete. So neither the member
// nor a message ever holds all of them.
//
// Thread rule: Run on one thread; see the hooks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "src/base/status.h"
#include "src/cluster/messages.h"
#include "src/data/profile/profile_shard.h"
#include "src/spec/input.h"
#include "src/storage/file_system.h"

namespace espalier::worker {

struct ProfilingRunOptions {
  int threads = 1;
  // Memory for decoded rows that are kept for loading. Beyond this limit, and if rows went to the
  // spill directory, a shard's rows are dropped and read again.
  int64_t rows_bytes_max = 0;
  // A part is sent when its message has `part_bytes`, or when a shard is done `part_interval_us`
  // after the part before. Shards that were sent are not read again when another member is lost.
  int64_t part_bytes = int64_t{4} << 20;
  int64_t part_interval_us = 1'000'000;
  int64_t report_interval_us = 200'000;
};

// Called on the reading threads, one call at a time.
struct ProfilingRunHooks {
  std::function<int64_t()> now_us;                     // a clock that never goes back
  std::function<void(cluster::ShardResults)> on_part;  // called in the order of the shards
  std::function<void(int64_t bytes)> on_bytes_read;    // total so far; a few calls per second
};

// A shard that was profiled or scored.
struct ShardOutcome {
  spec::ShardResult result;
  data::ShardRows rows = {};  // decoded rows of a profiled shard
  bool has_rows = false;
};

// Profiles or scores a shard through a file system that counts the bytes read. Called on several
// threads at once.
using ProfileOne =
    std::function<Result<ShardOutcome>(const storage::FileSystem& files, int32_t shard)>;

// Returns the data of the shards for loading: their numbers, and decoded rows if they were kept.
// The statistics have gone into the parts. Errors are those of `profile_one` and MeasureResult. The
// error is that of the first bad shard in order, regardless of when it was found. Returns
// kCancelled soon after `aborted` became true.
Result<std::vector<data::ProfiledShard>> RunProfiling(const storage::FileSystem& files,
                                                      const spec::InputPlan& input,
                                                      const std::vector<int32_t>& shards,
                                                      const ProfileOne& profile_one,
                                                      const std::atomic<bool>& aborted,
                                                      const ProfilingRunOptions& options,
                                                      const ProfilingRunHooks& hooks);

}  // namespace espalier::worker
