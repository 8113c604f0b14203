#include "src/data/table/pack_sparse.h"

#include "src/spec/sparse_rows.h"

namespace espalier::data {
namespace {

template <typename T>
Status PackAs(const T* row, int64_t count, int64_t width, std::span<const int32_t> coded,
              DecodedRows* sparse) {
  Nonzeros<T> found;
  for (int64_t r = 0; r < count; ++r, row += width) {
    found.Find(row, width, coded);
    const size_t bytes = found.values.size() * sizeof(T);
    ESPALIER_RETURN_IF_ERROR(
        sparse->features.Append({reinterpret_cast<const uint8_t*>(found.values.data()), bytes}));
    ESPALIER_RETURN_IF_ERROR(sparse->columns.Append(found.columns));
    ESPALIER_RETURN_IF_ERROR(sparse->ends.Add(static_cast<int64_t>(sparse->columns.size())));
  }
  sparse->rows += count;
  return {};
}

template <typename T>
Status AppendAll(const RowArray<T>& from, RowArray<T>* to) {
  return to->Append({from.data(), from.size()});
}

}  // namespace

bool AreSparse(const DecodedSets& sets, int64_t width, std::span<const int32_t> coded) {
  int64_t rows = 0, nonzeros = 0;
  for (const DecodedRows& set : sets) {
    rows += set.rows;
    nonzeros += set.Nonzeros(width, coded);
  }
  return AreSparse(rows, nonzeros, width);
}

bool AreSparse(int64_t rows, int64_t nonzeros, int64_t width) {
  return nonzeros <= rows * width / spec::kSparseShare;
}

Status PackNumbers(const DecodedRows& rows, int64_t begin, int64_t count, int64_t width,
                   std::span<const int32_t> coded, DecodedRows* sparse) {
  ESPALIER_RETURN_IF_ERROR(sparse->WidenTo(rows.type));
  return WithStorage(rows.type, [&](auto number) {
    const auto* numbers = reinterpret_cast<const decltype(number)*>(rows.features.data());
    return PackAs(numbers + begin * width, count, width, coded, sparse);
  });
}

Status PackSparse(const DecodedRows& rows, int64_t width, std::span<const int32_t> coded,
                  DecodedRows* sparse) {
  ESPALIER_RETURN_IF_ERROR(PackNumbers(rows, 0, rows.rows, width, coded, sparse));
  ESPALIER_RETURN_IF_ERROR(AppendAll(rows.labels, &sparse->labels));
  ESPALIER_RETURN_IF_ERROR(AppendAll(rows.targets, &sparse->targets));
  return AppendAll(rows.weights, &sparse->weights);
}

}  // namespace espalier::data
