// The rows of a worker's leaves, over the generations of a job: what is held is kept when the
// leaves change, and only what lacks is loaded.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/data/profile/row_store.h"
#include "src/worker/trainer.h"

namespace espalier::worker {

// Thread rule: Cover and Adopt from one thread while nobody gathers; Stage from any one thread
// while neither runs; Find safe from several threads.
class OwnRows {
 public:
  // Rows to load into a store.
  struct Request {
    data::RowRanges ranges;
    Generation generation;                      // the one that waits for them
    int64_t memory_bytes = 0, spill_bytes = 0;  // held already
    std::function<bool()> cancelled;
  };
  using Load = std::function<Result<std::unique_ptr<data::RowStore>>(const Request&)>;
  explicit OwnRows(Load load) : load_(std::move(load)) {}

  // Afterwards the rows of `wanted` are held, for `generation`. What is of no use any more is
  // dropped first. After an error what was held and is wanted is still there. REQUIRES: ranges are
  // unions of whole leaves' ranges, so that no leaf's rows lie in two stores.
  Status Cover(const data::RowRanges& wanted, Generation generation);

  // Loads what Cover would have to load, beside what is in use; Adopt takes it over. What an
  // earlier Stage loaded is dropped.
  Status Stage(const data::RowRanges& wanted, Generation generation,
               const std::function<bool()>& cancelled);
  // Afterwards exactly what Stage was asked for is held.
  void Adopt(const data::RowRanges& wanted);

  // The store that holds row `row` of the set. REQUIRES: it is covered.
  const data::RowStore& Find(spec::FileRole set, int64_t row) const;

 private:
  // Parts of `wanted` that no store has, as few loads as they need.
  std::vector<data::RowRanges> Missing(const data::RowRanges& wanted) const;
  Status LoadAll(const std::vector<data::RowRanges>& parts, Generation generation,
                 const std::function<bool()>& cancelled,
                 std::vector<std::unique_ptr<data::RowStore>>& into);
  void Drop(const data::RowRanges& wanted);

  const Load load_;
  std::vector<std::unique_ptr<data::RowStore>> stores_, staged_;
};

// The trainer's view of them. `rows` must outlive this.
template <typename T>
class StoredRows : public RowSource<T> {
 public:
  explicit StoredRows(const OwnRows& rows) : rows_(rows) {}
  void Gather(spec::FileRole set, std::span<const int64_t> rows, T* inputs, int32_t* codes,
              int32_t* labels, T* targets, T* weights, spec::SparseRows<T>* sparse) const override {
    sparse->Clear();  // also where no row is: another leaf's may have been there
    if (rows.empty()) return;
    rows_.Find(set, rows[0]).Gather<T>(set, rows, inputs, codes, labels, targets, weights, sparse);
  }
  void Labels(spec::FileRole set, plan::Range rows, int32_t* labels) const override {
    rows_.Find(set, rows.begin).Labels(set, rows, labels);
  }

 private:
  const OwnRows& rows_;
};

}  // namespace espalier::worker
