// The compact form of an input plan, in which a job waits and the journal keeps it. A plan has tens
// of bytes per shard, and its hosts take ten times as much. In the packed form, the equal shards of
// a file take a few bytes together, and a list of hosts takes a byte per host.
//
// Layout: numbers are zigzag varints (7 bits per byte, low bits first), texts have their length
// first, lists have their count first.
//
//   number   kPackedPlanVersion
//   list     files: bytes shared with the path before, rest of the path, length, modification time
//            less that of the file before, role, columns
//   number   shards, then runs of shards that adjoin in one file and have one length:
//            file less that of the run before, begin less the end before (in the same file; else
//            the begin itself), length, shards in the run
//   ...      schema, `provisional`, notes
//   list     distinct names of hosts
//   number   shards with hosts (0 or all), then for each: count, positions of names
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/spec/input.h"

namespace espalier::cluster {

// Upper limit for the shards of a packed plan. A plan with more does not fit in a message.
inline constexpr int64_t kPackedShardsMax = int64_t{1} << 24;

std::string PackPlan(const spec::InputPlan& plan);
// Returns exactly the plan that was packed. kDataLoss: the bytes are not a packed plan. Bytes from
// outside may hold a plan whose parts do not match (rpc/convert.h, CheckPlan).
Result<spec::InputPlan> UnpackPlan(std::string_view bytes);

}  // namespace espalier::cluster
