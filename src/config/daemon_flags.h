// Command line of a daemon: --config FILE, a flag for each option of Describe, and --print-config.
// Flags override the file, and the file overrides the defaults.
//
// Thread rule: one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/config/daemon_options.h"

namespace CLI {
class App;
}

namespace espalier::config {

// Values from the command line.
struct DaemonFlags {
  std::string config;                         // path or URI; "": no file
  std::map<std::string, std::string> values;  // text of each given flag, by the key of its option
  bool print_config = false;
  std::vector<std::string> notes;  // old names in use, for the log
};

// Declares the flags. `flags` must outlive the parse.
template <typename Options>
void AddDaemonFlags(CLI::App& app, DaemonFlags& flags);

// Returns the options from defaults, file and flags, in this order. They are not validated. Adds to
// `flags.notes`.
template <typename Options>
Result<Options> OptionsFrom(DaemonFlags& flags);

}  // namespace espalier::config
