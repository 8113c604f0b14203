// Follows one job until it ends, until the caller stops it, or until the coordinator has been
// unreachable for too long.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "src/cli/learning_curve.h"
#include "src/cli/progress_view.h"
#include "src/rpc/api_client.h"

namespace espalier::cli {

// Milliseconds for the clean end of a cancelled job.
inline constexpr int64_t kCancelWaitMs = 10'000;

// Milliseconds before a broken stream is opened again.
inline constexpr int64_t kWatchAgainPauseMs = 500;

// Returns whether a retry may succeed soon: the coordinator is unreachable or overloaded.
bool MayComeBack(const Status& error);

struct FollowOptions {
  // Returns a new client for each attempt, because the address may have changed.
  std::function<Result<std::unique_ptr<rpc::ApiClient>>()> connect;
  // Called about ten times a second, on the caller's thread. An error ends Follow with that error.
  // The snapshot is the newest one, null before the first.
  std::function<Status(const spec::JobSnapshot*)> tick;
  int64_t away_limit_ms = 60'000;  // limit for an outage of the coordinator
  int64_t reach_limit_ms = 0;      // limit to reach it the first time; 0: one attempt
  // Whether this command submitted the job. A coordinator that does not know it has then lost it.
  bool submitted_here = false;
};

struct FollowEnd {
  Status status;                          // OK: the job is over; `last` has its final state
  std::optional<spec::JobSnapshot> last;  // newest received snapshot
  std::vector<CurvePoint> curve;          // all received evaluations
  int64_t away_ms = 0;                    // duration of an outage at the end; 0: none
};

// Blocks until the job or the watch ends. A separate thread, which ends before the return, reads
// the stream. The view is called on the caller's thread. kAborted: the coordinator no longer knows
// the job.
FollowEnd Follow(JobId job, ProgressView& view, const FollowOptions& options);

}  // namespace espalier::cli
