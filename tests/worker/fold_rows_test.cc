#include "src/worker/fold_rows.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <vector>

namespace espalier::worker {
namespace {

std::vector<int32_t> Classes(int64_t rows) {
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < rows; ++i) labels.push_back(i % 10 == 0 ? 2 : i % 3 == 0 ? 1 : 0);
  return labels;
}

TEST_CASE("folds partition the rows with a fair share of each class") {
  for (const int64_t rows : {0, 1, 4, 5, 97, 1000}) {
    for (const int64_t folds : {2, 5, 10}) {
      INFO(rows << " rows in " << folds << " folds");
      const std::vector<int32_t> labels = Classes(rows);
      FoldRows made(labels, folds, 7, 3);
      std::vector<int32_t> all;
      std::map<int32_t, std::pair<int64_t, int64_t>> of_class;  // smallest and largest fold
      int64_t least = rows, most = 0;
      for (int64_t fold = 0; fold < folds; ++fold) {
        const auto inside = made.Inside(fold);
        const auto outside = made.Outside(fold);
        CHECK(std::ssize(inside) + std::ssize(outside) == rows);
        CHECK(std::is_sorted(inside.begin(), inside.end()));
        std::vector<int32_t> both(inside.begin(), inside.end());
        both.insert(both.end(), outside.begin(), outside.end());
        std::sort(both.begin(), both.end());
        for (int64_t i = 0; i < rows; ++i) CHECK(both[i] == i);
        all.insert(all.end(), inside.begin(), inside.end());
        least = std::min(least, static_cast<int64_t>(inside.size()));
        most = std::max(most, static_cast<int64_t>(inside.size()));
        for (const int32_t label : {0, 1, 2}) {
          const int64_t count = std::count_if(inside.begin(), inside.end(),
                                              [&](int32_t row) { return labels[row] == label; });
          auto& [low, high] = of_class.try_emplace(label, rows, 0).first->second;
          low = std::min(low, count), high = std::max(high, count);
        }
      }
      CHECK(most - least <= 1);
      for (const auto& [label, bounds] : of_class) CHECK(bounds.second - bounds.first <= 1);
      std::sort(all.begin(), all.end());
      CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
      CHECK(std::ssize(all) == rows);
    }
  }
}

TEST_CASE("folds depend on the seed and the leaf") {
  const std::vector<int32_t> labels(100);
  const auto first = [&](uint64_t seed, int64_t leaf) {
    const FoldRows made(labels, 5, seed, leaf);
    return std::vector<int32_t>(made.Inside(0).begin(), made.Inside(0).end());
  };
  CHECK(first(1, 0) == first(1, 0));
  CHECK(first(1, 0) != first(2, 0));
  CHECK(first(1, 0) != first(1, 1));
}

}  // namespace
}  // namespace espalier::worker
