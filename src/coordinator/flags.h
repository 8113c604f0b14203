// The command line of espalier-coordinator: a configuration file, flags that override it, and flags
// that only a parent process uses.
//
// Thread rule: pure function, except that it reads the configuration file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/config/daemon_options.h"

namespace espalier::coordinator {

struct CoordinatorFlags {
  config::CoordinatorOptions options;
  int ready_fd = -1;                    // receives the address in use, as one line; -1: none
  bool exit_with_parent = false;        // ends when the parent process does
  std::vector<std::string> notes = {};  // config::DaemonFlags::notes
  // --help and --version: the text to print before ending.
  std::optional<std::string> answer;
};

// Parses the command line. kInvalidArgument: a flag, or the file, is wrong.
Result<CoordinatorFlags> ParseCoordinatorFlags(int argc, const char* const* argv);

}  // namespace espalier::coordinator
