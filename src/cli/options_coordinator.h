// The arguments that say which cluster is spoken to, and who speaks. Thread rule: pure functions.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "src/cli/options.h"

namespace espalier {

// Adds --coordinator (`without` says what holds without it), --tls-..., --token-file and, as its
// text, --timeout.
void AddCoordinator(CLI::App* command, const std::string& without, CliOptions* options,
                    std::string* timeout);

}  // namespace espalier
