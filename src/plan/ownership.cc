#include "src/plan/ownership.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "src/base/check.h"

namespace espalier::plan {
namespace {

// Returns the number of canonical nodes of [begin, end).
int32_t NodeCount(int32_t begin, int32_t end, int32_t leaves) {
  return static_cast<int32_t>(CanonicalNodes(begin, end, leaves).size());
}

// Finds intervals top-down. It splits a run of members on an interval into two runs on two parts,
// both of at most nodes_max canonical nodes. The split makes the slowest member as fast as
// possible.
class IntervalSearch {
 public:
  IntervalSearch(int32_t leaves, std::span<const double> speeds, int32_t nodes_max)
      : leaves_(leaves), nodes_max_(nodes_max), sums_(speeds.size() + 1, 0.0) {
    for (size_t i = 0; i < speeds.size(); ++i) sums_[i + 1] = sums_[i] + speeds[i];
    alike_ = std::all_of(speeds.begin(), speeds.end(), [&](double s) { return s == speeds[0]; });
  }

  std::vector<LeafSpan> Run() {
    Best({0, leaves_}, 0, static_cast<int32_t>(sums_.size()) - 1);
    std::vector<LeafSpan> intervals;
    Collect({0, leaves_}, 0, static_cast<int32_t>(sums_.size()) - 1, intervals);
    return intervals;
  }

 private:
  struct Choice {
    double time = std::numeric_limits<double>::infinity();  // time of the slowest member
    int32_t cut = 0;                                        // leaf at which to cut
    int32_t members = 0;                                    // number in the left part
  };
  struct Candidate {
    double bound;
    int32_t cut, members;
  };

  double Speed(int32_t first, int32_t count) const { return sums_[first + count] - sums_[first]; }

  const Choice& Best(LeafSpan span, int32_t first, int32_t count) {
    const auto key = std::tuple(span.begin, span.end, alike_ ? 0 : first, count);
    if (const auto found = memo_.find(key); found != memo_.end()) return found->second;
    Choice best;
    const int32_t size = span.end - span.begin;
    if (count == 1) {
      best.time = size / Speed(first, 1);
    } else {
      // Tries only the most promising candidates. A bound from the parts' total speeds prunes the
      // rest.
      constexpr size_t kTried = 3;
      std::vector<Candidate> candidates = Candidates(span, first, count);
      if (candidates.size() > kTried) candidates.resize(kTried);
      for (const Candidate& c : candidates) {
        if (c.bound >= best.time) break;
        const double left = Best({span.begin, c.cut}, first, c.members).time;
        const double right = Best({c.cut, span.end}, first + c.members, count - c.members).time;
        if (std::max(left, right) < best.time) best = {std::max(left, right), c.cut, c.members};
      }
    }
    return memo_.emplace(key, best).first->second;
  }

  std::vector<Candidate> Candidates(LeafSpan span, int32_t first, int32_t count) const {
    int32_t widest = 0;
    for (const TreeNode& n : CanonicalNodes(span.begin, span.end, leaves_)) {
      const LeafSpan covered = SpanOf(n, leaves_);
      widest = std::max(widest, RootLevel(covered.end - covered.begin));
    }
    // Finer cuts leave more than nodes_max nodes on one side.
    const int32_t grain = 1 << std::max(0, widest - nodes_max_ - 1);
    std::vector<Candidate> candidates;
    for (int32_t cut = (span.begin / grain + 1) * grain; cut < span.end; cut += grain) {
      if (NodeCount(span.begin, cut, leaves_) > nodes_max_ ||
          NodeCount(cut, span.end, leaves_) > nodes_max_) {
        continue;
      }
      const int32_t left = cut - span.begin, right = span.end - cut;
      const double wanted = Speed(first, count) * left / (left + right);
      int32_t near = 1;  // members whose speed is nearest to the left part's share
      while (near < count - 1 && Speed(first, near) < wanted) ++near;
      for (int32_t members = near - 1; members <= near; ++members) {
        if (members < 1 || members > left || count - members > right) continue;
        const double time =
            std::max(left / Speed(first, members), right / Speed(first + members, count - members));
        candidates.push_back({time, cut, members});
      }
      const int32_t forced =
          std::clamp(near, std::max(1, count - right), std::min(count - 1, left));
      candidates.push_back(
          {std::max(left / Speed(first, forced), right / Speed(first + forced, count - forced)),
           cut, forced});
    }
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return std::tie(a.bound, a.cut, a.members) < std::tie(b.bound, b.cut, b.members);
    });
    candidates.erase(std::unique(candidates.begin(), candidates.end(),
                                 [](const Candidate& a, const Candidate& b) {
                                   return a.cut == b.cut && a.members == b.members;
                                 }),
                     candidates.end());
    return candidates;
  }

