// Who owns which leaves, and the physical tree along which partial sums travel.
//
// Each member owns a contiguous interval of leaves, members in leaf order. The physical tree is the
// in-order binary tree over the members: join j (0 <= j < W - 1) stands between members j and j + 1
// and is done by member j; it adds what comes from its left part (members lo..j) to what comes from
// its right part (members j+1..hi). Every member has one place as a leaf of this tree, and at most
// one join. (A member that joins two subtrees *and* puts its own leaves between them, as
// in a tree with members at the inner nodes only, cannot keep the bound below: the canonical nodes
// left and right of its small interval grow with the depth.)
//
// The join at the top is done twice: the *holders* of its left and right part (whoever joined that
// part, or its only member) send each other what they hold, and both add left + right. So the way
// up and down is one message shorter than by a single root, and with two members both directions
// carry the same.
//
// What travels on an edge are the canonical nodes of the subtree's leaves, each one gradient long:
// so intervals are chosen such that no edge carries more than `kNodesAtRest` (2) of them when all
// members are alike, and `kNodesAfterMove` (4) when leaves were moved away from a slow member. More
// freedom gives a better balance and costs bytes.
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
  std::vector<LeafSpan> intervals;  // one a member; each at least one leaf; together [0, leaves)
};

// Members that are alike. REQUIRES: 1 <= members <= leaves.
Ownership PlanOwnership(int32_t leaves, int32_t members);

// Members of different speed (leaves a second, > 0): makes the slowest member's time as short as
// the bound on nodes allows.
Ownership PlanOwnership(int32_t leaves, std::span<const double> speeds, int32_t nodes_max);

// Where one input of a join comes from.
enum class SourceKind : uint8_t { kOwnLeaves, kLeavesOf, kJoinOf };
struct JoinSource {
  SourceKind kind = SourceKind::kOwnLeaves;
  int32_t member = 0;           // the sender; self for kOwnLeaves
  std::vector<TreeNode> nodes;  // what it delivers
};

// What a holder does at the top of the tree.
struct TopJoin {
  int32_t partner = -1;               // the other holder
  bool holds_left = false;            // the part before the partner's
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
  JoinSource left, right;        // when it joins
  JoinPlan join;                 // over left.nodes then right.nodes
  int32_t join_to = -1;          // member whose join takes the result; -1: it goes into the top
  std::optional<TopJoin> top;    // of the two holders
  std::vector<int32_t> down_to;  // members to which it passes the total on
  int32_t down_from = -1;        // member from which it gets the total; -1: it makes it
  // The member that speaks for all: it decides what time decides, and writes the bundle.
  bool is_root() const { return top ? top->holds_left : down_from < 0; }
};

// The physical tree over given intervals: fewest nodes on the worst edge first, then least depth.
// One place a member; one of them is the root.
std::vector<TreePlace> PlanTree(const Ownership& ownership, int32_t leaves);

// Who it is.
int32_t RootOf(const std::vector<TreePlace>& places);

// The pairs of members that exchange messages: each once, ascending, the lower one first. `star`:
// not along the tree, but the root with each other member.
std::vector<std::pair<int32_t, int32_t>> EdgesOf(const std::vector<TreePlace>& places,
                                                 bool star = false);

// Longest way from a member to the nearer holder, in edges.
int32_t Depth(const std::vector<TreePlace>& places);
// Most canonical nodes on any edge between two members.
int32_t MostNodesOnAnEdge(const std::vector<TreePlace>& places);

}  // namespace espalier::plan
