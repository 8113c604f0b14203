// Size checks for the large parts of messages between coordinator and workers. They run before a
// job starts and apply the receiver's checks.
//
// Thread rule: pure functions. They encode their argument, so do not call them from a control loop.
#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/cluster/messages.h"
#include "src/spec/input.h"

namespace espalier::rpc {

// Largest message between coordinator and worker, in bytes.
inline constexpr int64_t kMessageBytesMax = int64_t{64} << 20;
// Largest of the parts below, in bytes. Leaves room for the rest of the message.
inline constexpr int64_t kMessagePartBytesMax = int64_t{48} << 20;

// Returns the bytes of a shard's result in a message. Returns kResourceExhausted if the size
// exceeds kMessagePartBytesMax. The error names the shard's position and the setting to change.
// REQUIRES: the result belongs to one of the plan's shards.
Result<int64_t> MeasureResult(const spec::InputPlan& input, const spec::ShardResult& result);

// Returns kInvalidArgument if this plan cannot be sent to workers. The error names the settings to
// change.
Status CheckSendable(const spec::InputPlan& input);
// Checks the profile in the same way.
Status CheckSendable(const spec::TableProfile& profile);
// Checks a scoring result in the same way. Clients receive it, and the journal stores it.
Status CheckSendable(const spec::ScoringResult& result);

}  // namespace espalier::rpc
