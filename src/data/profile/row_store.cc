#include "src/data/profile/row_store.h"

#include <xmmintrin.h>

namespace espalier::data {
namespace {

constexpr int64_t kCacheLine = 64;
constexpr int64_t kPrefetchedBytes = 512;  // part of a record whose length is not known yet

// Prefetches a row. Rows come in shuffled order, mostly from main memory.
void Prefetch(const char* row, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kCacheLine) _mm_prefetch(row + i, _MM_HINT_T0);
}

}  // namespace

template <typename T>
void RowStore::Gather(spec::FileRole set, std::span<const int64_t> rows, T* inputs, int32_t* codes,
                      int32_t* labels, T* targets, T* weights, spec::SparseRows<T>* sparse) const {
  ESPALIER_CHECK(!sparse_ || sparse != nullptr, "sparse rows to nowhere");
  if (sparse_) encoder_.BeginSparse(sparse);
  const Set& s = sets_[Index(set)];
  for (const int64_t row : rows) {
    ESPALIER_CHECK(row >= s.range.begin && row < s.range.end,
                   "row " + std::to_string(row) + " is not held");
  }
  const int64_t row_bytes = encoder_.features() * ElementBytes(storage_);
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t at = rows[i] - s.range.begin;
    if (sparse_) {
      if (i + 2 < rows.size()) {
        const uint8_t* soon = s.records[rows[i + 2] - s.range.begin];
        Prefetch(reinterpret_cast<const char*>(soon), kPrefetchedBytes);
      }
      encoder_.EncodeSparse(storage_, ReadSparse(s.records[at]), nullptr, sparse,
                            codes + static_cast<int64_t>(i) * encoder_.coded());
    } else {
      if (i + 2 < rows.size())
        Prefetch(s.features + (rows[i + 2] - s.range.begin) * row_bytes, row_bytes);
      const auto row = static_cast<int64_t>(i);
      encoder_.Encode(storage_, s.features + at * row_bytes, inputs + row * encoder_.dense(),
                      codes + row * encoder_.coded());
    }
    if (labels != nullptr && s.labels != nullptr) labels[i] = s.labels[at];
    if (weights != nullptr)
      weights[i] = s.weights != nullptr ? static_cast<T>(s.weights[at]) : T{1};
    if (targets == nullptr) continue;
    for (int64_t t = 0; t < targets_; ++t) {
      const spec::FittedTarget& fitted = fitted_targets_[t];
      targets[i * targets_ + t] =
          static_cast<T>((s.targets[at * targets_ + t] - fitted.shift) * fitted.factor);
    }
  }
}

void RowStore::Labels(spec::FileRole set, plan::Range rows, int32_t* labels) const {
  const Set& s = sets_[Index(set)];
  ESPALIER_CHECK(
      s.labels != nullptr && rows.begin >= s.range.begin && rows.end <= s.range.end,
      "rows " + std::to_string(rows.begin) + " to " + std::to_string(rows.end) + " are not held");
  std::copy_n(s.labels + (rows.begin - s.range.begin), rows.size(), labels);
}

template void RowStore::Gather<float>(spec::FileRole, std::span<const int64_t>, float*, int32_t*,
                                      int32_t*, float*, float*, spec::SparseRows<float>*) const;
template void RowStore::Gather<double>(spec::FileRole, std::span<const int64_t>, double*, int32_t*,
                                       int32_t*, double*, double*, spec::SparseRows<double>*) const;

}  // namespace espalier::data
