// The command line of `espalier yarn`. Thread rule: pure functions; the environment is passed in.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "src/base/status.h"
#include "src/cli/command_table.h"
#include "src/yarn/staging.h"

namespace espalier::cli {

inline constexpr const char* kYarnCoordinator = "yarn:";  // and a service's name
// Where this machine keeps a service, below HOME; and the service's name.
inline constexpr const char* kYarnKeptDirectory = ".espalier/yarn";

// `declare` of the rows.
void DeclareYarn(CLI::App* app, RawArguments* raw);
void DeclareYarnUp(CLI::App* app, RawArguments* raw);
void DeclareYarnRun(CLI::App* app, RawArguments* raw);
void DeclareYarnScale(CLI::App* app, RawArguments* raw);
void DeclareYarnService(CLI::App* app, RawArguments* raw);  // status, down
void DeclareYarnLogs(CLI::App* app, RawArguments* raw);

// `finish` of the rows: FinishYarn of those with a service's name, FinishYarnRun of `run`, where
// the job may give the name.
Status FinishYarn(const Environment& env, RawArguments* raw);
Status FinishYarnRun(const Environment& env, RawArguments* raw);

// What this machine keeps of a service.
yarn::YarnKept KeptOfYarn(const Environment& env, const std::string& service);

// The parts of a request that the command line gives. kInvalidArgument: a size is none.
Result<yarn::YarnRequest> ToYarnRequest(const YarnArguments& arguments);

}  // namespace espalier::cli
