#include "src/collective/round_totals.h"

#include <catch2/catch.hpp>

namespace espalier::collective {
namespace {

Payload Ones(size_t count) { return MakePayload(AlignedVector<float>(count, 1.0f)); }

TEST_CASE("a round is over when all its totals have arrived") {
  RoundTotals totals;
  totals.Begin(2);
  CHECK(!totals.over());
  totals.Take(1, Ones(2));
  CHECK(!totals.over());
  totals.Take(0, Ones(1));
  REQUIRE(totals.over());
  const auto all = totals.Finish();
  REQUIRE(all.ok());
  CHECK((*all)[0].size == sizeof(float));
  CHECK((*all)[1].size == 2 * sizeof(float));
}

TEST_CASE("complete totals count even after a failure") {
  RoundTotals totals;
  totals.Begin(1);
  totals.Take(0, Ones(1));
  totals.Fail(Unavailable("a link broke"));
  CHECK(totals.Finish().ok());
}

TEST_CASE("a failure ends this round and later ones") {
  RoundTotals totals;
  totals.Begin(2);
  totals.Take(0, Ones(1));
  totals.Fail(Unavailable("a link broke"));
  totals.Fail(Cancelled("a newer order came"));
  REQUIRE(totals.over());
  CHECK(totals.Finish().status().code() == StatusCode::kUnavailable);
  totals.Begin(2);
  CHECK(totals.over());
  CHECK(totals.Finish().status().code() == StatusCode::kUnavailable);
}

}  // namespace
}  // namespace espalier::collective
