// The results of a job's shards, as they arrive at the coordinator, until their merge.
//
// Thread rule: a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "src/base/status.h"
#include "src/cluster/messages.h"
#include "src/cluster/shard_totals.h"
#include "src/spec/shard_sums.h"

namespace espalier::cluster {

// Adds up sums on arrival. They are the bulk of the shards of an evaluation, of shards with
// features scaled by quartiles, and of shards with large vocabularies. All generations of a job
// share its results.
class CollectedResults {
 public:
  CollectedResults() = default;
  explicit CollectedResults(size_t shards)
      : shards_(shards), totals_(static_cast<int32_t>(shards)) {}

  // Takes the result of a shard, with at most `skipped_max` skipped rows. Returns false if it has
  // one already. kFailedPrecondition: the result does not fit the earlier ones. REQUIRES: the shard
  // is below size().
  Result<bool> Add(const std::shared_ptr<const spec::ShardResult>& result, size_t skipped_max);

  size_t size() const { return shards_.size(); }
  bool has(int32_t shard) const { return shards_[static_cast<size_t>(shard)] != nullptr; }
  int64_t count() const { return count_; }  // shards with a result
  bool complete() const { return count_ == std::ssize(shards_); }
  // Memory of all results, in bytes, until Take; and of their counts of categories.
  int64_t bytes() const { return bytes_; }
  int64_t category_bytes() const { return sums_.category_bytes; }

  // Returns all results in shard order, with the sums in those that ShardSums chooses, and keeps
  // none. The merge adds in this order, not in that of arrival. REQUIRES: complete().
  ShardResults Take();
  // Returns the totals of an evaluation, or nothing for other jobs. REQUIRES: complete() before
  // Take.
  std::vector<double> TakeTotals() {
    return totals_.width() > 0 ? totals_.Take() : std::vector<double>();
  }

 private:
  Status AddUp(const spec::ShardResult& result);
  void PutBackSums();

  ShardResults shards_;  // null: no result yet
  ShardTotals totals_;
  spec::ShardSums sums_;
  int64_t count_ = 0, bytes_ = 0;
};

}  // namespace espalier::cluster
