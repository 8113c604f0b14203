#include "src/cluster/shard_totals.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "src/base/random.h"

namespace espalier::cluster {
namespace {

// Returns numbers whose sum depends on the order of additions.
std::vector<double> TotalsOf(int32_t shard) {
  const double x = UnitDouble(Mix64(static_cast<uint64_t>(shard) + 1));
  return {1, std::ldexp(x, shard % 60), x / 3};
}

// Returns the sum of [begin, end), split like the summation tree.
std::vector<double> SumOf(int32_t begin, int32_t end) {
  if (end - begin == 1) return TotalsOf(begin);
  int32_t half = 1;
  while (2 * half < end - begin) half *= 2;
  std::vector<double> sum = SumOf(begin, begin + half);
  const std::vector<double> right = SumOf(begin + half, end);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  return sum;
}

TEST_CASE("totals add up to the same bits for any order of shards") {
  for (int32_t shards = 1; shards <= 70; ++shards) {
    const std::vector<double> sum = SumOf(0, shards);
    CHECK(sum[0] == shards);
    for (uint64_t seed = 0; seed < 5; ++seed) {
      std::vector<int32_t> order(static_cast<size_t>(shards));
      std::iota(order.begin(), order.end(), 0);
      for (size_t i = order.size(); seed > 0 && i > 1; --i) {
        std::swap(order[i - 1], order[Mix64(seed * 1000 + i) % i]);
      }
      ShardTotals totals(shards);
      for (const int32_t shard : order) totals.Add(shard, TotalsOf(shard));
      CHECK(totals.Take() == sum);
    }
  }
  CHECK(ShardTotals(0).Take().empty());
}

TEST_CASE("for runs of workers only a few nodes are held") {
  constexpr int32_t kShards = 1000, kWorkers = 10, kRun = kShards / kWorkers;
  ShardTotals totals(kShards);
  int64_t most = 0;
  for (int32_t i = 0; i < kRun; ++i) {
    for (int32_t worker = 0; worker < kWorkers; ++worker) {
      const int32_t shard = worker * kRun + i;
      totals.Add(shard, TotalsOf(shard));
      most = std::max(most, totals.bytes());
    }
  }
  constexpr int64_t kEach = 3 * sizeof(double);
  CHECK(most <= kWorkers * 9 * kEach);  // instead of 1000
  CHECK(totals.bytes() == kEach);
  CHECK(totals.width() == 3);
  CHECK(totals.Take() == SumOf(0, kShards));
}

}  // namespace
}  // namespace espalier::cluster
