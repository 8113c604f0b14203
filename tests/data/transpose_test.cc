#include "src/data/table/transpose.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "src/data/table/row_bytes.h"

namespace espalier::data {
namespace {

// Transposes single columns and a vector of three, and checks the rows in `rows`.
template <typename T>
void CheckTransposed(int64_t count, int columns, const std::vector<int64_t>& rows) {
  std::vector<T> values(count * (columns + 3));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * 7 % 251);
  std::vector<Lane<T>> lanes;
  for (int c = 0; c < columns; ++c) {
    lanes.push_back({values.data() + c * count, 1, c < columns / 2 ? c : c + 3, 1});
  }
  const T* vectors = values.data() + columns * count;
  lanes.push_back({vectors, 3, columns / 2, 3});
  std::vector<T> out(rows.size() * (columns + 3));
  std::vector<T*> targets;
  for (size_t i = 0; i < rows.size(); ++i) targets.push_back(out.data() + i * (columns + 3));
  Transpose<T>(lanes, rows, targets.data());
  bool equal = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const Lane<T>& lane : lanes) {
      for (int j = 0; j < lane.count; ++j) {
        equal &= targets[i][lane.slot + j] == lane.data[rows[i] * lane.stride + j];
      }
    }
  }
  CHECK(equal);
}

}  // namespace

TEST_CASE("columns become rows for any count and any subset of rows") {
  for (const int64_t count : {1, 15, 16, 63, 64, 65, 200}) {
    for (const int columns : {0, 1, 5, 16, 33, 70}) {
      std::vector<int64_t> all(count), odd;
      std::iota(all.begin(), all.end(), 0);
      for (const int64_t r : all) {
        if (r % 50 != 7) odd.push_back(r);
      }
      for (const auto& rows : {all, odd, std::vector<int64_t>()}) {
        CheckTransposed<uint8_t>(count, columns, rows);
        CheckTransposed<float>(count, columns, rows);
        CheckTransposed<double>(count, columns, rows);
      }
    }
  }
}

TEST_CASE("a growing buffer of rows keeps its bytes") {
  RowBytes bytes;
  std::vector<uint8_t> piece(1'000'003);
  std::iota(piece.begin(), piece.end(), 0);
  for (int i = 0; i < 40; ++i) REQUIRE(bytes.Append(piece).ok());
  RowBytes moved = std::move(bytes);
  REQUIRE(moved.size() == 40 * piece.size());
  bool equal = true;
  for (size_t i = 0; i < moved.size(); ++i) equal &= moved.data()[i] == piece[i % piece.size()];
  CHECK(equal);
  moved.Reserve(100'000'000);
  CHECK(moved.capacity() >= 100'000'000);
  CHECK(moved.data()[piece.size()] == piece[0]);
}

}  // namespace espalier::data
