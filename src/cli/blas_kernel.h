// The BLAS kernel for commands that compute in this process.
#pragma once

#include "src/base/status.h"

namespace espalier::cli {

// Restarts this program if necessary, so that it uses the same BLAS kernel as all workers
// (model/arithmetic.h). OpenBLAS chooses its kernel when it is loaded, from the environment. The
// results of this command then equal those of workers. The first two parameters are the values of
// OPENBLAS_CORETYPE and OPENBLAS_NUM_THREADS, or null.
// REQUIRES: called in main, before any other thread exists.
Status EnsureBlasKernel(const char* core_type, const char* threads, char** argv);

}  // namespace espalier::cli
