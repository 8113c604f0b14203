#include "src/cluster/arrangement.h"

#include <catch2/catch.hpp>

namespace espalier::cluster {
namespace {

using Sources = std::vector<int32_t>;

const std::vector<WorkerId> kFour = {{1}, {2}, {3}, {4}};

TEST_CASE("a broken pair has no edge in the tree or in the star") {
  const plan::Ownership ownership = plan::PlanOwnership(16, 4);
  const std::vector<plan::TreePlace> places = plan::PlanTree(ownership, 16);
  for (const bool star : {false, true}) {
    const auto edges = plan::EdgesOf(places, star);
    for (const auto& [a, b] : edges) {
      const WorkerPairs broken = {PairOf(kFour[a], kFour[b])};
      const auto order = ArrangeMembers(kFour, ownership, 16, star, broken);
      REQUIRE(order);
      for (const auto& [c, d] : edges)
        CHECK_FALSE(broken.contains(PairOf((*order)[c], (*order)[d])));
    }
  }
  // The center of the star must reach all others.
  const WorkerPairs two = {{{1}, {2}}, {{3}, {4}}};
  CHECK(ArrangeMembers(kFour, ownership, 16, false, two));
  CHECK_FALSE(ArrangeMembers(kFour, ownership, 16, true, two));
}

TEST_CASE("a member that is behind gets the state from the newest one") {
  CHECK(StateSources(kFour, {7, 7, 7, 7}, {}) == Sources{0, 1, 2, 3});
  CHECK(StateSources(kFour, {6, 7, 6, 7}, {}) == Sources{1, 1, 1, 3});
}

TEST_CASE("the state does not cross a broken pair") {
  // The source is the other holder, or one or two members that take the state themselves.
  CHECK(StateSources(kFour, {6, 7, 6, 7}, {{{1}, {2}}}) == Sources{3, 1, 1, 3});
  CHECK(StateSources(kFour, {6, 7, 6, 6}, {{{1}, {2}}}) == Sources{2, 1, 1, 1});
  CHECK(StateSources(kFour, {6, 7, 6, 6}, {{{1}, {2}}, {{1}, {3}}, {{2}, {4}}}) ==
        Sources{3, 1, 1, 2});
}

TEST_CASE("as a last resort the state crosses a broken pair") {
  CHECK(StateSources({{1}, {2}}, {6, 7}, {{{1}, {2}}}) == Sources{1, 1});
}

}  // namespace
}  // namespace espalier::cluster
