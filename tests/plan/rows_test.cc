#include "src/plan/rows.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "src/base/random.h"
#include "tests/testing/scale.h"

namespace espalier::plan {
namespace {

std::vector<int64_t> EpochRows(int64_t rows, int64_t leaves, int64_t batch, RowOrder order,
                               int64_t window, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> seen;
  const int64_t steps = StepsPerEpoch(rows, batch);
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    const Range range = LeafRows(rows, leaves, leaf);
    const RowPermutation permutation(order, window, range.size(), seed, epoch, leaf);
    for (int64_t step = 0; step < steps; ++step) {
      const Range positions = StepPositions(range.size(), steps, step);
      for (int64_t p = positions.begin; p < positions.end; ++p) {
        seen.push_back(range.begin + permutation.At(p));
      }
    }
  }
  return seen;
}

void CheckOncePerEpoch(int64_t rows, int64_t leaves, int64_t batch, RowOrder order, int64_t window,
                       uint64_t seed) {
  INFO("rows " << rows << " leaves " << leaves << " batch " << batch << " order "
               << static_cast<int>(order) << " window " << window << " seed " << seed);
  std::vector<int64_t> seen = EpochRows(rows, leaves, batch, order, window, seed, 3);
  REQUIRE(static_cast<int64_t>(seen.size()) == rows);
  std::sort(seen.begin(), seen.end());
  std::vector<int64_t> all(rows);
  std::iota(all.begin(), all.end(), 0);
  CHECK(seen == all);
}

TEST_CASE("each row comes once an epoch for any rows, leaves and batch") {
  for (uint64_t trial = 0; trial < 400 * TestScale(); ++trial) {
    const auto draw = [&](uint64_t what, uint64_t below) {
      return static_cast<int64_t>(Mix64(trial * 16 + what) % below);
    };
    const int64_t rows = draw(0, trial % 3 ? 700 : 20);
    CheckOncePerEpoch(rows, 1 + draw(1, 64), 1 + draw(2, 300), static_cast<RowOrder>(draw(3, 3)),
                      8 + draw(4, 120), trial);
  }
}

TEST_CASE("fewer rows than leaves leave some leaves empty") {
  CheckOncePerEpoch(3, 16, 256, RowOrder::kFull, 0, 1);
  CheckOncePerEpoch(0, 16, 256, RowOrder::kFull, 0, 1);
  CheckOncePerEpoch(1, 1024, 1, RowOrder::kWindow, 64, 1);
}

TEST_CASE("with any validation share each training row comes once") {
  for (int percent = 0; percent <= 100; percent += 7) {
    const int64_t rows = 500 - 500 * percent / 100;
    for (const int64_t leaves : {1, 8, 50}) {
      CheckOncePerEpoch(rows, leaves, 64, RowOrder::kFull, 0, 5);
    }
  }
}

// The last step of an epoch need not be full. All steps share its missing rows, so a step has at
// least rows / (rows / batch + 1) rows. Rounding takes or adds less than one row a leaf.
TEST_CASE("each step has the rows of the requested batch") {
  const int64_t rows = 60'000;
  for (const int64_t batch : {64, 1000, 1024, 60'000, 100'000}) {
    const int64_t steps = StepsPerEpoch(rows, batch);
    for (const int64_t leaves : {1, 3, 16, 64, 1000}) {
      INFO("batch " << batch << " leaves " << leaves);
      int64_t total = 0;
      for (int64_t step = 0; step < steps; ++step) {
        int64_t taken = 0;
        for (int64_t leaf = 0; leaf < leaves; ++leaf) {
          taken += StepPositions(LeafRows(rows, leaves, leaf).size(), steps, step).size();
        }
        CHECK(taken <= batch + leaves);
        CHECK(taken >= rows * batch / (rows + batch) - leaves);
        total += taken;
      }
      CHECK(total == rows);
    }
  }
}

TEST_CASE("epochs and seeds give different orders") {
  const auto order = [](uint64_t seed, int64_t epoch) {
    return EpochRows(200, 2, 50, RowOrder::kFull, 0, seed, epoch);
  };
  CHECK(order(1, 0) == order(1, 0));
  CHECK(order(1, 0) != order(1, 1));
  CHECK(order(1, 0) != order(2, 0));
}

TEST_CASE("a full shuffle moves neighbors apart") {
  // By chance, about 2 of 10,000 rows stay next to an old neighbor.
  const RowPermutation permutation(RowOrder::kFull, 0, 10'000, 9, 0, 0);
  int neighbours = 0;
  for (int64_t p = 1; p < 10'000; ++p) {
    neighbours += std::abs(permutation.At(p) - permutation.At(p - 1)) == 1;
  }
  CHECK(neighbours < 12);
}

TEST_CASE("a window shuffle takes a window's rows from few blocks") {
  const int64_t size = 8'000, window = 800;
  const RowPermutation permutation(RowOrder::kWindow, window, size, 9, 0, 0);
  for (int64_t first = 0; first < size; first += window) {
    std::vector<bool> blocks(size / 100, false);
    for (int64_t p = first; p < first + window; ++p) blocks[permutation.At(p) / 100] = true;
    CHECK(std::count(blocks.begin(), blocks.end(), true) == 8);
  }
}

TEST_CASE("without a shuffle the order is that of the file") {
  const RowPermutation permutation(RowOrder::kNone, 0, 10, 9, 0, 0);
  for (int64_t p = 0; p < 10; ++p) CHECK(permutation.At(p) == p);
}

}  // namespace
}  // namespace espalier::plan
