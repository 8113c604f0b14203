#include "src/base/memory.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace espalier {
namespace {

// Returns the number in a file, or `most` if it has no number ("max") or does not exist.
int64_t Limit(const std::string& file, int64_t most) {
  std::ifstream in(file);
  std::string text;
  int64_t bytes = 0;
  if (!std::getline(in, text)) return most;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return error == std::errc() && end != text.data() && bytes > 0 ? std::min(bytes, most) : most;
}

// Returns the lowest limit of the group and its ancestors.
int64_t LimitUpwards(const std::string& root, std::string group, const std::string& name,
                     int64_t most) {
  for (;; group.resize(group.rfind('/'))) {
    while (!group.empty() && group.back() == '/') group.pop_back();
    most = Limit(root + group + "/" + name, most);
    if (group.find('/') == std::string::npos) return most;
  }
}

}  // namespace

int64_t ControlGroupMemoryBytes(const std::string& membership, const std::string& root,
                                int64_t most) {
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {  // NUMBER:CONTROLLERS:/GROUP
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      most = LimitUpwards(root, group, "memory.max", most);
    } else if (controllers.find(",memory,") != std::string::npos) {
      most = LimitUpwards(root + "/memory", group, "memory.limit_in_bytes", most);
    }
  }
  return most;
}

int64_t PhysicalMemoryBytes() {
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  std::ostringstream membership;
  membership << std::ifstream("/proc/self/cgroup").rdbuf();
  return ControlGroupMemoryBytes(membership.str(), "/sys/fs/cgroup", machine);
}

Status OutOfMemory() {
  return ResourceExhausted(
      "an allocation failed: the process is out of memory. Use a smaller model, a lower "
      "train.batch "
      "or fewer train.leaves, or raise the memory limit of the process.");
}

}  // namespace espalier
