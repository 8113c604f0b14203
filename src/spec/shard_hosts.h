// Hosts whose own disks hold the shards of an input.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/spec/input.h"

namespace espalier::spec {

// Returns the names that storage may use for a worker's host. They come from its name ("host:pid"
// by default) and its address ("host:port", or the path of a socket, which has no host). Each is in
// full and, except for a number, also without its domain.
std::vector<std::string> HostNames(const std::string& worker_name, const std::string& address);

// Shards on the disks of a host with any of these names, and their total bytes.
struct HeldShards {
  int64_t shards = 0;
  int64_t bytes = 0;
  bool operator==(const HeldShards&) const = default;
};
HeldShards HeldBy(const InputPlan& input, const std::vector<std::string>& names);

}  // namespace espalier::spec
