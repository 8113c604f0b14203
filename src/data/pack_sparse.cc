#include "src/data/pack_sparse.h"

#include <span>
#include <vector>

namespace espalier {
namespace {

template <typename T>
Status PackNumbers(const DecodedRows& rows, int64_t width, DecodedRows* sparse) {
  const T* row = reinterpret_cast<const T*>(rows.features.data());
  std::vector<int32_t> columns;
  std::vector<T> values;
  for (int64_t r = 0; r < rows.rows; ++r, row += width) {
    columns.clear();
    values.clear();
    for (int64_t i = 0; i < width; ++i) {
      if (row[i] == 0) continue;
      columns.push_back(static_cast<int32_t>(i));
      values.push_back(row[i]);
    }
    const size_t bytes = values.size() * sizeof(T);
    ESPALIER_RETURN_IF_ERROR(
        sparse->features.Append({reinterpret_cast<const uint8_t*>(values.data()), bytes}));
    ESPALIER_RETURN_IF_ERROR(sparse->columns.Append(columns));
    ESPALIER_RETURN_IF_ERROR(sparse->ends.Add(static_cast<int64_t>(sparse->columns.size())));
  }
  sparse->rows += rows.rows;
  return {};
}

template <typename T>
Status AppendAll(const RowArray<T>& from, RowArray<T>* to) {
  return to->Append({from.data(), from.size()});
}

}  // namespace

Status PackSparse(const DecodedRows& rows, int64_t width, DecodedRows* sparse) {
  ESPALIER_RETURN_IF_ERROR(sparse->WidenTo(rows.type));
  ESPALIER_RETURN_IF_ERROR(WithStorage(
      rows.type, [&](auto number) { return PackNumbers<decltype(number)>(rows, width, sparse); }));
  ESPALIER_RETURN_IF_ERROR(AppendAll(rows.labels, &sparse->labels));
  ESPALIER_RETURN_IF_ERROR(AppendAll(rows.targets, &sparse->targets));
  return AppendAll(rows.weights, &sparse->weights);
}

}  // namespace espalier
