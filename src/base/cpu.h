// The processor check. All our code is built for x86-64-v3. On an older processor, the first
// instruction of that level would end the process with an illegal-instruction signal. A program
// that links this library runs the check before any other static initializer. If the check fails,
// the program prints a message and exits with code 1.
#pragma once

namespace espalier {

// Returns the x86-64-v3 features missing from this processor, for example "avx2 fma". Empty if none
// is missing.
const char* MissingCpuFeatures();

}  // namespace espalier
