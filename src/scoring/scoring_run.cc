#include "src/scoring/scoring_run.h"

#include <utility>

#include "src/model/arithmetic.h"

namespace espalier::scoring {

std::unique_ptr<Scorer> ScorerPool::Take() {
  model::PrepareComputeThread();
  {
    MutexLock lock(mutex_);
    if (!free_.empty()) {
      auto scorer = std::move(free_.back());
      free_.pop_back();
      return scorer;
    }
  }
  return Scorer::Make(model_);
}

void ScorerPool::Give(std::unique_ptr<Scorer> scorer) {
  MutexLock lock(mutex_);
  free_.push_back(std::move(scorer));
}

Status ScoreShard(const ScoringRun& run, int64_t shard, const ScorePiece& score) {
  const auto counted = [&](const data::RowPiece& piece) -> Status {
    if (run.cancelled && run.cancelled()) return Cancelled("interrupted");
    ESPALIER_ASSIGN_OR_RETURN(const int64_t more, score(piece));
    if (run.progress != nullptr) {
      run.progress->rows += piece.rows().rows - more;
      run.progress->rejected += static_cast<int64_t>(piece.rejects.size()) + more;
    }
    return {};
  };
  ESPALIER_RETURN_IF_ERROR(run.reader->Read(static_cast<int>(shard), counted).status());
  if (run.progress != nullptr) ++run.progress->shards;
  return {};
}

}  // namespace espalier::scoring
