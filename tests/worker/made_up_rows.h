// Rows for trainers under test.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/base/random.h"
#include "src/worker/leaf_work.h"

namespace espalier::worker {

// Generated rows. Each row depends only on its index, and the classes overlap.
template <typename T>
class MadeUpRows : public RowSource<T> {
 public:
  // `targets`: 1 for the class, or the number of labels. `heavy`: rows 10 to 19 have weights so
  // large that the sum of their gradients is infinite.
  MadeUpRows(int64_t inputs, int32_t classes, bool heavy = false,
             std::vector<spec::CodedInput> coded = {}, bool sparse = false, int32_t targets = 1)
      : inputs_(inputs),
        classes_(classes),
        targets_(targets),
        heavy_(heavy),
        coded_(std::move(coded)) {
    if (sparse) base_ = std::vector<T>(static_cast<size_t>(inputs_), T{-0.25});
  }
  void Labels(spec::FileRole set, plan::Range rows, int32_t* labels) const override {
    for (int64_t row = rows.begin; row < rows.end; ++row)
      labels[row - rows.begin] = Label(set, row);
  }
  void Gather(spec::FileRole set, std::span<const int64_t> rows, T* inputs, int32_t* codes,
              int32_t* labels, T* targets, T* weights, spec::SparseRows<T>* sparse) const override {
    if (!base_.empty()) {
      sparse->Clear();
      sparse->base = base_;
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint64_t row = static_cast<uint64_t>(rows[i]) + static_cast<uint64_t>(set) * 1'000'000;
      const int32_t label = Label(set, rows[i]);
      for (int64_t f = 0; f < inputs_; ++f) {
        if (!base_.empty()) {  // every third value, and none in some rows
          if (Mix64(row * 89 + f) % 3 != 0 || row % 7 == 0) continue;
          sparse->columns.push_back(static_cast<int32_t>(f));
          sparse->values.push_back(static_cast<T>(UnitDouble(Mix64(row * 97 + f)) +
                                                  (f % classes_ == label ? 0.6 : 0.0)));
          continue;
        }
        inputs[i * inputs_ + f] =
            static_cast<T>(UnitDouble(Mix64(row * 97 + f)) + (f % classes_ == label ? 0.6 : 0.0));
      }
      for (size_t k = 0; k < coded_.size(); ++k) {  // includes -1
        const auto code = Mix64(row * 131 + k) % static_cast<uint64_t>(coded_[k].codes + 1);
        codes[i * coded_.size() + k] = static_cast<int32_t>(code) - 1;
      }
      if (!base_.empty()) sparse->ends.push_back(static_cast<int64_t>(sparse->columns.size()));
      if (labels != nullptr) labels[i] = label;
      for (int32_t k = 0; targets != nullptr && k < targets_; ++k) {
        targets[i * targets_ + k] = static_cast<T>(targets_ == 1 ? label : label >= k);
      }
      weights[i] = static_cast<T>(row % 5 == 0 ? 0.5 : 1.0);
      if (!heavy_ || row < 10 || row >= 20) continue;
      weights[i] = static_cast<T>(3e38);
      targets[i] = 1000;
    }
  }

 private:
  int32_t Label(spec::FileRole set, int64_t row) const {
    const uint64_t key = static_cast<uint64_t>(row) + static_cast<uint64_t>(set) * 1'000'000;
    return static_cast<int32_t>(Mix64(key) % static_cast<uint64_t>(classes_));
  }
  int64_t inputs_;
  int32_t classes_, targets_;
  bool heavy_;
  std::vector<spec::CodedInput> coded_;
  std::vector<T> base_;  // base of sparse rows; empty for dense rows
};

}  // namespace espalier::worker
