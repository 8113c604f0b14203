// A row of a sparse row store: its nonzero numbers, in one piece of memory.
//
// Layout: the number of entries, then their features in ascending order, all int32, padded to 8
// bytes. Then the values in the store's type, padded to 8 bytes.
//
//   features 3 and 7 are 0.5 and 2, as float32:   2 3 7 - | 0.5 2
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "src/data/table/decoded_rows.h"

namespace espalier::data {

struct SparseRecord {
  std::span<const int32_t> features;
  const uint8_t* values = nullptr;  // in the store's type
};

// Returns row `row` of sparse rows without a copy. The values have the type of the rows.
SparseRecord SparseRowOf(const DecodedRows& rows, int64_t row);

// Returns the size of a record in bytes.
int64_t SparseRecordBytes(int64_t entries, spec::StorageType type);

// Returns a view of a record. REQUIRES: `record` is 8-byte aligned, as it was written.
SparseRecord ReadSparse(const uint8_t* record);

// Writes row `row` of sparse rows as a record and returns its end. REQUIRES: `record` is 8-byte
// aligned and has room for SparseRecordBytes; `type` is not narrower than the type of the rows.
uint8_t* WriteSparse(const DecodedRows& rows, int64_t row, spec::StorageType type, uint8_t* record);

}  // namespace espalier::data
