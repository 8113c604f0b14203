// Whether what a job needs can be sent at all, known before it starts: the large parts of messages
// between coordinator and workers, measured and checked as their receiver will.
//
// Thread rule: pure functions; they encode their argument, so not for a control loop.
#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/cluster/messages.h"
#include "src/spec/input.h"

namespace espalier::rpc {

// Largest message between coordinator and worker.
inline constexpr int64_t kMessageBytesMax = int64_t{64} << 20;
// Largest of the parts below: leaves room for the rest of its message.
inline constexpr int64_t kMessagePartBytesMax = int64_t{48} << 20;

// Bytes of a shard's result in a message. kResourceExhausted when they are more than
// kMessagePartBytesMax; the message names the shard's place and the setting to change. REQUIRES:
// the result is of one of the plan's shards.
Result<int64_t> MeasureResult(const spec::InputPlan& input, const spec::ShardResult& result);

// OK, or kInvalidArgument when workers could not be sent this plan, naming the settings that mend
// it.
Status CheckSendable(const spec::InputPlan& input);
// The same for the profile.
Status CheckSendable(const spec::TableProfile& profile);
// The same for the result of scoring, which clients receive and the journal keeps.
Status CheckSendable(const spec::ScoringResult& result);

}  // namespace espalier::rpc
