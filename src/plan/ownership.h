// The assignment of leaves to members, and the physical tree along which partial sums travel.
//
// Each member owns a contiguous interval of leaves, members in leaf order. The physical tree is the
// in-order binary tree over the members. Join j (0 <= j < W - 1) lies between members j and j + 1,
// and member j performs it. It adds the input from its left part (members lo..j) to the input from
// its right part (members j+1..hi). Every member has one place as a leaf of this tree, and at most
// one join. (In a tree with members at the inner nodes only, a member joins two subtrees *and* puts
// its own leaves between them. That tree cannot keep the bound below: the canonical nodes left and
// right of the member's small interval grow with the depth.)
//
// Two members perform the join at the top: the *holders* of its left and right part. A holder is
// the member that joined the part, or its only member. The holders send each other their parts, and
// both add left + right. So the way up and down is one message shorter than with a single root.
// With two members, both directions carry the same amount.
//
// An edge carries the canonical nodes of the subtree's leaves, and each node has the size of a
// gradient. The choice of intervals therefore limits the nodes on each edge. The limit is
// `kNodesAtRest` (2) if all members are alike, and `kNodesAfterMove` (4) if leaves were moved from
// a slow member. More freedom gives a better balance and costs bytes.
//
//   16 leaves, 3 members: [0,6) [6,12) [12,16)      join 0 = top of {0} and {1,2}
//   edges: member 0's leaves (2,0)(1,2)         -> member 1, which holds the right part
//          join 1's result [6,16) = (1,3)(3,1)  -> member 0, which holds the left part
//          member 2's leaves (2,3)              -> join 1
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/plan/summation_tree.h"

namespace espalier::plan {

inline constexpr int32_t kNodesAtRest = 2;
inline constexpr int32_t kNodesAfterMove = 4;

struct Ownership {
  std::vector<LeafSpan> intervals;  // one per member; each at least one leaf; together [0, leaves)
};

// Plans for members of the same speed. REQUIRES: 1 <= members <= leaves.
Ownership PlanOwnership(int32_t leaves, int32_t members);

// Plans for members of different speeds (leaves per second, > 0). The slowest member's time is as
// short as the bound on nodes allows.
Ownership PlanOwnership(int32_t leaves, std::span<const double> speeds, int32_t nodes_max);

// The source of one input of a join.
enum class SourceKind : uint8_t { kOwnLeaves, kLeavesOf, kJoinOf };
struct JoinSource {
  SourceKind kind = SourceKind::kOwnLeaves;
  int32_t member = 0;           // the sender; self for kOwnLeaves
  std::vector<TreeNode> nodes;  // nodes that it delivers
};

// The work of a holder at the top of the tree.
struct TopJoin {
  int32_t partner = -1;               // the other holder
  bool holds_left = false;            // holds the part before the partner's
  std::vector<TreeNode> own, theirs;  // nodes of this holder's part and of the partner's
  JoinPlan join;                      // over the left part's nodes, then the right part's
};

// One member's place in the physical tree.
struct TreePlace {
  int32_t self = 0;
  std::vector<TreeNode> own_nodes;  // canonical nodes of its own leaves
  int32_t leaves_to = -1;  // member whose join takes them; self: its own join; -1: no join, they
                           // are its part of the top or, alone in the job, the total
  bool joins = false;
  JoinSource left, right;        // only if it joins
  JoinPlan join;                 // over left.nodes then right.nodes
  int32_t join_to = -1;          // member whose join takes the result; -1: it goes to the top
  std::optional<TopJoin> top;    // only for the two holders
  std::vector<int32_t> down_to;  // members to which it passes the total
  int32_t down_from = -1;        // member from which it gets the total; -1: it computes it
  // Returns whether this member acts for all: it makes the decisions that depend on time, and
  // writes the bundle.
  bool is_root() const { return top ? top->holds_left : down_from < 0; }
};

// Returns the physical tree over given intervals. It minimizes the nodes on the worst edge, then
// the depth. The result has one place per member. One of them is the root.
std::vector<TreePlace> PlanTree(const Ownership& ownership, int32_t leaves);

// Returns the index of the root.
int32_t RootOf(const std::vector<TreePlace>& places);

// Returns the pairs of members that exchange messages, each once, ascending, the lower index first.
// `star`: the pairs are the root with each other member, instead of the edges of the tree.
std::vector<std::pair<int32_t, int32_t>> EdgesOf(const std::vector<TreePlace>& places,
                                                 bool star = false);

// Returns the longest path from a member to the nearer holder, in edges.
int32_t Depth(const std::vector<TreePlace>& places);
// Returns the maximum number of canonical nodes on an edge between two members.
int32_t MostNodesOnAnEdge(const std::vector<TreePlace>& places);

}  // namespace espalier::plan
