#include "src/spec/shard_sums.h"

#include <catch2/catch.hpp>

namespace espalier::spec {
namespace {

TEST_CASE("samples merge in the order of their keys") {
  RowSample all;
  REQUIRE(MergeSample({{3, 5}, {1, 2, 3, 4}}, &all).ok());
  REQUIRE(MergeSample({}, &all).ok());
  REQUIRE(MergeSample({{4}, {7, 8}}, &all).ok());
  CHECK(all.keys == std::vector<uint64_t>{3, 4, 5});
  CHECK(all.values == std::vector<double>{1, 2, 7, 8, 3, 4});
  CHECK(MergeSample({{6}, {1}}, &all).message() == "its sample has 1 values a row, others 2");
  RowSample one{{4}, {7, 8}}, other{{4}, {8, 7}};  // of equal keys, too, the order does not matter
  RowSample again = other;
  REQUIRE(MergeSample(other, &one).ok());
  REQUIRE(MergeSample({{4}, {7, 8}}, &again).ok());
  CHECK(one.values == again.values);
}

}  // namespace
}  // namespace espalier::spec
