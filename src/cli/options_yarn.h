// The command line of `espalier yarn`. Thread rule: pure functions; the environment is passed in.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "src/base/status.h"
#include "src/cli/options.h"
#include "src/yarn/staging.h"

namespace espalier {

inline constexpr const char* kYarnCoordinator = "yarn:";  // and a service's name

bool IsYarn(CommandKind kind);

// Adds `yarn` and its commands; they fill `options`.
void AddYarn(CLI::App& app, CliOptions* options);

// Judges what was given; and the coordinator that `run` will speak to.
Status FinishYarn(const Environment& env, CliOptions* options);

// What this machine keeps of a service.
YarnKept KeptOfYarn(const Environment& env, const std::string& service);

// The parts of a request that the command line gives. kInvalidArgument: a size is none.
Result<YarnRequest> ToYarnRequest(const YarnArguments& arguments);

}  // namespace espalier
