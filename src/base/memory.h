// Memory limits of this process and errors of allocations.
//
// Thread rule: re-entrant functions.
#pragma once

#include <cstdint>
#include <new>
#include <string>

#include "src/base/status.h"

namespace espalier {

// Returns the memory available to this process, in bytes: that of the machine, or less in a
// container.
int64_t PhysicalMemoryBytes();

// Returns the lowest limit of the control groups in `membership` (as in /proc/self/cgroup) and of
// their ancestors, at most `most`. The groups are below `root` (/sys/fs/cgroup). The limit is
// memory.max, or memory.limit_in_bytes of version 1. Groups that do not exist there are skipped,
// because a container sees its own group as the root.
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
