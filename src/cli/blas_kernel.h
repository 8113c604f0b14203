// The BLAS kernel of a command that computes itself.
#pragma once

#include "src/base/status.h"

namespace espalier::cli {

// OpenBLAS chooses its kernel when it is loaded: unless the environment asks for the one that all
// workers have (model/arithmetic.h), starts this program again with one that does. So what is
// computed here is what they would compute.
// The first two are the values of OPENBLAS_CORETYPE and OPENBLAS_NUM_THREADS, or null.
// REQUIRES: called in main, before any other thread exists.
Status EnsureBlasKernel(const char* core_type, const char* threads, char** argv);

}  // namespace espalier::cli
