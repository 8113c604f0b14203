// The command lines of `espalier evaluate` and `espalier predict`. Thread rule: pure functions.
#pragma once

#include <CLI/App.hpp>

#include "src/base/status.h"
#include "src/cli/options.h"

namespace espalier {

bool IsScoring(CommandKind kind);

// Adds both commands; they fill `options`.
void AddScoring(CLI::App& app, CliOptions* options, std::string* timeout);

// Judges what was given.
Status CheckScoring(const CliOptions& options);

}  // namespace espalier
