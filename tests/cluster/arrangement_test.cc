#include "src/cluster/arrangement.h"

#include <catch2/catch.hpp>

namespace espalier::cluster {
namespace {

using Sources = std::vector<int32_t>;

const std::vector<WorkerId> kFour = {{1}, {2}, {3}, {4}};

TEST_CASE("a broken pair is kept apart in the tree, or in the star around its root") {
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
  // Whoever is in the middle of the star must reach all others.
  const WorkerPairs two = {{{1}, {2}}, {{3}, {4}}};
  CHECK(ArrangeMembers(kFour, ownership, 16, false, two));
  CHECK_FALSE(ArrangeMembers(kFour, ownership, 16, true, two));
}

TEST_CASE("who is behind takes the state from the first that is at the newest round") {
  CHECK(StateSources(kFour, {7, 7, 7, 7}, {}) == Sources{0, 1, 2, 3});
  CHECK(StateSources(kFour, {6, 7, 6, 7}, {}) == Sources{1, 1, 1, 3});
}

TEST_CASE("the state does not cross a broken pair") {
  // From the other one that has it, or by way of one that takes it itself, or of two.
  CHECK(StateSources(kFour, {6, 7, 6, 7}, {{{1}, {2}}}) == Sources{3, 1, 1, 3});
  CHECK(StateSources(kFour, {6, 7, 6, 6}, {{{1}, {2}}}) == Sources{2, 1, 1, 1});
  CHECK(StateSources(kFour, {6, 7, 6, 6}, {{{1}, {2}}, {{1}, {3}}, {{2}, {4}}}) ==
        Sources{3, 1, 1, 2});
}

TEST_CASE("without another way the state is taken across a broken pair") {
  CHECK(StateSources({{1}, {2}}, {6, 7}, {{{1}, {2}}}) == Sources{1, 1});
}

}  // namespace
}  // namespace espalier::cluster
