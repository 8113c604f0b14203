#include "src/yarn/capacity.h"

#include <algorithm>
#include <string>

namespace espalier::yarn {
namespace {

Status Fits(const char* flag, int64_t asked, int64_t largest, const char* unit) {
  if (asked <= largest) return {};
  return InvalidArgument(std::string(flag) + ": found " + std::to_string(asked) + unit +
                         ", but the largest node of the cluster has " + std::to_string(largest) +
                         unit + " for containers");
}

}  // namespace

Result<int64_t> CountWorkerNodes(const std::vector<YarnNode>& nodes, const YarnRequest& request) {
  if (nodes.empty()) return Unavailable("YARN has no running node");
  const auto largest = [&nodes](int64_t YarnNode::*what) {
    int64_t most = 0;
    for (const YarnNode& node : nodes) most = std::max(most, node.*what);
    return most;
  };
  const int64_t memory = largest(&YarnNode::memory_mb), cores = largest(&YarnNode::cores);
  const YarnShare &worker = request.worker, &coordinator = request.coordinator;
  ESPALIER_RETURN_IF_ERROR(Fits("--memory", worker.memory_mb, memory, " MiB"));
  ESPALIER_RETURN_IF_ERROR(Fits("--coordinator-memory", coordinator.memory_mb, memory, " MiB"));
  ESPALIER_RETURN_IF_ERROR(Fits("--vcores", worker.cores, cores, " vcores"));
  ESPALIER_RETURN_IF_ERROR(Fits("--coordinator-vcores", coordinator.cores, cores, " vcores"));
  return std::count_if(nodes.begin(), nodes.end(), [&worker](const YarnNode& node) {
    return node.memory_mb >= worker.memory_mb && node.cores >= worker.cores;
  });
}

}  // namespace espalier::yarn
