// The tree reduce of one member, as a state machine without I/O. Its input is received messages,
// its output messages to send.
//
// A round reduces a table of buckets, each a vector of floats and doubles. For each bucket, a
// member passes in the partial sums of its own leaves (its canonical nodes, one vector each, one
// after another). They go to the join that takes them, which is the member's own or another
// member's. A join with both inputs of a bucket adds siblings left + right in leaf order, and
// passes the canonical nodes of the union up. At the top, the holders of the two parts send each
// other their parts, and both add left + right. The result is the total of the bucket, which
// travels down unchanged. Buckets are independent of each other. Nothing depends on the order of
// arrival.
//
// A failure is final: after the first one, the machine ignores all input. The next generation has a
// new machine.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/collective/message.h"
#include "src/collective/message_filter.h"
#include "src/plan/ownership.h"

namespace espalier::collective {

// A number of floats, followed by a number of doubles. REQUIRES: an even number of floats.
struct BucketShape {
  int64_t floats = 0;
  int64_t doubles = 0;
  int64_t float_bytes() const { return floats * static_cast<int64_t>(sizeof(float)); }
  int64_t bytes() const { return float_bytes() + doubles * static_cast<int64_t>(sizeof(double)); }
};
using RoundShape = std::vector<BucketShape>;

// The finished sum of one bucket.
struct BucketTotal {
  uint32_t bucket = 0;
  Payload payload;
};

// The results of a call. Sends come before totals, so that other members do not wait for this
// member's work.
struct ReduceActions {
  std::vector<ReduceMessage> send;
  std::vector<BucketTotal> totals;  // at most once per bucket and round
  Status error;                     // the generation is over for this member
};

class TreeReducer {
 public:
  TreeReducer(ReduceIdentity identity, plan::TreePlace place);

  // Begins round `round` and takes the messages held for it. The first round may have any number.
  // Each later one is the previous number plus 1. REQUIRES: the previous round has all its totals.
  ReduceActions BeginRound(uint64_t round, RoundShape shape);
  // Takes the member's own partial sums of a bucket, once per bucket. If the member is alone in the
  // job, they are the total.
  ReduceActions OnOwn(uint32_t bucket, Payload nodes);
  ReduceActions OnMessage(ReduceMessage message);

  bool failed() const { return !failure_.ok(); }
  // Returns the members whose input is missing in this round, ascending. The list includes this
  // member if its own sums are missing.
  std::vector<int32_t> Missing() const;

 private:
  struct BucketState {
    Payload left, right;          // inputs of the member's join
    Payload top_left, top_right;  // inputs of the top
    bool has_left = false, has_right = false;
    bool has_top_left = false, has_top_right = false;
    bool done = false, own_given = false;
  };

  void Take(ReduceMessage message, ReduceActions& actions);
  void TakeInput(uint32_t bucket, bool is_left, Payload nodes, ReduceActions& actions);
  // Takes this holder's part of the top and sends it to the other holder.
  void TakeOwnPart(uint32_t bucket, Payload nodes, ReduceActions& actions);
  void TakePart(uint32_t bucket, bool is_left, Payload nodes, ReduceActions& actions);
  // Returns the number of vectors that this message must have, or 0 if this place expects no
  // message of this kind.
  size_t VectorsExpected(const ReduceMessage& message) const;
  void FailTwice(uint32_t bucket, ReduceActions& actions);
  void TakeTotal(uint32_t bucket, Payload total, ReduceActions& actions);
  ReduceMessage Make(MessageKind kind, int32_t to, uint32_t bucket, Payload payload) const;
  void Fail(Status error, ReduceActions& actions);

  ReduceIdentity identity_;
  plan::TreePlace place_;
  uint64_t round_ = 0;
  bool begun_ = false;
  RoundShape shape_;
  std::vector<BucketState> buckets_;
  std::vector<ReduceMessage> held_;  // messages of the next round, or before the first; limited
  Status failure_;
};

}  // namespace espalier::collective
