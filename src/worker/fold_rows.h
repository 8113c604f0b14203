// Which training rows of a leaf each fit holds out: the folds of train.ensemble.
//
// The rows of a leaf are ordered by class, within a class by a keyed permutation; row i of that
// order is in fold (i + leaf) % folds. So the folds of a leaf differ by one row at most, and each
// has its share of each class. The folds are a function of the job and the leaf alone.
//
// Rows are counted from the leaf's first one. Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::worker {

class FoldRows {
 public:
  // `labels`: the class of each row, or all the same. REQUIRES: fewer than 2^31 rows, folds > 0.
  FoldRows(std::span<const int32_t> labels, int64_t folds, uint64_t seed, int64_t leaf);

  // The rows outside a fold, ascending; valid until the next call.
  std::span<const int32_t> Outside(int64_t fold);
  // The rows of a fold, ascending.
  std::span<const int32_t> Inside(int64_t fold) const;

 private:
  std::vector<int32_t> rows_;   // by fold, ascending in each
  std::vector<size_t> begins_;  // of the folds in rows_, and the end
  std::vector<int32_t> outside_;
  int64_t outside_of_ = -1;  // the fold
};

}  // namespace espalier::worker
