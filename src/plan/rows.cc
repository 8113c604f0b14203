#include "src/plan/rows.h"

#include <algorithm>
#include <string>

#include "src/base/check.h"
#include "src/base/random.h"

namespace espalier {

int64_t MulDiv(int64_t a, int64_t b, int64_t c) {
  ESPALIER_CHECK(c > 0, "division by " + std::to_string(c));
  return static_cast<int64_t>(static_cast<__int128>(a) * b / c);
}

Range LeafRows(int64_t rows, int64_t leaves, int64_t leaf) {
  return {MulDiv(leaf, rows, leaves), MulDiv(leaf + 1, rows, leaves)};
}

int64_t StepsPerEpoch(int64_t rows, int64_t batch) { return rows / batch + (rows % batch != 0); }

Range StepPositions(int64_t leaf_rows, int64_t steps, int64_t step) {
  return {MulDiv(step, leaf_rows, steps), MulDiv(step + 1, leaf_rows, steps)};
}

namespace {

// Bits of the smallest even power of two that holds `size` values, at least 2.
int EvenBits(int64_t size) {
  int bits = 2;
  while (bits < 62 && (int64_t{1} << bits) < size) bits += 2;
  return bits;
}

}  // namespace

int64_t KeyedPermutation(int64_t position, int64_t size, uint64_t seed, uint64_t stream_a,
                         uint64_t stream_b) {
  ESPALIER_CHECK(0 <= position && position < size,
                 std::to_string(position) + " of " + std::to_string(size));
  const PhiloxKey base = MakeKey(seed, RandomUse::kShuffle);
  const uint64_t stream = RandomBits(base, stream_a, stream_b);
  const PhiloxKey key{base.k0 ^ static_cast<uint32_t>(stream),
                      base.k1 ^ static_cast<uint32_t>(stream >> 32)};
  const int half = EvenBits(size) / 2;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  uint64_t x = static_cast<uint64_t>(position);
  do {
    uint64_t left = x >> half, right = x & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t next = left ^ (RandomBits(key, right, round) & mask);
      left = right;
      right = next;
    }
    x = left << half | right;
  } while (x >= static_cast<uint64_t>(size));
  return static_cast<int64_t>(x);
}

RowPermutation::RowPermutation(RowOrder order, int64_t window_rows, int64_t size, uint64_t seed,
                               int64_t epoch, int64_t leaf)
    : order_(order),
      size_(size),
      block_rows_(std::max<int64_t>(1, window_rows / 8)),
      epoch_(epoch),
      leaf_(leaf),
      seed_(seed) {
  ESPALIER_CHECK(size >= 0 && epoch >= 0 && leaf >= 0, "a permutation needs a size and a place");
}

int64_t RowPermutation::At(int64_t position) const {
  const auto a = static_cast<uint64_t>(epoch_), b = static_cast<uint64_t>(leaf_);
  switch (order_) {
    case RowOrder::kNone: return position;
    case RowOrder::kFull: return KeyedPermutation(position, size_, seed_, a, b);
    case RowOrder::kWindow: break;
  }
  // Whole blocks are permuted; what is left of the last, shorter block stays behind them. Then each
  // window of 8 blocks is shuffled within itself.
  constexpr int64_t kWindowBlocks = 8;
  const int64_t blocks = size_ / block_rows_, window = block_rows_ * kWindowBlocks;
  const int64_t first = position / window * window;
  const int64_t rows = std::min(window, size_ - first);
  const uint64_t window_stream = b << 32 | static_cast<uint64_t>(1 + first / window);
  const int64_t shuffled = first + KeyedPermutation(position - first, rows, seed_, a, window_stream);
  const int64_t block = shuffled / block_rows_;
  if (block >= blocks) return shuffled;
  const int64_t source = KeyedPermutation(block, blocks, seed_, a, b << 32);
  return source * block_rows_ + shuffled % block_rows_;
}

}  // namespace espalier
