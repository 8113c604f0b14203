// The command lines of `espalier evaluate`, `predict` and `export`.
//
// Thread rule: pure functions.
#pragma once

#include <CLI/App.hpp>

#include "src/base/status.h"
#include "src/cli/options.h"

namespace espalier::cli {

// `declare` functions of the rows.
void DeclareEvaluate(CLI::App* app, RawArguments* raw);
void DeclarePredict(CLI::App* app, RawArguments* raw);
void DeclareExport(CLI::App* app, RawArguments* raw);

// `finish` functions of the rows.
Status FinishEvaluate(const Environment& env, RawArguments* raw);
Status FinishPredict(const Environment& env, RawArguments* raw);

}  // namespace espalier::cli
