// The sum of what shards of an evaluation counted (model/metrics.h, totals), in the order of the
// summation tree over all shards (plan/summation_tree.h): the same bits whichever comes first, and
// of a run of shards no more is held than the few nodes that it makes up.
//
// Thread rule: one thread an object.
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

  // REQUIRES: 0 <= shard < shards, each once; width() numbers, when that is not 0.
  void Add(int32_t shard, std::vector<double> totals);
  // How many numbers a shard has; 0: none has come yet.
  size_t width() const { return width_; }
  // Memory that is held.
  int64_t bytes() const { return static_cast<int64_t>(nodes_.size() * width_ * sizeof(double)); }
  // The sum; empty when there is no shard. REQUIRES: all have come.
  std::vector<double> Take();

 private:
  int32_t shards_ = 0;
  size_t width_ = 0;
  std::map<std::pair<int32_t, int32_t>, std::vector<double>> nodes_;  // by level and index
};

}  // namespace espalier::cluster
