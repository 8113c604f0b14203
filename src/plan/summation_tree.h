// The summation tree: the fixed binary tree over leaf indices in which gradients are added. It is
// part of the arithmetic. It depends only on the number of leaves and never changes within a job.
//
// Node (level, index) covers the leaves [index << level, min((index + 1) << level, L)). Its value
// is left child + right child. A node whose right child covers no leaf has its left child's value.
// The canonical nodes of an interval of leaves are the fewest nodes that tile it, in leaf order.
//
//   L = 6:            (3,0)                canonical nodes of [1, 6): (0,1) (1,1) (2,1)
//               (2,0)      (2,1)           where (2,1) covers 4..5, and equals (1,2)
//            (1,0) (1,1)  (1,2)
//            0   1 2   3  4   5
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace espalier::plan {

struct TreeNode {
  int32_t level = 0;
  int32_t index = 0;
  bool operator==(const TreeNode&) const = default;
};

// Leaves that a node covers, given the number of leaves.
struct LeafSpan {
  int32_t begin = 0, end = 0;
  bool operator==(const LeafSpan&) const = default;
};
LeafSpan SpanOf(TreeNode node, int32_t leaves);

// Returns the level of the root: the lowest with 1 << level >= leaves.
int32_t RootLevel(int32_t leaves);

// Returns the fewest nodes that tile [begin, end), in leaf order. A node that ends at L has its
// highest level. Empty for an empty interval. REQUIRES: 0 <= begin <= end <= leaves.
std::vector<TreeNode> CanonicalNodes(int32_t begin, int32_t end, int32_t leaves);

// One addition on the way from an ordered list of adjacent nodes to the canonical nodes of its
// union. `into` and `from` are positions in the list. After value[into] += value[from], position
// `from` is gone, and position `into` represents the parent. The steps of a JoinPlan are in order.
struct JoinStep {
  int32_t into = 0, from = 0;
  bool operator==(const JoinStep&) const = default;
};
struct JoinPlan {
  std::vector<JoinStep> steps;
  std::vector<int32_t> kept;    // positions in the list that remain, in order
  std::vector<TreeNode> nodes;  // nodes at these positions: the canonical nodes of the union
};
// Returns the plan to join the nodes. REQUIRES: the nodes are adjacent and in leaf order.
JoinPlan PlanJoin(const std::vector<TreeNode>& nodes, int32_t leaves);

}  // namespace espalier::plan
