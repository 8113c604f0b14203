// What `--version` tells of a program: its version, and how it was compiled.
#pragma once

#include <string>

namespace espalier {

// "GCC 12.2.0, -march=x86-64-v3 ...": the flags that decide about numbers and sanitizers, without
// those about warnings.
std::string BuildDescription();

// The lines "espalier 0.1.0", "arithmetic: ...", which is left out when `arithmetic_id` is empty,
// and "built by: ...".
std::string VersionText(const std::string& program, const std::string& arithmetic_id);

}  // namespace espalier
