// Whether the nodes of a cluster can run what is asked for. Thread rule: a pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/yarn/answers.h"
#include "src/yarn/service_spec.h"

namespace espalier::yarn {

// How many of the nodes have the memory and the vcores for a worker, of which each node runs one.
// kInvalidArgument names the flag when a container is larger than every node: YARN would refuse it.
// (0 is no error: one node may have the memory and another the vcores, and some of YARN's
// schedulers count memory alone.) kUnavailable: there is no node.
Result<int64_t> CountWorkerNodes(const std::vector<YarnNode>& nodes, const YarnRequest& request);

}  // namespace espalier::yarn
