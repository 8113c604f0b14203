// A row of a sparse row store: the numbers that are not 0, in one piece of memory.
//
// Grammar: the number of entries and then their features, ascending, as int32; filled up to 8
// bytes; then their values in the store's type, filled up to 8 bytes.
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
  const uint8_t* values = nullptr;  // of the store's type
};

// Row `row` of sparse rows as it lies there; the values are of the rows' type.
SparseRecord SparseRowOf(const DecodedRows& rows, int64_t row);

// The bytes of a record.
int64_t SparseRecordBytes(int64_t entries, spec::StorageType type);

// REQUIRES: 8-byte aligned, as it was written.
SparseRecord ReadSparse(const uint8_t* record);

// Writes row `row` of sparse rows, and returns where its record ends, for which SparseRecordBytes
// must be there. REQUIRES: `record` is 8-byte aligned; `type` is not narrower than that of the
// rows.
uint8_t* WriteSparse(const DecodedRows& rows, int64_t row, spec::StorageType type, uint8_t* record);

}  // namespace espalier::data
