#include "src/plan/rows.h"

#include <algorithm>
#include <string>

#include "src/base/check.h"
#include "src/base/random.h"

namespace espalier::plan {

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

// Returns the bits of the smallest even power of two that holds `size` values, at least 2.
int EvenBits(int64_t size) {
  int bits = 2;
  while (bits < 62 && (int64_t{1} << bits) < size) bits += 2;
  return bits;
}

}  // namespace

KeyedPermutation::KeyedPermutation(int64_t size, uint64_t seed, uint64_t stream_a,
                                   uint64_t stream_b)
    : size_(size), half_bits_(EvenBits(size) / 2) {
  const PhiloxKey base = MakeKey(seed, RandomUse::kShuffle);
  const uint64_t stream = RandomBits(base, stream_a, stream_b);
  const PhiloxKey key{base.k0 ^ static_cast<uint32_t>(stream),
                      base.k1 ^ static_cast<uint32_t>(stream >> 32)};
  for (int round = 0; round < kRounds; ++round) {
    keys_[round] = RandomBits(key, stream, static_cast<uint64_t>(round));
  }
}

int64_t KeyedPermutation::At(int64_t position) const {
  ESPALIER_CHECK(0 <= position && position < size_,
                 std::to_string(position) + " of " + std::to_string(size_));
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t x = static_cast<uint64_t>(position);
  do {
    uint64_t left = x >> half_bits_, right = x & mask;
    for (const uint64_t key : keys_) {
      const uint64_t next = left ^ (Mix64(right ^ key) & mask);
      left = right;
      right = next;
    }
    x = left << half_bits_ | right;
  } while (x >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(x);
}

RowPermutation::RowPermutation(RowOrder order, int64_t window_rows, int64_t size, uint64_t seed,
                               int64_t epoch, int64_t leaf)
    : order_(order),
      size_(size),
      block_rows_(std::max<int64_t>(1, window_rows / 8)),
      seed_(seed),
      epoch_(static_cast<uint64_t>(epoch)),
      leaf_(static_cast<uint64_t>(leaf)),
      rows_(size, seed, epoch_, leaf_),
      blocks_(size / block_rows_, seed, epoch_, leaf_ << 32) {}

int64_t RowPermutation::At(int64_t position) const {
  switch (order_) {
    case RowOrder::kNone:
      return position;
    case RowOrder::kFull:
      return rows_.At(position);
    case RowOrder::kWindow:
      break;
  }
  // Shuffles each window of 8 blocks within itself, then permutes whole blocks. The rest of the
  // last, shorter block stays behind them.
  constexpr int64_t kWindowBlocks = 8;
  const int64_t window = block_rows_ * kWindowBlocks, first = position / window * window;
  const uint64_t stream = leaf_ << 32 | static_cast<uint64_t>(1 + first / window);
  const KeyedPermutation within(std::min(window, size_ - first), seed_, epoch_, stream);
  const int64_t shuffled = first + within.At(position - first);
  const int64_t block = shuffled / block_rows_;
  if (block >= size_ / block_rows_) return shuffled;
  return blocks_.At(block) * block_rows_ + shuffled % block_rows_;
}

}  // namespace espalier::plan
