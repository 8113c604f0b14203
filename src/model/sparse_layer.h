// The first layer over sparse rows (spec/sparse_rows.h), without multiplications by 0.
//
// The order of each sum depends only on the rows: first the base, then the entries in their order.
// The weight keeps the layout of a dense layer, [out, in] row-major, so a model does not depend on
// the layout of its training rows.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "src/spec/sparse_rows.h"

namespace espalier::model {

// Computes sums[r, o] = the product of row r with row o of the weight, for the first `count` rows.
// Columns of the weight after those of the rows do not take part, and have a gradient of 0. `sums`
// has rows of `pitch` elements.
template <typename T>
void MultiplySparse(const spec::SparseRows<T>& rows, int64_t count, const T* weight, int64_t in,
                    int64_t out, T* sums, int64_t pitch);

// Computes gradient [height, in] = the sum over rows of deltas[r, o] times row r, in the order of
// the rows. `deltas` has rows of `pitch` elements, of which the first `height` are used.
template <typename T>
void SparseGradient(const spec::SparseRows<T>& rows, int64_t count, const T* deltas, int64_t pitch,
                    int64_t height, int64_t in, T* gradient);

}  // namespace espalier::model
