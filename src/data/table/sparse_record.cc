#include "src/data/table/sparse_record.h"

#include <algorithm>

namespace espalier::data {
namespace {

int64_t Filled(int64_t bytes) { return (bytes + 7) & ~int64_t{7}; }

int64_t HeadBytes(int64_t entries) {
  return Filled((entries + 1) * static_cast<int64_t>(sizeof(int32_t)));
}

}  // namespace

int64_t SparseRecordBytes(int64_t entries, spec::StorageType type) {
  return HeadBytes(entries) + Filled(entries * ElementBytes(type));
}

SparseRecord ReadSparse(const uint8_t* record) {
  const auto* numbers = reinterpret_cast<const int32_t*>(record);
  return {{numbers + 1, static_cast<size_t>(*numbers)}, record + HeadBytes(*numbers)};
}

SparseRecord SparseRowOf(const DecodedRows& rows, int64_t row) {
  const int64_t begin = rows.begin(row);
  return {{rows.columns.data() + begin, static_cast<size_t>(rows.ends[row] - begin)},
          rows.features.data() + begin * ElementBytes(rows.type)};
}

uint8_t* WriteSparse(const DecodedRows& rows, int64_t row, spec::StorageType type,
                     uint8_t* record) {
  const SparseRecord from = SparseRowOf(rows, row);
  const auto entries = static_cast<int64_t>(from.features.size());
  auto* const numbers = reinterpret_cast<int32_t*>(record);
  *numbers = static_cast<int32_t>(entries);
  std::copy(from.features.begin(), from.features.end(), numbers + 1);
  Widen(rows.type, from.values, type, record + HeadBytes(entries), entries);
  return record + SparseRecordBytes(entries, type);
}

}  // namespace espalier::data
