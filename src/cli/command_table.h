// The table of commands, which the parser iterates over. To add a command, add a row.
//
// Thread rule: constants.
#pragma once

#include <CLI/App.hpp>
#include <span>
#include <string_view>

#include "src/base/status.h"
#include "src/cli/options.h"

namespace espalier::cli {

struct CommandContext;

// A command, or a group of commands such as `espalier certs`.
struct Command {
  std::string_view name;  // "train"; in a group: "certs init"
  const char* help;       // one line
  // Declares the arguments, and the examples that --help shows.
  void (*declare)(CLI::App* app, RawArguments* raw);
  // Checks the arguments and adds values from the environment. Null: nothing to do.
  Status (*finish)(const Environment& env, RawArguments* raw) = nullptr;
  int (*run)(const CommandContext& context) = nullptr;  // null: a group
  bool needs_blas_kernel = false;                       // main calls EnsureBlasKernel first
};

// Returns the rows in the order of --help. A group precedes its commands.
std::span<const Command> Commands();

}  // namespace espalier::cli
