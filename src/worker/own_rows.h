// The rows of a worker's leaves, over the generations of a job. When the leaves change, held rows
// stay and only missing ones are loaded.
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

// Thread rule: Cover and Adopt from one thread while no thread gathers. Stage from any one thread
// while neither of these runs. Find is safe from several threads.
class OwnRows {
 public:
  // Rows to load into a store.
  struct Request {
    data::RowRanges ranges;
    Generation generation;                      // the generation that waits for them
    int64_t memory_bytes = 0, spill_bytes = 0;  // held already
    std::function<bool()> cancelled;
  };
  using Load = std::function<Result<std::unique_ptr<data::RowStore>>(const Request&)>;
  explicit OwnRows(Load load) : load_(std::move(load)) {}

  // Makes the rows of `wanted` available, for `generation`. First drops rows that are no longer of
  // use. After an error, wanted rows that were held are still there. REQUIRES: ranges are unions of
  // whole leaves' ranges, so that no leaf's rows are in two stores.
  Status Cover(const data::RowRanges& wanted, Generation generation);

  // Loads the rows that Cover would have to load, next to the rows in use. Adopt takes them over.
  // Drops the rows that an earlier Stage loaded.
  Status Stage(const data::RowRanges& wanted, Generation generation,
               const std::function<bool()>& cancelled);
  // Makes exactly the rows available that Stage was called for.
  void Adopt(const data::RowRanges& wanted);

  // Returns the store with row `row` of the set. REQUIRES: the row is available.
  const data::RowStore& Find(spec::FileRole set, int64_t row) const;

 private:
  // Returns the parts of `wanted` that no store has, in as few loads as possible.
  std::vector<data::RowRanges> Missing(const data::RowRanges& wanted) const;
  Status LoadAll(const std::vector<data::RowRanges>& parts, Generation generation,
                 const std::function<bool()>& cancelled,
                 std::vector<std::unique_ptr<data::RowStore>>& into);
  void Drop(const data::RowRanges& wanted);

  const Load load_;
  std::vector<std::unique_ptr<data::RowStore>> stores_, staged_;
};

// The trainer's view of the rows. `rows` must outlive this object.
template <typename T>
class StoredRows : public RowSource<T> {
 public:
  explicit StoredRows(const OwnRows& rows) : rows_(rows) {}
  void Gather(spec::FileRole set, std::span<const int64_t> rows, T* inputs, int32_t* codes,
              int32_t* labels, T* targets, T* weights, spec::SparseRows<T>* sparse) const override {
    sparse->Clear();  // even without rows: another leaf's may be there
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
