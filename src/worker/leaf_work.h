// What one member computes over the rows of its own leaves: gradients of batches, and evaluations.
//
// A gradient: each own leaf's rows are gathered and run forward and backward (the pool, over
// leaves); then, largest layer first, each chunk of the gradient is computed leaf by leaf and
// joined into the nodes that the member sends (the pool, over chunks). A bucket whose chunks are
// done is handed out at once; the last one carries the statistics too.
//
// Thread rule: one thread, which is the first of the compute pool; hooks may be called on any of
// the pool's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "src/base/thread_pool.h"
#include "src/collective/message.h"
#include "src/collective/tree_reducer.h"
#include "src/model/leaf_pass.h"
#include "src/plan/chunks.h"
#include "src/plan/rows.h"
#include "src/plan/summation_tree.h"
#include "src/training/step_machine.h"
#include "src/worker/fold_rows.h"

namespace espalier::worker {

// Where rows come from: global row indices of a set to the network's inputs. Safe from several
// threads. Implemented over the row store (own_rows.h) and by tests.
template <typename T>
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Of a sparse network the inputs go to `sparse`, else to `inputs`.
  virtual void Gather(spec::FileRole set, std::span<const int64_t> rows, T* inputs, int32_t* codes,
                      int32_t* labels, T* targets, T* weights,
                      spec::SparseRows<T>* sparse) const = 0;
  // Fills labels [rows.size()] with the classes of these rows. REQUIRES: a classification.
  virtual void Labels(spec::FileRole set, plan::Range rows, int32_t* labels) const = 0;
};

struct LeafWorkOptions {
  spec::Shuffle shuffle;
  int32_t leaves = 1;
  plan::LeafSpan own;           // this member's leaves, one at least
  int64_t steps_per_epoch = 1;  // an epoch of the own rows is so many batches
  // Whether the own leaves add up to one sum, left to right, in place of the canonical nodes of the
  // summation tree.
  bool one_sum = false;
  int64_t own_numbers = 0;  // beside a step's statistics and extras
};

// Sums of an evaluation over rows.
struct Measured {
  training::Measure measure = training::Measure::kTotals;
  int64_t size = 0;      // numbers that it has
  model::Trials trials;  // kTrials
};

template <typename T>
class LeafWork {
 public:
  // The rows of a step of an epoch; `step` is what dropout is keyed by.
  struct Batch {
    int64_t epoch = 0, step_of_epoch = 0, step = 0;
    int64_t fit = 0;
  };
  using OnLeaf = std::function<void(int32_t leaf, std::span<const int64_t> rows)>;
  using OnBucket = std::function<void(uint32_t bucket, collective::Payload nodes)>;

  // All references must outlive this.
  LeafWork(const training::TrainingPlan& plan, LeafWorkOptions options, const RowSource<T>& rows,
           ComputePool& pool);

  // Of a gradient: what each node has in each bucket.
  const collective::RoundShape& round_shape() const { return round_shape_; }
  const std::vector<plan::Chunk>& chunks() const { return chunks_; }
  // Elements that a bucket has of the gradient.
  int64_t BucketSize(size_t bucket) const { return table_.buckets[bucket].size; }
  // A chunk's part of vectors that are cut like one node.
  const T* ChunkOf(const std::vector<collective::Payload>& buckets, int64_t chunk) const;
  T* ChunkOf(const std::vector<collective::MutablePayload>& buckets, int64_t chunk) const;
  // The statistics that such vectors carry: StatsSize() numbers.
  const double* StatsOf(const std::vector<collective::Payload>& buckets) const;
  int64_t StatsSize() const;

  // How many rows a batch has, of all own leaves.
  int64_t RowsOf(const Batch& batch) const;
  // First the leaves, then what is to be added to the first one's statistics, then the gradients.
  // Once `cancelled` (none: never) says so, leaves and chunks are left out: then Gradients must not
  // be called, or not all buckets come.
  void RunLeaves(const T* parameters, const Batch& batch, const OnLeaf& on_leaf,
                 const std::function<bool()>& cancelled = {});
  double* own_stats() { return leaf_stats_[0].data(); }
  void Gradients(const OnBucket& on_bucket, const std::function<bool()>& cancelled = {});

  // The sums of all parts over the own leaves' rows of a set, one vector a node. Empty: cancelled.
  // `on_progress` hears the share that is done, on the caller's thread.
  std::vector<std::vector<double>> Evaluate(spec::FileRole set,
                                            std::span<const training::EvaluationPart<T>> parts,
                                            const Measured& measured,
                                            const std::function<bool()>& cancelled,
                                            const std::function<void(double share)>& on_progress);

 private:
  // A bucket of the present gradient that is being filled.
  struct OpenBucket {
    collective::MutablePayload nodes;
    std::atomic<int32_t> chunks_left{0};
  };
  // An evaluation: what its threads share.
  struct Evaluation {
    spec::FileRole set;
    std::span<const training::EvaluationPart<T>> parts;
    const Measured& measured;
    const std::function<bool()>& cancelled;
    const std::function<void(double)>& on_progress;
    std::thread::id caller;
    int64_t rows_own = 0;
    std::atomic<int64_t> rows_done{0};
  };

  void RunLeaf(const T* parameters, const Batch& batch, int32_t own_index, const OnLeaf& on_leaf);
  void OpenBuckets();
  void ComputeChunk(uint32_t chunk_index);
  // The own leaves' totals, joined into nodes.
  std::vector<std::vector<double>> Join(std::vector<std::vector<double>> sums) const;
  void EvaluatePart(Evaluation& evaluation, const training::EvaluationPart<T>& part,
                    int32_t own_index, std::vector<double>& totals);
  std::unique_ptr<model::LeafPass<T>> TakeEvaluationPass(const model::NetworkShape& shape);
  plan::Range RowsOfLeaf(spec::FileRole set, int32_t own_index) const;
  // With folds: those of the own leaves, whose rows are there by now.
  void MakeFolds();
  int64_t SetRows(spec::FileRole set) const;

  const training::TrainingPlan& plan_;
  const LeafWorkOptions options_;
  const RowSource<T>& rows_;
  ComputePool& pool_;
  std::vector<plan::Chunk> chunks_;
  plan::BucketTable table_;
  collective::RoundShape round_shape_;
  std::vector<OpenBucket> open_;                             // one a bucket
  int64_t stats_at_ = 0;                                     // bytes, in a node of the last bucket
  plan::JoinPlan own_join_;                                  // single own leaves to nodes
  std::vector<std::unique_ptr<model::LeafPass<T>>> passes_;  // one an own leaf
  std::vector<FoldRows> folds_;                              // the same, with folds
  std::vector<int64_t> pass_rows_;                           // of the present batch
  std::vector<std::vector<double>> leaf_stats_;
  std::mutex evaluation_mutex_;  // guards evaluation_passes_
  std::vector<std::unique_ptr<model::LeafPass<T>>> evaluation_passes_;
};

}  // namespace espalier::worker
