// Following one job until it ends, until the follower is told to stop, or until the coordinator has
// been away for too long.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "src/cli/learning_curve.h"
#include "src/cli/progress_view.h"
#include "src/rpc/api_client.h"

namespace espalier::cli {

// Milliseconds that a cancelled job has for its clean end.
inline constexpr int64_t kCancelWaitMs = 10'000;

// Milliseconds until a stream that broke is asked for again.
inline constexpr int64_t kWatchAgainPauseMs = 500;

// Whether the coordinator may soon answer otherwise: it is away, or too many ask.
bool MayComeBack(const Status& error);

struct FollowOptions {
  // A new client for each attempt: the address may have moved.
  std::function<Result<std::unique_ptr<rpc::ApiClient>>()> connect;
  // Called about ten times a second, on the caller's thread; an error ends the following with it.
  // The snapshot is the newest one, null before the first.
  std::function<Status(const spec::JobSnapshot*)> tick;
  int64_t away_limit_ms = 60'000;  // how long the coordinator may be gone
  int64_t reach_limit_ms = 0;      // how long one that was not reached yet is tried; 0: once
  // This command submitted the job: a coordinator that does not know it has lost it.
  bool submitted_here = false;
};

struct FollowEnd {
  Status status;                          // OK: the job is over; `last` then has its final state
  std::optional<spec::JobSnapshot> last;  // the newest snapshot that came
  std::vector<CurvePoint> curve;          // all evaluations that came
  int64_t away_ms = 0;  // how long the coordinator was gone at the end; 0: it was there
};

// Blocks. The stream is read by a thread of its own, which has ended when this returns; the view is
// called on the caller's thread. kAborted: the coordinator does
// not know the job any more.
FollowEnd Follow(JobId job, ProgressView& view, const FollowOptions& options);

}  // namespace espalier::cli
