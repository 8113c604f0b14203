// The common part of predictions and evaluations: the shards of a table, scored on several threads,
// and the progress of that work.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/data/profile/table_scan.h"
#include "src/scoring/scorer.h"
#include "src/scoring/trained_model.h"
#include "src/spec/shard_score.h"

namespace espalier::scoring {

// Progress of a run.
//
// Thread rule: written by the scoring threads, read by any thread.
struct ScoringProgress {
  std::atomic<int64_t> shards{0}, rows{0}, rejected{0};
};

// One run. It must outlive the calls that receive it.
struct ScoringRun {
  const storage::FileSystem& files;
  const TrainedModel& model;
  std::unique_ptr<const data::ShardReader> reader;  // from MakeScanReader
  int threads = 1;
  ScoringProgress* progress = nullptr;  // may be null
  std::function<bool()> cancelled;      // checked at each piece, from any thread; may be empty

  const spec::InputPlan& input() const { return reader->table().plan; }
  int64_t shards() const { return static_cast<int64_t>(input().shards.size()); }
};

// The scorers of the threads. A thread takes one for a shard and gives it back, so there are as
// many as active threads.
//
// Thread rule: safe from any thread.
class ScorerPool {
 public:
  explicit ScorerPool(const TrainedModel& model) : model_(model) {}
  // Also prepares the calling thread for computing.
  std::unique_ptr<Scorer> Take();
  void Give(std::unique_ptr<Scorer> scorer);

 private:
  const TrainedModel& model_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Scorer>> free_ GUARDED_BY(mutex_);
};

// Scores a piece and returns the number of its rows that became rejects.
using ScorePiece = std::function<Result<int64_t>(const data::RowPiece& piece)>;
// Reads a shard and counts its rows and rejects in the progress. kCancelled: the run was cancelled.
Status ScoreShard(const ScoringRun& run, int64_t shard, const ScorePiece& score);

}  // namespace espalier::scoring
