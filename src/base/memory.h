// How much memory there is. Thread rule: a re-entrant function.
#pragma once

#include <cstdint>

namespace espalier {

// Of this machine, in bytes; what a container may have of it is not looked at.
int64_t PhysicalMemoryBytes();

}  // namespace espalier
