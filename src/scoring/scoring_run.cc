#include "src/scoring/scoring_run.h"

#include <utility>

#include "src/model/arithmetic.h"

namespace espalier {

std::unique_ptr<Scorer> ScorerPool::Take() {
  PrepareComputeThread();
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto scorer = std::move(free_.back());
      free_.pop_back();
      return scorer;
    }
  }
  return Scorer::Make(model_);
}

void ScorerPool::Give(std::unique_ptr<Scorer> scorer) {
  std::lock_guard lock(mutex_);
  free_.push_back(std::move(scorer));
}

Status ScoreShard(const ScoringRun& run, int64_t shard, const TakePiece& take) {
  const auto counted = [&](const ScanPiece& piece) -> Status {
    if (run.cancelled && run.cancelled()) return Cancelled("interrupted");
    ESPALIER_RETURN_IF_ERROR(take(piece));
    if (run.progress != nullptr) {
      run.progress->rows += piece.rows.rows;
      run.progress->rejected += static_cast<int64_t>(piece.rejects.size());
    }
    return {};
  };
  ESPALIER_RETURN_IF_ERROR(
      ScanShard(run.files, run.scan, static_cast<int>(shard), run.room, counted));
  if (run.progress != nullptr) ++run.progress->shards;
  return {};
}

}  // namespace espalier
