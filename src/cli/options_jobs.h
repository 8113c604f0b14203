// The command lines of the commands about jobs and workers.
//
// Thread rule: pure functions.
#pragma once

#include <CLI/App.hpp>

#include "src/base/status.h"
#include "src/cli/options.h"

namespace espalier::cli {

// `declare` functions of the rows.
void DeclareInit(CLI::App* app, RawArguments* raw);
void DeclareTrain(CLI::App* app, RawArguments* raw);
void DeclareSweep(CLI::App* app, RawArguments* raw);
void DeclareSubmit(CLI::App* app, RawArguments* raw);
void DeclareCheck(CLI::App* app, RawArguments* raw);
void DeclareWatch(CLI::App* app, RawArguments* raw);
void DeclareOneJob(CLI::App* app, RawArguments* raw);  // status
void DeclareCancel(CLI::App* app, RawArguments* raw);
void DeclareDrain(CLI::App* app, RawArguments* raw);
void DeclareList(CLI::App* app, RawArguments* raw);  // list, workers
void DeclareReference(CLI::App* app, RawArguments* raw);
void DeclareVersion(CLI::App* app, RawArguments* raw);

// `finish` functions of the rows.
Status FinishInit(const Environment& env, RawArguments* raw);
Status FinishTrain(const Environment& env, RawArguments* raw);
Status FinishSweep(const Environment& env, RawArguments* raw);
Status FinishSubmit(const Environment& env, RawArguments* raw);
Status FinishOneJob(const Environment& env, RawArguments* raw);  // watch, status, cancel

// Checks --output and --resume of a training command.
Status CheckRun(const CliOptions& options);

}  // namespace espalier::cli
