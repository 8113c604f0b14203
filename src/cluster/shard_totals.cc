#include "src/cluster/shard_totals.h"

#include <string>

#include "src/base/check.h"
#include "src/plan/summation_tree.h"

namespace espalier::cluster {

// Adds a complete node to its sibling as soon as the sibling is complete, too.
void ShardTotals::Add(int32_t shard, std::vector<double> totals) {
  ESPALIER_CHECK(0 <= shard && shard < shards_ && (width_ == 0 || totals.size() == width_),
                 std::to_string(shard) + " of " + std::to_string(shards_));
  width_ = totals.size();
  plan::TreeNode node{0, shard};
  for (const int32_t root = plan::RootLevel(shards_); node.level < root;) {
    const plan::TreeNode sibling{node.level, node.index ^ 1};
    if (plan::SpanOf(sibling, shards_).begin < shards_) {
      const auto other = nodes_.find({sibling.level, sibling.index});
      if (other == nodes_.end()) break;
      for (size_t i = 0; i < width_; ++i) totals[i] += other->second[i];
      nodes_.erase(other);
    }
    node = {node.level + 1, node.index / 2};
  }
  nodes_[{node.level, node.index}] = std::move(totals);
}

std::vector<double> ShardTotals::Take() {
  if (shards_ == 0) return {};
  const auto root = nodes_.find({plan::RootLevel(shards_), 0});
  ESPALIER_CHECK(root != nodes_.end(), "not all shards have come");
  std::vector<double> sum = std::move(root->second);
  nodes_.clear();
  return sum;
}

}  // namespace espalier::cluster
