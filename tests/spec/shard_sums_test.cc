#include "src/spec/shard_sums.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

namespace espalier::spec {
namespace {

TEST_CASE("samples merge in the order of their keys") {
  RowSample all;
  REQUIRE(MergeSample({{3, 5}, {1, 2, 3, 4}}, &all).ok());
  REQUIRE(MergeSample({}, &all).ok());
  REQUIRE(MergeSample({{4}, {7, 8}}, &all).ok());
  CHECK(all.keys == std::vector<uint64_t>{3, 4, 5});
  CHECK(all.values == std::vector<double>{1, 2, 7, 8, 3, 4});
  CHECK(MergeSample({{6}, {1}}, &all).message() == "its sample has 1 values per row, others 2");
  RowSample one{{4}, {7, 8}}, other{{4}, {8, 7}};  // the order of equal keys does not matter either
  RowSample again = other;
  REQUIRE(MergeSample(other, &one).ok());
  REQUIRE(MergeSample({{4}, {7, 8}}, &again).ok());
  CHECK(one.values == again.values);
}

TEST_CASE("texts with the smallest hashes do not depend on the order") {
  constexpr int kTexts = 5000;
  TextCounts forwards, backwards, parts;
  for (int i = 0; i < 3 * kTexts; ++i) AddText("t" + std::to_string(i % kTexts), 1, &forwards);
  for (int i = kTexts - 1; i >= 0; --i) AddText("t" + std::to_string(i), 3, &backwards);
  for (int part = 0; part < 30; ++part) {
    TextCounts some;
    for (int i = part; i < 3 * kTexts; i += 30) AddText("t" + std::to_string(i % kTexts), 1, &some);
    AddTexts(some, &parts);
  }
  TextCounts first, second;
  AddTexts(forwards, &first);
  AddTexts(backwards, &second);
  CHECK(first == second);
  CHECK(first == parts);
  CHECK(first.rows == 3 * kTexts);
  CHECK(first.more);
  CHECK(first.counts.size() == TextCounts::kTextsCounted);
  for (const auto& [text, rows] : first.counts) CHECK(rows == 3);
  CHECK(std::abs(DifferentTexts(first) / kTexts - 1) < 0.1);
  TextCounts few;
  AddText("a", 2, &few);
  CHECK(DifferentTexts(few) == 1);
}

TEST_CASE("equal rows are counted together in any order") {
  RowCounts all, other;
  const RowCounts one = {{3, 5}, {1, 2}, {0, 1}}, two = {{1, 5, 9}, {4, 1, 1}, {0, 0, 2}};
  AddAlike(one, &all);
  AddAlike(two, &all);
  AddAlike(two, &other);
  AddAlike(one, &other);
  CHECK(all == other);
  CHECK(all == RowCounts{{1, 3, 5, 9}, {4, 1, 3, 1}, {0, 0, 1, 2}});
}

TEST_CASE("evidence of shards adds up by column") {
  std::vector<ColumnEvidence> all;
  AddEvidence({{.column = 2, .rows = 3, .numbers = 2, .low = 1, .high = 4}}, &all);
  AddEvidence(
      {{.column = 0, .rows = 1}, {.column = 2, .rows = 2, .numbers = 1, .low = -1, .high = 0}},
      &all);
  REQUIRE(all.size() == 2);
  CHECK(all[0] == ColumnEvidence{.column = 0, .rows = 1});
  CHECK(all[1] == ColumnEvidence{.column = 2, .rows = 5, .numbers = 3, .low = -1, .high = 4});
}

}  // namespace
}  // namespace espalier::spec
