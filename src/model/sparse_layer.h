// The first layer over sparse rows (spec/sparse_rows.h), without a multiplication by 0.
//
// Each sum is taken in an order that follows from the rows alone: first what the base gives, then
// the entries as they stand. The weight keeps the layout of a dense layer, [out, in] row-major, so
// that a model does not tell how it was trained.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "src/spec/sparse_rows.h"

namespace espalier::model {

// sums[r, o] = the product of row r with row o of the weight, for the first `count` rows. Columns
// of the weight beyond those of the rows are not theirs, and have a gradient of 0.
// `sums` has rows of `pitch` elements.
template <typename T>
void MultiplySparse(const spec::SparseRows<T>& rows, int64_t count, const T* weight, int64_t in,
                    int64_t out, T* sums, int64_t pitch);

// gradient [height, in] = the sum over rows of deltas[r, o] times row r, rows in their order.
// `deltas` has rows of `pitch` elements, of which the first `height` are used.
template <typename T>
void SparseGradient(const spec::SparseRows<T>& rows, int64_t count, const T* deltas, int64_t pitch,
                    int64_t height, int64_t in, T* gradient);

}  // namespace espalier::model
