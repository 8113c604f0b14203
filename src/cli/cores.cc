#include "src/cli/cores.h"

#include <sched.h>

#include <cstdint>

namespace espalier::cli {

std::vector<int> AllowedCores() {
  std::vector<int> cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

std::vector<int> ShareOfCores(const std::vector<int>& cores, int workers, int threads, int index) {
  const auto count = static_cast<int64_t>(cores.size());
  const bool enough = int64_t{workers} * threads <= count;
  const bool all_taken = int64_t{workers} * (int64_t{threads} + 1) > count;
  if (!enough || !all_taken) return {};
  return {cores.begin() + count * index / workers, cores.begin() + count * (index + 1) / workers};
}

}  // namespace espalier::cli
