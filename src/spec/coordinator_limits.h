// Limits and timeouts of a coordinator. config/daemon_options.h declares their ranges and meanings.
// cluster/coordinator_core.h applies them.
//
// Thread rule: values.
#pragma once

#include <cstdint>

namespace espalier::spec {

struct CoordinatorLimits {
  int64_t heartbeat_interval_ms = 1000;
  int64_t liveness_limit_ms = 5000;
  int64_t start_timeout_ms = 300'000;
  int64_t profiling_timeout_ms = 3'600'000;
  int64_t step_timeout_ms = 1'800'000;
  int64_t below_min_timeout_ms = 300'000;
  int64_t keep_timeout_ms = 120'000;
  int64_t join_timeout_ms = 60'000;
  int64_t rebalance_interval_ms = 60'000;
  int64_t workers_max = 1000;
  int64_t profile_bytes_max = int64_t{2} << 30;
  int64_t jobs_kept_max = 1000;
  int64_t queue_max = 10'000;
  int64_t owner_waiting_jobs_max = 1000;
  int64_t owner_running_jobs_max = 0;
  int64_t owner_workers_max = 0;
  bool operator==(const CoordinatorLimits&) const = default;
};

}  // namespace espalier::spec
