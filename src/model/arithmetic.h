// The arithmetic that all members of a job share: the setup of compute threads, the BLAS kernel,
// and the id that shows whether two machines compute the same bits.
//
// Thread rule: pure or process-wide and safe from any thread, unless stated otherwise.
#pragma once

#include <string>

#include "src/base/status.h"

namespace espalier::model {

// The OpenBLAS kernel of every daemon, unless it is configured with another one. A shell sets
// OPENBLAS_CORETYPE to it and re-executes itself, because OpenBLAS chooses its kernel when it is
// loaded. OpenBLAS silently ignores unknown names, and VerifyKernel detects that.
inline constexpr const char* kDefaultKernel = "Haswell";

// Sets one BLAS thread, because our threads are over leaves and tiles. Call once per process,
// before the first computation.
void InitArithmetic();

// Sets round to nearest, flushes subnormal results and operands to zero, and masks floating-point
// traps. Call once on each compute thread.
void PrepareComputeThread();

// Returns the name of the kernel that OpenBLAS loaded ("Haswell", "Zen", "SkylakeX", ...).
std::string BlasKernel();

// Returns an error unless `wanted` is loaded. The error names the loaded kernel and the setting
// that fixes it.
Status VerifyKernel(const std::string& wanted = kDefaultKernel);

// Returns "espalier 2; OpenBLAS 0.3.21 Haswell; self-test 0123456789abcdef": the version of our
// arithmetic, OpenBLAS with its kernel, and the hash of a fixed self-test. The self-test computes
// GEMMs of several shapes, a sparse first layer, exp, log, tanh, erf, a dropout mask and an Adam
// step. It runs in float and double, and takes a few milliseconds. Returns an error if its results
// are wrong and do not merely differ in bits.
Result<std::string> ArithmeticId();

}  // namespace espalier::model
