// The arguments that say which cluster is spoken to, and who speaks. Thread rule: pure functions.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "src/base/status.h"
#include "src/cli/command_table.h"

namespace espalier::cli {

// Adds --coordinator (`without` says what holds without it), --tls-..., --token-file and --timeout.
void AddCoordinator(CLI::App* app, const std::string& without, RawArguments* raw);

// `finish` of commands that speak to a coordinator: by flag, else environment, else default.
Status FinishCluster(const Environment& env, RawArguments* raw);

// The same without the default: none may be asked.
Status FinishOptionalCluster(const Environment& env, RawArguments* raw);

// Derives timeout_ms from --timeout.
Status FinishTimeout(RawArguments* raw);

// Takes what the command line leaves out of certificates and token from the environment, or for
// `yarn:NAME` from what this machine keeps of that cluster, and checks it.
Status FinishIdentity(const Environment& env, CliOptions* options);

}  // namespace espalier::cli
