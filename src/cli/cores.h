// Assignment of cores to local workers.
//
// Without it, the kernel moves the threads of one worker's links to a core where another worker
// computes. On two cores this made a step of two workers 5 to 90 % longer. If the workers use the
// whole machine, each gets its own share of the cores. Otherwise nothing is assigned, because other
// commands may need the rest.
#pragma once

#include <vector>

namespace espalier::cli {

// Returns the cores on which this process may run, ascending. Never empty.
std::vector<int> AllowedCores();

// Returns the cores of worker `index` (0-based); empty: any core. REQUIRES: cores is not empty, 0
// <= index < workers, threads (per worker) is positive.
std::vector<int> ShareOfCores(const std::vector<int>& cores, int workers, int threads, int index);

}  // namespace espalier::cli
