// Rows as numbers, row-major, in the narrowest exact type so far.
//
// A null among features is NaN (no other NaN gets in), so bytes hold rows without nulls only.
// Thread rule: values.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "src/data/row_bytes.h"
#include "src/spec/input.h"

namespace espalier {

inline constexpr int kSets = 3;  // train, validation, test: FileRole as an index

inline int64_t ElementBytes(StorageType type) {
  return type == StorageType::kUint8 ? 1 : type == StorageType::kFloat32 ? 4 : 8;
}

// The narrowest type that holds all of `values` exactly and is at least `least`.
StorageType NarrowestType(std::span<const double> values, StorageType least);

// Copies `count` numbers from one type to another that holds them.
// REQUIRES: to_type is not narrower than from_type.
void Widen(StorageType from_type, const void* from, StorageType to_type, void* to, int64_t count);

// The rows of one set in one shard.
struct DecodedRows {
  StorageType type = StorageType::kUint8;
  int64_t rows = 0;
  RowBytes features;            // [rows, features] elements of `type`
  std::vector<int32_t> labels;  // classification, [rows]: index into the shard's label texts
  std::vector<double> targets;  // regression, [rows, targets]
  std::vector<double> weights;  // [rows]; empty when the job has no weight column

  // Makes the type at least `to`; the room that was reserved holds as many rows as before.
  void WidenTo(StorageType to);
  // Adds a row. REQUIRES: `type` holds the values. `row_bytes`: one for bytes already narrow.
  void AppendBytes(std::span<const uint8_t> row);
  void AppendDoubles(std::span<const double> row);
  int64_t MemoryBytes() const;
};

}  // namespace espalier
