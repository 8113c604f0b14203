// Arguments that specify the cluster and the caller's identity.
//
// Thread rule: pure functions.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "src/base/status.h"
#include "src/cli/options.h"

namespace espalier::cli {

// Adds --coordinator (`without` describes the effect of omitting it), --tls-..., --token-file and
// --timeout.
void AddCoordinator(CLI::App* app, const std::string& without, RawArguments* raw);

// `finish` function of commands that need a coordinator: from the flag, the environment or the
// default.
Status FinishCluster(const Environment& env, RawArguments* raw);

// Does the same without the default, so that no coordinator is possible.
Status FinishOptionalCluster(const Environment& env, RawArguments* raw);

// Derives timeout_ms from --timeout.
Status FinishTimeout(RawArguments* raw);

// Fills in missing certificates and the token from the environment, or for `yarn:NAME` from this
// machine's files for that cluster, and checks them.
Status FinishIdentity(const Environment& env, CliOptions* options);

}  // namespace espalier::cli
