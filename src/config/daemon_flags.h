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

// What the command line holds.
struct DaemonFlags {
  std::string config;                         // path or URI; "": no file
  std::map<std::string, std::string> values;  // text of each given flag, by its option's key
  bool print_config = false;
  std::vector<std::string> notes;  // old names that were given, for the log
};

// Declares the flags. `flags` must outlive the parse.
template <typename Options>
void AddDaemonFlags(CLI::App& app, DaemonFlags& flags);

// Defaults, file and flags, in this order; not validated. Adds to `flags.notes`.
template <typename Options>
Result<Options> OptionsFrom(DaemonFlags& flags);

}  // namespace espalier::config
