// The processor check. All our code is built for x86-64-v3; on an older processor the first such
// instruction would end the process with an illegal-instruction signal. Linking this library into a
// program makes it check before any other static initialiser and end with words and exit code 1.
#pragma once

namespace espalier {

// The x86-64-v3 features that this processor lacks, e.g. "avx2 fma"; empty when none.
const char* MissingCpuFeatures();

}  // namespace espalier
