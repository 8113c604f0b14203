#include "src/data/sparse_record.h"

#include <algorithm>

namespace espalier {
namespace {

int64_t Filled(int64_t bytes) { return (bytes + 7) & ~int64_t{7}; }

int64_t HeadBytes(int64_t entries) {
  return Filled((entries + 1) * static_cast<int64_t>(sizeof(int32_t)));
}

// Makes room for a record of so many entries and writes their number.
Result<uint8_t*> AddRecord(int64_t entries, StorageType type, RowBytes* records) {
  const size_t old = records->size();
  ESPALIER_RETURN_IF_ERROR(
      records->Resize(old + static_cast<size_t>(SparseRecordBytes(entries, type))));
  uint8_t* const record = records->data() + old;
  *reinterpret_cast<int32_t*>(record) = static_cast<int32_t>(entries);
  return record;
}

}  // namespace

int64_t SparseRecordBytes(int64_t entries, StorageType type) {
  return HeadBytes(entries) + Filled(entries * ElementBytes(type));
}

SparseRecord ReadSparse(const uint8_t* record) {
  const auto* numbers = reinterpret_cast<const int32_t*>(record);
  return {{numbers + 1, static_cast<size_t>(*numbers)}, record + HeadBytes(*numbers)};
}

Status AppendSparse(const DecodedRows& rows, int64_t row, int64_t width, StorageType type,
                    RowBytes* records) {
  const int64_t from_bytes = ElementBytes(rows.type);
  if (rows.sparse) {
    const int64_t begin = rows.begin(row), entries = rows.ends[row] - begin;
    ESPALIER_ASSIGN_OR_RETURN(uint8_t* const record, AddRecord(entries, type, records));
    std::copy_n(rows.columns.data() + begin, entries, reinterpret_cast<int32_t*>(record) + 1);
    Widen(rows.type, rows.features.data() + begin * from_bytes, type, record + HeadBytes(entries),
          entries);
    return {};
  }
  return WithStorage(rows.type, [&](auto number) -> Status {
    using From = decltype(number);
    const From* values = reinterpret_cast<const From*>(rows.features.data()) + row * width;
    const int64_t entries = width - std::count(values, values + width, From{0});
    ESPALIER_ASSIGN_OR_RETURN(uint8_t* const record, AddRecord(entries, type, records));
    auto* features = reinterpret_cast<int32_t*>(record) + 1;
    WithStorage(type, [&](auto wide) {
      using To = decltype(wide);
      To* to = reinterpret_cast<To*>(record + HeadBytes(entries));
      for (int64_t i = 0; i < width; ++i) {
        if (values[i] == 0) continue;
        *features++ = static_cast<int32_t>(i);
        *to++ = static_cast<To>(values[i]);
      }
    });
    return {};
  });
}

}  // namespace espalier
