// Test of whether BLAS may accumulate onto existing values without changing bits.
#pragma once

#include <cstdint>

namespace espalier::model {

// Returns whether c + a^T b computed by BLAS has the same bits as the separate product plus c. The
// sizes are those of a layer's weight and this number of rows. BLAS rounds once per block of the
// inner dimension, so this is true if the micro-batch is one block. The test uses a corner of the
// layer's weight, with the layer's own remainders of the kernel's block sizes.
//
// Thread rule: the thread is prepared for computing.
template <typename T>
bool AccumulatesExactly(int64_t in, int64_t out, int64_t rows);

}  // namespace espalier::model
