// The command line of `espalier yarn`.
//
// Thread rule: pure functions. The environment is passed in.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "src/base/status.h"
#include "src/cli/options.h"
#include "src/yarn/staging.h"

namespace espalier::cli {

// `declare` functions of the rows.
void DeclareYarn(CLI::App* app, RawArguments* raw);
void DeclareYarnUp(CLI::App* app, RawArguments* raw);
void DeclareYarnRun(CLI::App* app, RawArguments* raw);
void DeclareYarnScale(CLI::App* app, RawArguments* raw);
void DeclareYarnService(CLI::App* app, RawArguments* raw);  // status, down
void DeclareYarnLogs(CLI::App* app, RawArguments* raw);

// `finish` functions of the rows: FinishYarn for commands with a service's name, FinishYarnRun for
// `run`, which may take the name from the job.
Status FinishYarn(const Environment& env, RawArguments* raw);
Status FinishYarnRun(const Environment& env, RawArguments* raw);

// Returns the parts of a request from the command line. kInvalidArgument: invalid size.
Result<yarn::YarnRequest> ToYarnRequest(const YarnArguments& arguments);

}  // namespace espalier::cli
