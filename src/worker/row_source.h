// The trainer's rows, taken from a row store. Thread rule: as the store, safe from several threads.
#pragma once

#include "src/data/row_store.h"
#include "src/worker/trainer.h"

namespace espalier {

template <typename T>
class StoredRows : public RowSource<T> {
 public:
  // `store` must outlive this.
  explicit StoredRows(const RowStore& store) : store_(store) {}
  void Gather(FileRole set, std::span<const int64_t> rows, T* inputs, int32_t* labels, T* targets,
              T* weights) const override {
    store_.Gather<T>(set, rows, inputs, labels, targets, weights);
  }

 private:
  const RowStore& store_;
};

}  // namespace espalier
