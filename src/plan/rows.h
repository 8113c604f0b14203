// Which rows a leaf has and when it sees them: pure functions of (rows, leaves, batch, seed).
//
// The N rows of a set are cut into L contiguous ranges; leaf l has rows [l*N/L, (l+1)*N/L). An
// epoch has S = ceil(N/batch) steps; in step s leaf l takes positions [s*n/S, (s+1)*n/S) of its own
// permutation of its n rows. So each row comes exactly once an epoch, for any N, L and batch, and a
// leaf batch may be empty.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace espalier::plan {

// Half-open.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// floor(a * b / c) without overflow for a, b, c < 2^62. REQUIRES: c > 0, b <= c or the result fits.
int64_t MulDiv(int64_t a, int64_t b, int64_t c);

// The rows of leaf `leaf` of `leaves` among `rows`.
Range LeafRows(int64_t rows, int64_t leaves, int64_t leaf);

// Steps of an epoch: ceil(rows / batch). REQUIRES: batch > 0.
int64_t StepsPerEpoch(int64_t rows, int64_t batch);

// The positions (within the leaf's permutation) that a leaf of `leaf_rows` rows takes in step
// `step` of an epoch of `steps` steps.
Range StepPositions(int64_t leaf_rows, int64_t steps, int64_t step);

// How the rows of a leaf are ordered in an epoch.
enum class RowOrder { kFull, kWindow, kNone };

// A keyed bijection of [0, size): a six-round Feistel network over the next even power of two, with
// round keys from Philox, walked until it falls inside (Black and Rogaway, "Ciphers with arbitrary
// finite domains", 2002).
class KeyedPermutation {
 public:
  // (seed, stream_a, stream_b) name the permutation.
  KeyedPermutation(int64_t size, uint64_t seed, uint64_t stream_a, uint64_t stream_b);
  // REQUIRES: 0 <= position < size.
  int64_t At(int64_t position) const;

 private:
  static constexpr int kRounds = 6;
  int64_t size_;
  int half_bits_;
  uint64_t keys_[kRounds];
};

// A permutation of [0, size), a pure function of its arguments; position -> row of the leaf.
class RowPermutation {
 public:
  // kFull: one keyed bijection. kWindow: blocks of `window_rows` / 8 rows (at least 1) come in
  // keyed order, and each window of 8 consecutive such blocks is shuffled within itself.
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
