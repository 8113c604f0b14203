#include "src/plan/ownership.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "src/base/random.h"
#include "tests/testing/scale.h"

namespace espalier::plan {
namespace {

TEST_CASE("canonical nodes tile their interval with the fewest nodes") {
  for (int32_t leaves : {1, 2, 3, 5, 6, 7, 8, 13, 16, 33}) {
    for (int32_t begin = 0; begin <= leaves; ++begin) {
      for (int32_t end = begin; end <= leaves; ++end) {
        const auto nodes = CanonicalNodes(begin, end, leaves);
        int32_t at = begin;
        for (const TreeNode& n : nodes) {
          REQUIRE(SpanOf(n, leaves).begin == at);
          at = SpanOf(n, leaves).end;
        }
        REQUIRE(at == end);
        REQUIRE(PlanJoin(nodes, leaves).steps.empty());  // no two nodes can be joined
      }
    }
  }
}

TEST_CASE("joining single leaves in order gives the canonical nodes") {
  for (int32_t leaves : {1, 3, 5, 6, 8, 13, 16}) {
    for (int32_t begin = 0; begin < leaves; ++begin) {
      for (int32_t end = begin + 1; end <= leaves; ++end) {
        std::vector<TreeNode> singles;
        for (int32_t l = begin; l < end; ++l) singles.push_back({0, l});
        const JoinPlan plan = PlanJoin(singles, leaves);
        REQUIRE(plan.nodes == CanonicalNodes(begin, end, leaves));
        REQUIRE(plan.kept.size() + plan.steps.size() == singles.size());
      }
    }
  }
}

// Adds values along the plan's tree. The sum of these doubles depends on the order.
double SumAlongTree(const std::vector<TreePlace>& places, const Ownership& o, int32_t leaves,
                    const std::vector<double>& values) {
  const auto join = [](const JoinPlan& plan, std::vector<double> v) {
    for (const JoinStep& s : plan.steps) v[s.into] += v[s.from];
    std::vector<double> kept;
    for (int32_t k : plan.kept) kept.push_back(v[k]);
    return kept;
  };
  const auto own = [&](int32_t m) {
    std::vector<TreeNode> singles;
    std::vector<double> v;
    for (int32_t l = o.intervals[m].begin; l < o.intervals[m].end; ++l) {
      singles.push_back({0, l});
      v.push_back(values[l]);
    }
    return join(PlanJoin(singles, leaves), v);
  };
  const auto result = [&](auto&& self, int32_t m) -> std::vector<double> {
    const TreePlace& p = places[m];
    std::vector<double> both;
    for (const JoinSource* s : {&p.left, &p.right}) {
      const auto part = s->kind == SourceKind::kJoinOf ? self(self, s->member) : own(s->member);
      REQUIRE(part.size() == s->nodes.size());
      both.insert(both.end(), part.begin(), part.end());
    }
    return join(p.join, both);
  };
  const auto part = [&](int32_t m) { return places[m].joins ? result(result, m) : own(m); };
  for (const TreePlace& p : places) {
    if (!p.is_root()) continue;
    if (!p.top) return own(0)[0];
    std::vector<double> both = part(p.self);
    REQUIRE(both.size() == p.top->own.size());
    const std::vector<double> theirs = part(p.top->partner);
    REQUIRE(theirs.size() == p.top->theirs.size());
    both.insert(both.end(), theirs.begin(), theirs.end());
    const auto total = join(p.top->join, both);
    REQUIRE(total.size() == 1);
    return total[0];
  }
  FAIL("no root");
  return 0;
}

void CheckIntervals(const Ownership& o, int32_t leaves) {
  int32_t at = 0;
  for (const LeafSpan& i : o.intervals) {
    REQUIRE(i.begin == at);
    REQUIRE(i.end > i.begin);
    at = i.end;
  }
  REQUIRE(at == leaves);
}

TEST_CASE("1 to 200 workers get a shallow tree and fair shares") {
  for (int32_t leaves : {200, 256, 1000, 1024}) {
    const int32_t stride = TestScale() > 1 ? 1 : 7;
    for (int32_t members = 1; members <= 200; members += members < 32 ? 1 : stride) {
      INFO("leaves " << leaves << " members " << members);
      const Ownership o = PlanOwnership(leaves, members);
      REQUIRE(static_cast<int32_t>(o.intervals.size()) == members);
      CheckIntervals(o, leaves);
      const auto places = PlanTree(o, leaves);
      CHECK(MostNodesOnAnEdge(places) <= kNodesAtRest);
      CHECK(Depth(places) <= 2 * std::ceil(std::log2(members)) + 1);
      int32_t most = 0;
      for (const LeafSpan& i : o.intervals) most = std::max(most, i.end - i.begin);
      // The bound on nodes costs balance: at worst 48 leaves instead of 33 (31 members).
      CHECK(most <= std::ceil(1.46 * leaves / members));
    }
  }
}

TEST_CASE("a star has each other member once for any root") {
  for (int32_t members : {1, 2, 3, 4, 5, 16, 31}) {
    const auto places = PlanTree(PlanOwnership(256, members), 256);
    const int32_t root = RootOf(places);
    REQUIRE(places[root].is_root());
    std::set<int32_t> others;
    for (const auto& [a, b] : EdgesOf(places, true)) {
      CHECK(a < b);
      CHECK((a == root) != (b == root));
      others.insert(a == root ? b : a);
    }
    CHECK(static_cast<int32_t>(others.size()) == members - 1);
  }
}

TEST_CASE("the total reaches every member once and matches its joins") {
  for (int32_t members : {1, 2, 3, 4, 5, 7, 16, 31, 200}) {
    const Ownership o = PlanOwnership(256, members);
    const auto places = PlanTree(o, 256);
    std::set<int32_t> reached;
    int roots = 0, holders = 0;
    for (const TreePlace& p : places) {
      if (p.down_from < 0) reached.insert(p.self);
      for (int32_t m : p.down_to) {
        CHECK(places[m].down_from == p.self);
        CHECK(reached.insert(m).second);
      }
      if (p.leaves_to >= 0) {
        const TreePlace& parent = places[p.leaves_to];
        const bool expected =
            (parent.left.kind != SourceKind::kJoinOf && parent.left.member == p.self) ||
            (parent.right.kind != SourceKind::kJoinOf && parent.right.member == p.self);
        CHECK(expected);
      }
      if (p.top) {
        ++holders;
        CHECK(p.down_from == -1);
        CHECK(places[p.top->partner].top->partner == p.self);
        CHECK(places[p.top->partner].top->holds_left != p.top->holds_left);
      }
      roots += p.is_root() ? 1 : 0;
    }
    CHECK(roots == 1);
    CHECK(holders == (members == 1 ? 0 : 2));
    CHECK(static_cast<int32_t>(reached.size()) == members);
  }
}

TEST_CASE("the sum has the same bits for every number of owners") {
  for (int32_t leaves : {1, 5, 6, 16, 64, 200}) {
    std::vector<double> values;
    for (int32_t l = 0; l < leaves; ++l) {
      values.push_back(UnitDouble(Mix64(l)) * std::pow(10.0, static_cast<double>(l % 17) - 8));
    }
    const Ownership alone = PlanOwnership(leaves, 1);
    const double expected = SumAlongTree(PlanTree(alone, leaves), alone, leaves, values);
    for (int32_t members = 2; members <= leaves; ++members) {
      const Ownership o = PlanOwnership(leaves, members);
      REQUIRE(SumAlongTree(PlanTree(o, leaves), o, leaves, values) == expected);
    }
  }
}

TEST_CASE("a slow member gets fewer leaves and at most 4 nodes an edge") {
  for (int32_t members : {2, 3, 5, 8, 16, 50, 200}) {
    for (int32_t slow : {0, members / 2, members - 1}) {
      INFO("members " << members << " slow " << slow);
      std::vector<double> speeds(members, 1.0);
      speeds[slow] = 0.5;
      const Ownership o = PlanOwnership(1024, speeds, kNodesAfterMove);
      CheckIntervals(o, 1024);
      CHECK(MostNodesOnAnEdge(PlanTree(o, 1024)) <= kNodesAfterMove);
      const LeafSpan own = o.intervals[slow];
      CHECK(own.end - own.begin <= 0.7 * 1024 / members + 1);
    }
  }
}

}  // namespace
}  // namespace espalier::plan
