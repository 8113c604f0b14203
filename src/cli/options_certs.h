// The command lines of `espalier certs`.
//
// Thread rule: pure functions.
#pragma once

#include <CLI/App.hpp>

#include "src/base/status.h"
#include "src/cli/options.h"

namespace espalier::cli {

// `declare` functions of the rows.
void DeclareCerts(CLI::App* app, RawArguments* raw);
void DeclareCertsInit(CLI::App* app, RawArguments* raw);
void DeclareCertsIssue(CLI::App* app, RawArguments* raw);
void DeclareCertsRevoke(CLI::App* app, RawArguments* raw);
void DeclareCertsCompare(CLI::App* app, RawArguments* raw);

// `finish` function of `certs issue`.
Status FinishCertsIssue(const Environment& env, RawArguments* raw);

}  // namespace espalier::cli
