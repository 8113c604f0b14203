// Events of training steps and scored shards for a test, which may record or delay them. The
// shipped program has no probe.
//
// Thread rule: see each function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/ids.h"

namespace espalier::worker {

class StepProbe {
 public:
  virtual ~StepProbe() = default;

  // Called between two rounds, after `step` committed steps, with the member's parameters. On the
  // job's thread.
  virtual void OnBoundary(int64_t step, std::span<const std::byte> parameters) = 0;
  // Called with the rows (global indices) that the leaf adds to `step` (0-based) in that
  // generation, before any part of the sum is sent. On any compute thread.
  virtual void OnLeaf(Generation generation, int64_t step, int64_t epoch, int32_t leaf,
                      std::span<const int64_t> rows) = 0;
  // Called after the total of `step` was applied. On the job's thread.
  virtual void OnCommit(Generation generation, int64_t step) = 0;
  // Called after a shard of a scoring job was scored, before the report. On any compute thread.
  virtual void OnShardScored(int32_t shard) = 0;
};

}  // namespace espalier::worker
