#include "src/base/build_info.h"

#include "src/base/build_flags.h"
#include "src/base/version.h"

namespace espalier {

std::string BuildDescription() { return "GCC " __VERSION__ ", " + std::string(kBuildFlags); }

std::string VersionText(const std::string& program, const std::string& arithmetic_id) {
  const std::string arithmetic = arithmetic_id.empty() ? "" : "arithmetic: " + arithmetic_id + "\n";
  return program + " " + kVersion + "\n" + arithmetic + "built by: " + BuildDescription() + "\n";
}

}  // namespace espalier
