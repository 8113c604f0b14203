// Check that the nodes of a cluster can run a requested service. Thread rule: a pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/yarn/answers.h"
#include "src/yarn/service_spec.h"

namespace espalier::yarn {

// Returns the number of nodes that have the memory and the vcores for a worker. Each node runs one
// worker. kInvalidArgument names the flag if a container is larger than every node, because YARN
// would refuse it. 0 is not an error: one node may have the memory and another the vcores, and some
// YARN schedulers count only memory. kUnavailable: the cluster has no nodes.
Result<int64_t> CountWorkerNodes(const std::vector<YarnNode>& nodes, const YarnRequest& request);

}  // namespace espalier::yarn