  void Collect(LeafSpan span, int32_t first, int32_t count, std::vector<LeafSpan>& out) {
    if (count == 1) {
      out.push_back(span);
      return;
    }
    const Choice choice = Best(span, first, count);
    ESPALIER_CHECK(choice.members > 0, "no cut for " + std::to_string(count) + " members");
    Collect({span.begin, choice.cut}, first, choice.members, out);
    Collect({choice.cut, span.end}, first + choice.members, count - choice.members, out);
  }

  int32_t leaves_, nodes_max_;
  std::vector<double> sums_;  // prefix sums of the speeds
  bool alike_ = false;
  std::map<std::tuple<int32_t, int32_t, int32_t, int32_t>, Choice> memo_;
};

// Chooses for each run of members the join at its top, by dynamic programming over runs.
class TreeSearch {
 public:
  TreeSearch(const std::vector<LeafSpan>& intervals, int32_t leaves)
      : n_(static_cast<int32_t>(intervals.size())), best_(static_cast<size_t>(n_) * n_) {
    std::vector<int32_t> nodes(best_.size());
    for (int32_t lo = 0; lo < n_; ++lo) {
      for (int32_t hi = lo; hi < n_; ++hi) {
        nodes[At(lo, hi)] = NodeCount(intervals[lo].begin, intervals[hi].end, leaves);
      }
    }
    for (int32_t length = 1; length < n_; ++length) {
      for (int32_t lo = 0; lo + length < n_; ++lo) Solve(lo, lo + length, nodes);
    }
  }

  // Returns the join at the top of members lo..hi. REQUIRES: lo < hi.
  int32_t Top(int32_t lo, int32_t hi) const { return best_[At(lo, hi)].top; }

 private:
  struct Cell {
    int32_t most_nodes = 0, depth = 0, top = -1;
  };
  size_t At(int32_t lo, int32_t hi) const { return static_cast<size_t>(lo) * n_ + hi; }

  void Solve(int32_t lo, int32_t hi, const std::vector<int32_t>& nodes) {
    Cell best{std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::max(), -1};
    for (int32_t j = lo; j < hi; ++j) {
      const Cell &left = best_[At(lo, j)], &right = best_[At(j + 1, hi)];
      const Cell here{
          std::max({nodes[At(lo, j)], nodes[At(j + 1, hi)], left.most_nodes, right.most_nodes}),
          1 + std::max(left.depth, right.depth), j};
      if (std::tie(here.most_nodes, here.depth) < std::tie(best.most_nodes, best.depth))
        best = here;
    }
    best_[At(lo, hi)] = best;
  }

  int32_t n_;
  std::vector<Cell> best_;
};

// Assigns each member its place.
class Placing {
 public:
  Placing(const Ownership& ownership, int32_t leaves)
      : ownership_(ownership), leaves_(leaves), search_(ownership.intervals, leaves) {
    for (const LeafSpan& own : ownership.intervals) {
      TreePlace place;
      place.self = static_cast<int32_t>(places_.size());
      place.own_nodes = CanonicalNodes(own.begin, own.end, leaves);
      places_.push_back(std::move(place));
    }
  }

  std::vector<TreePlace> Run() {
    const auto last = static_cast<int32_t>(places_.size()) - 1;
    if (last > 0) Top(last);
    return std::move(places_);
  }

 private:
  std::vector<TreeNode> Nodes(int32_t lo, int32_t hi) const {
    return CanonicalNodes(ownership_.intervals[lo].begin, ownership_.intervals[hi].end, leaves_);
  }
  int32_t Holder(int32_t lo, int32_t hi) const { return lo == hi ? lo : search_.Top(lo, hi); }
  JoinPlan Joined(std::vector<TreeNode> left, const std::vector<TreeNode>& right) const {
    left.insert(left.end(), right.begin(), right.end());
    return PlanJoin(left, leaves_);
  }

