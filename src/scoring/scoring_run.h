// What predicting and evaluating share: the shards of a table, scored on several threads, and what
// is told of it meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/status.h"
#include "src/data/profile/table_scan.h"
#include "src/scoring/scorer.h"
#include "src/scoring/trained_model.h"
#include "src/spec/shard_score.h"

namespace espalier::scoring {

// Thread rule: written by the threads that score, read by any.
struct ScoringProgress {
  std::atomic<int64_t> shards{0}, rows{0}, rejected{0};
};

// Outlives the calls that get it.
struct ScoringRun {
  const storage::FileSystem& files;
  const TrainedModel& model;
  std::unique_ptr<const data::ShardReader> reader;  // MakeScanReader
  int threads = 1;
  ScoringProgress* progress = nullptr;  // may be null
  std::function<bool()> cancelled;      // asked at each piece, from any thread; may be empty

  const spec::InputPlan& input() const { return reader->table().plan; }
  int64_t shards() const { return static_cast<int64_t>(input().shards.size()); }
};

// The scorers of the threads: as many as there are threads at work, used again shard by shard.
// Thread rule: safe from any thread.
class ScorerPool {
 public:
  explicit ScorerPool(const TrainedModel& model) : model_(model) {}
  // Prepares the calling thread for computing, too.
  std::unique_ptr<Scorer> Take();
  void Give(std::unique_ptr<Scorer> scorer);

 private:
  const TrainedModel& model_;
  std::mutex mutex_;  // guards free_
  std::vector<std::unique_ptr<Scorer>> free_;
};

// Scores a piece; answers how many of its rows turned out to be rejects.
using ScorePiece = std::function<Result<int64_t>(const data::RowPiece& piece)>;
// Reads a shard, counting its rows and rejects in the progress. kCancelled when that is asked for.
Status ScoreShard(const ScoringRun& run, int64_t shard, const ScorePiece& score);

}  // namespace espalier::scoring
