#include "src/base/memory.h"

#include <unistd.h>

namespace espalier {

int64_t PhysicalMemoryBytes() { return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

}  // namespace espalier
