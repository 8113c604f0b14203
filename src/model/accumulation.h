// Whether BLAS may add onto what is there without changing bits.
#pragma once

#include <cstdint>

namespace espalier::model {

// Whether c + a^T b by BLAS has the bits of the product apart, added, for the weight of a layer and
// that many rows. BLAS rounds once a block of the inner dimension, so this holds when the
// micro-batch is one block. A corner of the layer's weight with the layer's own remainders of the
// kernel's block sizes stands for the whole. Thread rule: the thread is prepared for computing.
template <typename T>
bool AccumulatesExactly(int64_t in, int64_t out, int64_t rows);

}  // namespace espalier::model
