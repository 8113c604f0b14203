// The output of `--version`: the version of a program and its build.
//
// Thread rule: pure functions.
#pragma once

#include <string>

namespace espalier {

// Returns "GCC 12.2.0, -march=x86-64-v3 ...": the compiler, and the flags that affect numbers and
// sanitizers. Flags for warnings are left out.
std::string BuildDescription();

// Returns the lines "espalier 0.1.0", "arithmetic: ..." and "built by: ...". The second one is left
// out if `arithmetic_id` is empty.
std::string VersionText(const std::string& program, const std::string& arithmetic_id);

}  // namespace espalier
