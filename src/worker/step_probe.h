// What a test hears of the steps of a training and of the shards of a scoring job, and may harm or
// delay. The shipped program has no probe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/ids.h"

namespace espalier::worker {

class StepProbe {
 public:
  virtual ~StepProbe() = default;

  // Between two rounds, after `step` committed steps: the member's parameters. The job's thread.
  virtual void OnBoundary(int64_t step, std::span<std::byte> parameters) = 0;
  // These rows (global indices) are what the leaf adds to `step` (0-based) in that generation; told
  // before anything of it goes out. Any compute thread.
  virtual void OnLeaf(Generation generation, int64_t step, int64_t epoch, int32_t leaf,
                      std::span<const int64_t> rows) = 0;
  // The total of `step` was applied. The job's thread.
  virtual void OnCommit(Generation generation, int64_t step) = 0;
  // A shard of a job that scores was scored; before that is told. Any compute thread.
  virtual void OnShardScored(int32_t shard) = 0;
};

}  // namespace espalier::worker
