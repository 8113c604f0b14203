// The arithmetic all members of a job share: how a compute thread is set up, which BLAS kernel
// runs, and the id that says whether two machines compute the same bits.
//
// Thread rule: pure or process-wide and safe from any thread, unless said.
#pragma once

#include <string>

#include "src/base/status.h"

namespace espalier::model {

// The OpenBLAS kernel every daemon runs unless a job opts for another. A shell sets
// OPENBLAS_CORETYPE to it and re-executes itself, for OpenBLAS chooses its kernel when it is loaded
// and silently ignores names it does not know; VerifyKernel tells whether it took.
inline constexpr const char* kDefaultKernel = "Haswell";

// Once a process, before the first computation: one BLAS thread (ours are over leaves and tiles).
void InitArithmetic();

// Once on each thread that computes: round to nearest, results and operands too small for normal
// numbers are zero, no floating-point traps.
void PrepareComputeThread();

// The name of the kernel that OpenBLAS loaded ("Haswell", "Zen", "SkylakeX", ...).
std::string BlasKernel();

// An error that names the kernel found and the setting that mends it, unless `wanted` is loaded.
Status VerifyKernel(const std::string& wanted = kDefaultKernel);

// "espalier 2; OpenBLAS 0.3.21 Haswell; self-test 0123456789abcdef": version of our arithmetic,
// OpenBLAS with its kernel, and the hash of a fixed self-test (GEMMs of several shapes, a
// sparse first layer, exp, log, tanh, erf, a dropout mask, an Adam step) in float and double. Takes
// a few milliseconds. An error when the self-test's results are not merely other bits but wrong.
Result<std::string> ArithmeticId();

}  // namespace espalier::model
