// The work of one member on the rows of its own leaves: gradients of batches, and evaluations.
//
// A gradient has two phases. First, the pool gathers each own leaf's rows and runs them forward and
// backward, in parallel over leaves. Then, largest layer first and in parallel over chunks, it
// computes each chunk of the gradient leaf by leaf. It joins the chunk into the nodes that the
// member sends. It hands out a bucket as soon as its chunks are done. The last bucket also carries
// the statistics.
//
// Thread rule: one thread, which is the first of the compute pool. Hooks may be called on any
// thread of the pool.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "src/base/mutex.h"
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

// Maps global row indices of a set to the network's inputs. Safe from several threads. Implemented
// over the row store (own_rows.h) and by tests.
template <typename T>
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Reads these rows. The inputs of a sparse network go to `sparse`, otherwise to `inputs`.
  virtual void Gather(spec::FileRole set, std::span<const int64_t> rows, T* inputs, int32_t* codes,
                      int32_t* labels, T* targets, T* weights,
                      spec::SparseRows<T>* sparse) const = 0;
  // Fills labels [rows.size()] with the classes of these rows. REQUIRES: a classification.
  virtual void Labels(spec::FileRole set, plan::Range rows, int32_t* labels) const = 0;
};

struct LeafWorkOptions {
  spec::Shuffle shuffle;
  int32_t leaves = 1;
  plan::LeafSpan own;           // this member's leaves, at least one
  int64_t steps_per_epoch = 1;  // batches per epoch of the own rows
  // Adds the own leaves to one sum, left to right, instead of the canonical nodes of the summation
  // tree.
  bool one_sum = false;
  int64_t own_numbers = 0;  // count, in addition to a step's statistics and extras
};

// Sums of an evaluation over rows.
struct Measured {
  training::Measure measure = training::Measure::kTotals;
  int64_t size = 0;      // number of sums
  model::Trials trials;  // only with kTrials
};

template <typename T>
class LeafWork {
 public:
  // The rows of a step of an epoch. `step` is the key of dropout.
  struct Batch {
    int64_t epoch = 0, step_of_epoch = 0, step = 0;
    int64_t fit = 0;
  };
  using OnLeaf = std::function<void(int32_t leaf, std::span<const int64_t> rows)>;
  using OnBucket = std::function<void(uint32_t bucket, collective::Payload nodes)>;

  // All references must outlive this object.
  LeafWork(const training::TrainingPlan& plan, LeafWorkOptions options, const RowSource<T>& rows,
           ComputePool& pool);

  // Returns the content of each node of a gradient, by bucket.
  const collective::RoundShape& round_shape() const { return round_shape_; }
  const std::vector<plan::Chunk>& chunks() const { return chunks_; }
  // Returns the number of gradient elements in a bucket.
  int64_t BucketSize(size_t bucket) const { return table_.buckets[bucket].size; }
  // Returns a chunk's part of vectors that are cut like one node.
  const T* ChunkOf(const std::vector<collective::Payload>& buckets, int64_t chunk) const;
  T* ChunkOf(const std::vector<collective::MutablePayload>& buckets, int64_t chunk) const;
  // Returns the statistics in these vectors: StatsSize() numbers.
  const double* StatsOf(const std::vector<collective::Payload>& buckets) const;
  int64_t StatsSize() const;

  // Returns the number of rows of a batch, over all own leaves.
  int64_t RowsOf(const Batch& batch) const;
  // Call RunLeaves first, then add to own_stats(), then call Gradients. Once `cancelled` (none:
  // never) returns true, leaves and chunks are skipped. Then Gradients must not be called, or not
  // all buckets are handed out.
  void RunLeaves(const T* parameters, const Batch& batch, const OnLeaf& on_leaf,
                 const std::function<bool()>& cancelled = {});
  double* own_stats() { return leaf_stats_[0].data(); }
  void Gradients(const OnBucket& on_bucket, const std::function<bool()>& cancelled = {});

  // Returns the sums of all parts over the own leaves' rows of a set, one vector per node. Empty:
  // cancelled. `on_progress` receives the completed share, on the caller's thread.
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
  // The state of an evaluation that its threads share.
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
  // Joins the own leaves' totals into nodes.
  std::vector<std::vector<double>> Join(std::vector<std::vector<double>> sums) const;
  void EvaluatePart(Evaluation& evaluation, const training::EvaluationPart<T>& part,
                    int32_t own_index, std::vector<double>& totals);
  std::unique_ptr<model::LeafPass<T>> TakeEvaluationPass(const model::NetworkShape& shape);
  plan::Range RowsOfLeaf(spec::FileRole set, int32_t own_index) const;
  // With folds: creates those of the own leaves. REQUIRES: their rows are loaded.
  void MakeFolds();
  int64_t SetRows(spec::FileRole set) const;

  const training::TrainingPlan& plan_;
  const LeafWorkOptions options_;
  const RowSource<T>& rows_;
  ComputePool& pool_;
  std::vector<plan::Chunk> chunks_;
  plan::BucketTable table_;
  collective::RoundShape round_shape_;
  std::vector<OpenBucket> open_;  // one per bucket
  int64_t stats_at_ = 0;          // offset in bytes, in a node of the last bucket
  plan::JoinPlan own_join_;       // plan that joins single own leaves to nodes
  std::vector<std::unique_ptr<model::LeafPass<T>>> passes_;  // one per own leaf
  std::vector<FoldRows> folds_;                              // one per own leaf, with folds
  std::vector<int64_t> pass_rows_;  // rows of each leaf in the present batch
  std::vector<std::vector<double>> leaf_stats_;
  Mutex evaluation_mutex_;
  std::vector<std::unique_ptr<model::LeafPass<T>>> evaluation_passes_ GUARDED_BY(evaluation_mutex_);
};

}  // namespace espalier::worker
