// The training rows of a leaf that each fit holds out: the folds of train.ensemble.
//
// The rows of a leaf are ordered by class, and within a class by a keyed permutation. Row i of that
// order is in fold (i + leaf) % folds. So the sizes of a leaf's folds differ by at most one row,
// and each fold has its share of each class. The folds depend only on the job and the leaf.
//
// Rows are counted from the leaf's first one. Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::worker {

class FoldRows {
 public:
  // `labels`: the class of each row, or the same value for all. REQUIRES: folds > 0, fewer than
  // 2^31 rows.
  FoldRows(std::span<const int32_t> labels, int64_t folds, uint64_t seed, int64_t leaf);

  // Returns the rows outside a fold, ascending. Valid until the next call.
  std::span<const int32_t> Outside(int64_t fold);
  // Returns the rows of a fold, ascending.
  std::span<const int32_t> Inside(int64_t fold) const;

 private:
  std::vector<int32_t> rows_;   // sorted by fold, ascending in each
  std::vector<size_t> begins_;  // start of each fold in rows_, and the end
  std::vector<int32_t> outside_;
  int64_t outside_of_ = -1;  // the fold of outside_
};

}  // namespace espalier::worker
