// The parser of the command line of `espalier`.
//
// Thread rule: a pure function. The environment is passed in.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "src/base/status.h"
#include "src/cli/options.h"

namespace espalier::cli {

struct Command;

// One of three: options, text to print (help), or an error (exit code 2).
struct ParsedArguments {
  std::optional<CliOptions> options;
  const Command* command = nullptr;  // with options: the row of command_table.h to run
  std::string help;
  Status error;
};

// Parses the command line. `arguments` excludes the program's name.
ParsedArguments ParseArguments(std::span<const std::string> arguments, const Environment& env);

}  // namespace espalier::cli
