// Rows as numbers, row-major, in the narrowest type that holds the rows so far exactly.
//
// A null feature is NaN, and no other NaN occurs, so rows stored as bytes contain no nulls. Thread
// rule: values.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "src/data/table/row_bytes.h"
#include "src/spec/input.h"

namespace espalier::data {

inline constexpr int kSets = 3;  // train, validation, test: FileRole as an index
inline constexpr int kTrainSet = static_cast<int>(spec::FileRole::kTrain);
inline constexpr int kValidationSet = static_cast<int>(spec::FileRole::kValidation);
inline constexpr int kTestSet = static_cast<int>(spec::FileRole::kTest);

inline int64_t ElementBytes(spec::StorageType type) {
  return type == spec::StorageType::kUint8 ? 1 : type == spec::StorageType::kFloat32 ? 4 : 8;
}

// Calls f(T{}) with the C++ type of `type`.
template <typename F>
auto WithStorage(spec::StorageType type, F&& f) {
  if (type == spec::StorageType::kUint8) return f(uint8_t{});
  if (type == spec::StorageType::kFloat32) return f(float{});
  return f(double{});
}

// Returns the narrowest type that holds all `values` exactly and is at least `least`.
spec::StorageType NarrowestType(std::span<const double> values, spec::StorageType least);

// Copies `count` numbers from one type to another that holds them. REQUIRES: to_type is not
// narrower than from_type.
void Widen(spec::StorageType from_type, const void* from, spec::StorageType to_type, void* to,
           int64_t count);

// Rows of one set in one shard.
struct DecodedRows {
  DecodedRows() = default;
  // Null: memory without a limit. The errors of the functions below are those of RowBytes.
  explicit DecodedRows(MemoryBudget* room)
      : features(room), columns(room), ends(room), labels(room), targets(room), weights(room) {}

  bool sparse = false;  // stores only nonzero numbers and all codes of categories
  spec::StorageType type = spec::StorageType::kUint8;
  int64_t rows = 0;
  RowBytes features;          // [rows, features] elements of `type`; sparse: [entries]
  RowArray<int32_t> columns;  // sparse: [entries], feature of each entry; ascending within a row
  RowArray<int64_t> ends;     // sparse: [rows], end of each row's entries
  RowArray<int32_t> labels;   // classification, [rows]: index into the shard's label texts
  RowArray<double> targets;   // regression, [rows, targets]
  RowArray<double> weights;   // [rows]; empty if the job has no weight column

  // Widens the type to at least `to`. The reserved memory holds as many rows as before.
  Status WidenTo(spec::StorageType to);
  // Adds a row. REQUIRES: `type` holds the values. AppendBytes takes values that are already bytes.
  Status AppendBytes(std::span<const uint8_t> row);
  Status AppendDoubles(std::span<const double> row);
  // Adds a sparse row. REQUIRES: sparse; `of` and `values` have the same length.
  Status AppendSparse(std::span<const int32_t> of, std::span<const double> values);
  // Writes row `row`, including its zeros, to `out` [width], as elements of `type`. REQUIRES:
  // sparse.
  void Expand(int64_t row, int64_t width, void* out) const;
  // Returns the index of a row's first entry. REQUIRES: sparse.
  int64_t begin(int64_t row) const { return row == 0 ? 0 : ends[static_cast<size_t>(row) - 1]; }
  // Returns the number of nonzero values in rows of `width`, plus all values of the `coded`
  // features.
  int64_t Nonzeros(int64_t width, std::span<const int32_t> coded) const;
  // Returns the bytes that the features of the rows take.
  size_t FeatureBytes() const {
    return features.size() + columns.bytes().size() + ends.bytes().size();
  }
  // Removes the rows but keeps their type and the reserved memory.
  void Clear();
  bool spilled() const;  // at least one buffer is spilled
  int64_t MemoryBytes() const;
};

using DecodedSets = std::array<DecodedRows, kSets>;  // by FileRole

}  // namespace espalier::data
