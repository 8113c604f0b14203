// Rows as numbers, row-major, in the narrowest exact type so far.
//
// A null among features is NaN (no other NaN gets in), so bytes hold rows without nulls only.
// Thread rule: values.
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

// The narrowest type that holds all of `values` exactly and is at least `least`.
spec::StorageType NarrowestType(std::span<const double> values, spec::StorageType least);

// Copies `count` numbers from one type to another that holds them.
// REQUIRES: to_type is not narrower than from_type.
void Widen(spec::StorageType from_type, const void* from, spec::StorageType to_type, void* to,
           int64_t count);

// The rows of one set in one shard.
struct DecodedRows {
  DecodedRows() = default;
  // Null: memory without a limit. Errors below are RowBytes'.
  explicit DecodedRows(MemoryBudget* room)
      : features(room), columns(room), ends(room), labels(room), targets(room), weights(room) {}

  bool sparse = false;  // only numbers that are not 0, and all codes of categories, are there
  spec::StorageType type = spec::StorageType::kUint8;
  int64_t rows = 0;
  RowBytes features;          // [rows, features] elements of `type`; sparse: [entries]
  RowArray<int32_t> columns;  // sparse: [entries], the feature of each; ascending within a row
  RowArray<int64_t> ends;     // sparse: [rows], where a row's entries end
  RowArray<int32_t> labels;   // classification, [rows]: index into the shard's label texts
  RowArray<double> targets;   // regression, [rows, targets]
  RowArray<double> weights;   // [rows]; empty when the job has no weight column

  // Makes the type at least `to`; the room that was reserved holds as many rows as before.
  Status WidenTo(spec::StorageType to);
  // Adds a row. REQUIRES: `type` holds the values. `row_bytes`: one for bytes already narrow.
  Status AppendBytes(std::span<const uint8_t> row);
  Status AppendDoubles(std::span<const double> row);
  // REQUIRES: sparse; both are of one length.
  Status AppendSparse(std::span<const int32_t> of, std::span<const double> values);
  // Writes row `row` with its zeros to `out` [width], elements of `type`. REQUIRES: sparse.
  void Expand(int64_t row, int64_t width, void* out) const;
  // Where the entries of a row begin. REQUIRES: sparse.
  int64_t begin(int64_t row) const { return row == 0 ? 0 : ends[static_cast<size_t>(row) - 1]; }
  // Numbers that are not 0, of `width` a row, and all of the features `coded`, which are codes.
  int64_t Nonzeros(int64_t width, std::span<const int32_t> coded) const;
  // All that is there of the rows' features.
  size_t FeatureBytes() const {
    return features.size() + columns.bytes().size() + ends.bytes().size();
  }
  // Forgets the rows, not their type; what was reserved is used again.
  void Clear();
  bool spilled() const;  // some of it
  int64_t MemoryBytes() const;
};

using DecodedSets = std::array<DecodedRows, kSets>;  // by FileRole

}  // namespace espalier::data
