#include "src/plan/summation_tree.h"

#include <algorithm>
#include <string>

#include "src/base/check.h"

namespace espalier::plan {

LeafSpan SpanOf(TreeNode node, int32_t leaves) {
  const int64_t begin = int64_t{node.index} << node.level;
  const int64_t end = std::min<int64_t>((int64_t{node.index} + 1) << node.level, leaves);
  return {static_cast<int32_t>(begin), static_cast<int32_t>(end)};
}

int32_t RootLevel(int32_t leaves) {
  int32_t level = 0;
  while ((int64_t{1} << level) < leaves) ++level;
  return level;
}

namespace {

// Returns the highest node that covers exactly this span. It raises a node that ends at L, or
// starts at 0 and covers all, to the level where its parent would cover more.
TreeNode Raise(TreeNode node, int32_t leaves) {
  while (node.level < RootLevel(leaves)) {
    const TreeNode parent{node.level + 1, node.index / 2};
    if (SpanOf(parent, leaves) != SpanOf(node, leaves)) break;
    node = parent;
  }
  return node;
}

}  // namespace

std::vector<TreeNode> CanonicalNodes(int32_t begin, int32_t end, int32_t leaves) {
  ESPALIER_CHECK(0 <= begin && begin <= end && end <= leaves,
                 std::to_string(begin) + ".." + std::to_string(end));
  std::vector<TreeNode> nodes;
  while (begin < end) {
    // The largest node that starts here and ends within the interval.
    TreeNode node{0, begin};
    while (node.level < RootLevel(leaves) && node.index % 2 == 0) {
      const TreeNode parent{node.level + 1, node.index / 2};
      if (SpanOf(parent, leaves).end > end) break;
      node = parent;
    }
    nodes.push_back(Raise(node, leaves));
    begin = SpanOf(node, leaves).end;
  }
  return nodes;
}

JoinPlan PlanJoin(const std::vector<TreeNode>& nodes, int32_t leaves) {
  JoinPlan plan;
  // A stack, as in a binary counter: a node that completes its sibling on top is added to it.
  for (int32_t position = 0; position < static_cast<int32_t>(nodes.size()); ++position) {
    plan.kept.push_back(position);
    plan.nodes.push_back(Raise(nodes[position], leaves));
    while (plan.nodes.size() >= 2) {
      const TreeNode left = plan.nodes[plan.nodes.size() - 2], right = plan.nodes.back();
      ESPALIER_CHECK(SpanOf(left, leaves).end == SpanOf(right, leaves).begin, "nodes not adjacent");
      if (left.level != right.level || left.index + 1 != right.index || left.index % 2 != 0) break;
      plan.steps.push_back({plan.kept[plan.kept.size() - 2], plan.kept.back()});
      plan.kept.pop_back();
      plan.nodes.pop_back();
      plan.nodes.back() = Raise({left.level + 1, left.index / 2}, leaves);
    }
  }
  return plan;
}

}  // namespace espalier::plan
