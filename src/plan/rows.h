// The rows of a leaf and the order in which it uses them: pure functions of (rows, leaves, batch,
// seed).
//
// The N rows of a set are cut into L contiguous ranges. Leaf l has rows [l*N/L, (l+1)*N/L). An
// epoch has S = ceil(N/batch) steps. In step s, leaf l takes positions [s*n/S, (s+1)*n/S) of its
// own permutation of its n rows. So each row occurs exactly once per epoch, for any N, L and batch,
// and a leaf batch may be empty.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace espalier::plan {

// Half-open interval.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// Returns floor(a * b / c) without overflow for a, b, c < 2^62. REQUIRES: c > 0, b <= c or the
// result fits.
int64_t MulDiv(int64_t a, int64_t b, int64_t c);

// Returns the rows of leaf `leaf` of `leaves` among `rows`.
Range LeafRows(int64_t rows, int64_t leaves, int64_t leaf);

// Returns the steps of an epoch: ceil(rows / batch). REQUIRES: batch > 0.
int64_t StepsPerEpoch(int64_t rows, int64_t batch);

// Returns the positions (within the leaf's permutation) that a leaf of `leaf_rows` rows takes in
// step `step` of an epoch of `steps` steps.
Range StepPositions(int64_t leaf_rows, int64_t steps, int64_t step);

// Order of a leaf's rows in an epoch.
enum class RowOrder { kFull, kWindow, kNone };

// A keyed bijection of [0, size): a six-round Feistel network over the next even power of two, with
// round keys from Philox. It is applied until the result is inside [0, size) (Black and Rogaway,
// "Ciphers with arbitrary finite domains", 2002).
class KeyedPermutation {
 public:
  // (seed, stream_a, stream_b) identify the permutation.
  KeyedPermutation(int64_t size, uint64_t seed, uint64_t stream_a, uint64_t stream_b);
  // REQUIRES: 0 <= position < size.
  int64_t At(int64_t position) const;

 private:
  static constexpr int kRounds = 6;
  int64_t size_;
  int half_bits_;
  uint64_t keys_[kRounds];
};

// A permutation of [0, size), a pure function of its arguments. It maps a position to a row of the
// leaf.
class RowPermutation {
 public:
  // kFull: one keyed bijection. kWindow: blocks of `window_rows` / 8 rows (at least 1) are in keyed
  // order, and each window of 8 consecutive blocks is shuffled within itself.
  RowPermutation(RowOrder order, int64_t window_rows, int64_t size, uint64_t seed, int64_t epoch,
                 int64_t leaf);
  // REQUIRES: 0 <= position < size.
  int64_t At(int64_t position) const;

 private:
  RowOrder order_;
  int64_t size_, block_rows_;
  uint64_t seed_, epoch_, leaf_;
  KeyedPermutation rows_;    // kFull
  KeyedPermutation blocks_;  // kWindow: over whole blocks
};

}  // namespace espalier::plan
