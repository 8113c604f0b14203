// Shared parts of the command lines of all programs: the layout of --help, and errors in options.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <memory>

#include "src/base/status.h"

namespace CLI {
class App;
class Error;
class FormatterBase;
}  // namespace CLI

namespace espalier::config {

inline constexpr size_t kHelpColumns = 80;

// Returns the formatter of --help. Lines have at most kHelpColumns columns. In a footer,
// consecutive lines are one paragraph, which is wrapped. Lines that are indented (examples) stay
// separate.
std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter();

// Returns the error of a failed parse. An unknown option is reported first, with the nearest option
// or, if the command takes a job file, with the keys of a job that have its name.
Status CommandLineError(const CLI::App& app, const CLI::Error& error);

}  // namespace espalier::config
