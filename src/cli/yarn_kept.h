// This machine's files for clusters in YARN's containers.
//
// Thread rule: a pure function.
#pragma once

#include <string>

#include "src/cli/options.h"
#include "src/yarn/staging.h"

namespace espalier::cli {

inline constexpr const char* kYarnCoordinator = "yarn:";  // followed by a service's name
// Directory below HOME for the local files of services. Each has a subdirectory with the service's
// name.
inline constexpr const char* kYarnKeptDirectory = ".espalier/yarn";

// Returns the local files of a service.
yarn::YarnKept KeptOfYarn(const Environment& env, const std::string& service);

}  // namespace espalier::cli
