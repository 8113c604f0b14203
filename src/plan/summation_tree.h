// The summation tree: the fixed binary tree over leaf indices in which gradients are added. It is
// part of the arithmetic: it depends on the number of leaves alone and never changes within a job.
//
// Node (level, index) covers the leaves [index << level, min((index + 1) << level, L)). Its value
// is left child + right child; a node whose right child covers no leaf has its left child's value.
// An interval of leaves is written as its canonical nodes: the fewest nodes that tile it, in leaf
// order.
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

// The leaves a node covers, given the number of leaves.
struct LeafSpan {
  int32_t begin = 0, end = 0;
  bool operator==(const LeafSpan&) const = default;
};
LeafSpan SpanOf(TreeNode node, int32_t leaves);

// Level of the root: the least with 1 << level >= leaves.
int32_t RootLevel(int32_t leaves);

// The fewest nodes that tile [begin, end), in leaf order; a node that ends at L is named by its
// highest level. Empty for an empty interval. REQUIRES: 0 <= begin <= end <= leaves.
std::vector<TreeNode> CanonicalNodes(int32_t begin, int32_t end, int32_t leaves);

// How an ordered list of adjacent nodes becomes the canonical nodes of its union: additions to be
// done in order. `into` and `from` are positions in the list; after value[into] += value[from],
// position `from` is gone, and position `into` stands for the parent.
struct JoinStep {
  int32_t into = 0, from = 0;
  bool operator==(const JoinStep&) const = default;
};
struct JoinPlan {
  std::vector<JoinStep> steps;
  std::vector<int32_t> kept;    // positions in the list that remain, in order
  std::vector<TreeNode> nodes;  // what they stand for: the canonical nodes of the union
};
// REQUIRES: the nodes are adjacent and in leaf order.
JoinPlan PlanJoin(const std::vector<TreeNode>& nodes, int32_t leaves);

}  // namespace espalier::plan
