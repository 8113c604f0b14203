// The tree reduce of one member, as a machine that does no I/O: what arrives goes in, what is to be
// sent comes out.
//
// A round reduces a table of buckets, each a vector of floats and doubles. A member hands in, per
// bucket, the partial sums of its own leaves (its canonical nodes, one vector each, one after
// another). They go to the join that takes them, its own or another member's; a join that has both
// inputs of a bucket adds siblings left + right in leaf order, and passes the canonical nodes of
// the union up. At the top the holders of the two parts send each other theirs, and both add left +
// right: the total of the bucket, which travels down unchanged. Buckets are independent of each
// other. Nothing depends on the order of arrival.
//
// A failure sticks: after the first one the machine ignores everything; the next generation has a
// machine of its own.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/collective/fate.h"
#include "src/collective/message.h"
#include "src/plan/ownership.h"

namespace espalier::collective {

// So many floats, then so many doubles. REQUIRES: an even number of floats.
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

// What a call leads to. Sends come before totals: other members must not wait for this one's work.
struct ReduceActions {
  std::vector<ReduceMessage> send;
  std::vector<BucketTotal> totals;  // at most once a bucket a round
  Status error;                     // the generation is over for this member
};

class TreeReducer {
 public:
  TreeReducer(ReduceIdentity identity, plan::TreePlace place);

  // Begins round `round` (the first may be any; each later one is the one before plus 1) and takes
  // what was held for it. REQUIRES: the round before has all its totals.
  ReduceActions BeginRound(uint64_t round, RoundShape shape);
  // The member's own partial sums of one bucket; once a bucket. Alone in the job: they are the
  // total.
  ReduceActions OnOwn(uint32_t bucket, Payload nodes);
  ReduceActions OnMessage(ReduceMessage message);

  bool failed() const { return !failure_.ok(); }
  // Members from which this round still lacks something, ascending; itself included when its own
  // sums are missing.
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
  // This holder's part of the top; it goes across as well.
  void TakeOwnPart(uint32_t bucket, Payload nodes, ReduceActions& actions);
  void TakePart(uint32_t bucket, bool is_left, Payload nodes, ReduceActions& actions);
  // How many vectors this message must have, or 0 when this place expects no such message.
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
  std::vector<ReduceMessage> held_;  // of the next round, or before the first; bounded
  Status failure_;
};

}  // namespace espalier::collective
