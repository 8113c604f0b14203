// How much memory there is. Thread rule: re-entrant functions.
#pragma once

#include <cstdint>
#include <new>
#include <string>

#include "src/base/status.h"

namespace espalier {

// What this process may have, in bytes: the machine's, or less in a container.
int64_t PhysicalMemoryBytes();

// The least limit of the control groups that `membership` (as of /proc/self/cgroup) names and of
// those above them, below `root` (/sys/fs/cgroup): memory.max, or memory.limit_in_bytes of version
// 1. Groups that do not stand there (a container sees its own as the root) are passed over; at most
// `most`.
int64_t ControlGroupMemoryBytes(const std::string& membership, const std::string& root,
                                int64_t most);

// Returns kResourceExhausted for a failed allocation.
Status OutOfMemory();

// Returns the Status or Result of `body`, or OutOfMemory() if an allocation in it fails.
template <typename Body>
auto CatchOutOfMemory(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

}  // namespace espalier
