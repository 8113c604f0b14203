// The sum of the totals of an evaluation's shards (model/metrics.h). It adds in the order of the
// summation tree over all shards (plan/summation_tree.h), so the bits do not depend on the order of
// arrival. For a run of shards, it holds only the few nodes that the run makes up.
//
// Thread rule: one thread per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace espalier::cluster {

class ShardTotals {
 public:
  ShardTotals() = default;
  explicit ShardTotals(int32_t shards) : shards_(shards) {}

  // Adds the totals of a shard. REQUIRES: 0 <= shard < shards, each once; width() numbers, if that
  // is not 0.
  void Add(int32_t shard, std::vector<double> totals);
  // Returns the number of totals per shard. 0: no shard has arrived yet.
  size_t width() const { return width_; }
  // Returns the memory held, in bytes.
  int64_t bytes() const { return static_cast<int64_t>(nodes_.size() * width_ * sizeof(double)); }
  // Returns the sum, or an empty vector if there are no shards. REQUIRES: all shards have arrived.
  std::vector<double> Take();

 private:
  int32_t shards_ = 0;
  size_t width_ = 0;
  std::map<std::pair<int32_t, int32_t>, std::vector<double>> nodes_;  // indexed by level and index
};

}  // namespace espalier::cluster
