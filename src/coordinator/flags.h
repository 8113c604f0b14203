// The command line of espalier-coordinator: a configuration file, flags that override it, and what
// only a parent process asks for.
//
// Thread rule: pure function, but for reading the configuration file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/config/daemon_options.h"

namespace espalier::coordinator {

struct CoordinatorFlags {
  config::CoordinatorOptions options;
  int ready_fd = -1;              // the address in use is written there, one line; -1: nowhere
  bool exit_with_parent = false;  // end when the parent process does
  std::vector<std::string> notes = {};  // config::DaemonFlags::notes
  // --help and --version: print this and end.
  std::optional<std::string> answer;
};

// kInvalidArgument: a flag, or the file, is wrong.
Result<CoordinatorFlags> ParseCoordinatorFlags(int argc, const char* const* argv);

}  // namespace espalier::coordinator
