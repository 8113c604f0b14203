// The totals of one round after another, as they arrive at a member, and the reason why no more can
// arrive. A complete round counts even after a failure. So no two members are more than one round
// apart.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/collective/message.h"

namespace espalier::collective {

class RoundTotals {
 public:
  // Begins a round of this many buckets.
  void Begin(size_t buckets) {
    totals_.assign(buckets, {});
    missing_ = buckets;
  }
  // Takes the total of a bucket. REQUIRES: the first one of that bucket in this round.
  void Take(uint32_t bucket, Payload total) {
    totals_[bucket] = std::move(total);
    --missing_;
  }
  // Ends this round unless it is complete, and all later ones. Only the first reason counts.
  void Fail(Status why) {
    if (failure_.ok()) failure_ = std::move(why);
  }

  bool complete() const { return missing_ == 0; }
  // Returns whether the round needs no more waiting.
  bool over() const { return complete() || !failure_.ok(); }
  // Returns OK, or why this and later rounds cannot be completed.
  const Status& failure() const { return failure_; }
  // Returns the totals of the round by bucket, and forgets them, or the failure. REQUIRES: over.
  Result<std::vector<Payload>> Finish() {
    if (!complete()) return failure_;
    return std::exchange(totals_, {});
  }
  // Returns the totals that have arrived. The others are empty.
  const std::vector<Payload>& arrived() const { return totals_; }

 private:
  std::vector<Payload> totals_;
  size_t missing_ = 0;
  Status failure_;
};

}  // namespace espalier::collective
