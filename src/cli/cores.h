// Which cores of this machine each local worker gets.
//
// Left to itself the kernel moves the threads of one worker's links onto the core where another
// computes; on two cores that made a step of two workers 5 to 90 % longer. So when the workers take
// the whole machine anyway, each gets its own share of it. When they do not, nothing is fixed:
// other commands may want the rest.
#pragma once

#include <vector>

namespace espalier::cli {

// The cores this process may run on, ascending. Never empty.
std::vector<int> AllowedCores();

// The share of worker `index` (0-based); empty: any core. REQUIRES: cores not empty,
// 0 <= index < workers, threads (a worker) positive.
std::vector<int> ShareOfCores(const std::vector<int>& cores, int workers, int threads, int index);

}  // namespace espalier::cli