  void Top(int32_t last) {
    const int32_t cut = search_.Top(0, last);
    const int32_t left = Holder(0, cut), right = Holder(cut + 1, last);
    TopJoin top;
    top.own = Nodes(0, cut);
    top.theirs = Nodes(cut + 1, last);
    top.join = Joined(top.own, top.theirs);
    top.partner = right;
    top.holds_left = true;
    places_[left].top = top;
    std::swap(top.own, top.theirs);
    top.partner = left;
    top.holds_left = false;
    places_[right].top = std::move(top);
    if (cut > 0) Join(0, cut, -1);
    if (cut + 1 < last) Join(cut + 1, last, -1);
    for (TreePlace& p : places_) {  // members without a join
      if (p.joins || p.top) continue;
      p.down_from = p.leaves_to;
      places_[p.leaves_to].down_to.push_back(p.self);
    }
  }

  // Places the join of members lo..hi. REQUIRES: lo < hi.
  void Join(int32_t lo, int32_t hi, int32_t join_to) {
    const int32_t top = search_.Top(lo, hi);
    TreePlace& host = places_[top];
    host.joins = true;
    host.join_to = host.down_from = join_to;
    host.left = Source(top, lo, top);
    host.right = Source(top, top + 1, hi);
    host.join = Joined(host.left.nodes, host.right.nodes);
    if (lo < top) Join(lo, top, top);
    if (top + 1 < hi) Join(top + 1, hi, top);
  }

  JoinSource Source(int32_t host, int32_t lo, int32_t hi) {
    JoinSource s;
    s.nodes = Nodes(lo, hi);
    s.member = Holder(lo, hi);
    if (lo == hi) {
      s.kind = lo == host ? SourceKind::kOwnLeaves : SourceKind::kLeavesOf;
      places_[lo].leaves_to = host;
    } else {
      s.kind = SourceKind::kJoinOf;
      places_[host].down_to.push_back(s.member);
    }
    return s;
  }

  const Ownership& ownership_;
  const int32_t leaves_;
  const TreeSearch search_;
  std::vector<TreePlace> places_;
};

}  // namespace

Ownership PlanOwnership(int32_t leaves, int32_t members) {
  return PlanOwnership(leaves, std::vector<double>(members, 1.0), kNodesAtRest);
}

Ownership PlanOwnership(int32_t leaves, std::span<const double> speeds, int32_t nodes_max) {
  ESPALIER_CHECK(!speeds.empty() && speeds.size() <= static_cast<size_t>(leaves) && nodes_max >= 2,
                 std::to_string(speeds.size()) + " members, " + std::to_string(leaves) + " leaves");
  return {IntervalSearch(leaves, speeds, nodes_max).Run()};
}

std::vector<TreePlace> PlanTree(const Ownership& ownership, int32_t leaves) {
  return Placing(ownership, leaves).Run();
}

int32_t RootOf(const std::vector<TreePlace>& places) {
  const auto root = std::find_if(places.begin(), places.end(), [](auto& p) { return p.is_root(); });
  return static_cast<int32_t>(root - places.begin());
}

std::vector<std::pair<int32_t, int32_t>> EdgesOf(const std::vector<TreePlace>& places, bool star) {
  std::vector<std::pair<int32_t, int32_t>> edges;
  const int32_t root = RootOf(places);
  for (const TreePlace& p : places) {
    if (star) {
      if (p.self != root) edges.push_back(std::minmax(p.self, root));
      continue;
    }
    for (const int32_t other : {p.leaves_to, p.join_to, p.down_from, p.top ? p.top->partner : -1}) {
      if (other >= 0 && other != p.self) edges.push_back(std::minmax(p.self, other));
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

int32_t Depth(const std::vector<TreePlace>& places) {
  int32_t deepest = 0;
  for (const TreePlace& p : places) {
    int32_t depth = 0;
    for (int32_t at = p.self; places[at].down_from >= 0; at = places[at].down_from) ++depth;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

int32_t MostNodesOnAnEdge(const std::vector<TreePlace>& places) {
  size_t most = 0;
  for (const TreePlace& p : places) {
    if (p.top) most = std::max(most, p.top->own.size());
    if (!p.joins) continue;
    for (const JoinSource* s : {&p.left, &p.right}) {
      if (s->kind != SourceKind::kOwnLeaves) most = std::max(most, s->nodes.size());
    }
  }
  return static_cast<int32_t>(most);
}

}  // namespace espalier::plan
