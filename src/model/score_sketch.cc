#include "src/model/score_sketch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "src/base/random.h"

namespace espalier::model {
namespace {

// Index of a sum in a cell.
enum Sum : int64_t { kRows, kHigh, kLow, kChecksum, kWeightOfZero, kWeightOfOne };
using Cell = std::span<double, kSketchSums>;

// A score as the numbers that its cells add up.
struct Key {
  double high = 0, low = 0, checksum = 0;
  std::array<int64_t, kSketchTables> cells{};

  explicit Key(uint32_t bits) : high(bits >> 16), low(bits & 0xffff) {
    uint64_t hash = Mix64(bits);
    for (int64_t t = 0; t < kSketchTables; ++t, hash /= kSketchCells) {
      cells[t] = t * kSketchCells + static_cast<int64_t>(hash % kSketchCells);
    }
    checksum = static_cast<double>(hash & 0xffff);
  }

  void AddTo(Cell cell, double rows, double zero, double one) const {
    cell[kRows] += rows;
    cell[kHigh] += rows * high;
    cell[kLow] += rows * low;
    cell[kChecksum] += rows * checksum;
    cell[kWeightOfZero] += zero;
    cell[kWeightOfOne] += one;
  }
};

// Removes scores from a copy of a sketch, one after the other.
class Peeler {
 public:
  explicit Peeler(const double* sketch) : sums_(sketch, sketch + kSketchSize) {}

  std::optional<std::vector<ScoreWeights>> Run() {
    for (int64_t c = 0; c < kSketchTables * kSketchCells; ++c) Peel(c);
    while (!open_.empty()) {
      const int64_t cell = open_.back();
      open_.pop_back();
      Peel(cell);
    }
    for (int64_t i = 0; i < kSketchSize; ++i) {
      if (i % kSketchSums < kWeightOfZero && sums_[i] != 0) return std::nullopt;
    }
    std::sort(scores_.begin(), scores_.end(),
              [](const ScoreWeights& a, const ScoreWeights& b) { return a.score < b.score; });
    return std::move(scores_);
  }

 private:
  Cell CellAt(int64_t c) { return Cell(sums_.data() + c * kSketchSums, kSketchSums); }

  // Returns the mean of a sum over the rows of a cell, or nothing if it is not a half of a score.
  static std::optional<uint32_t> Mean(Cell cell, Sum sum) {
    const double mean = cell[sum] / cell[kRows];
    if (!(mean >= 0 && mean <= 0xffff) || mean != std::floor(mean)) return std::nullopt;
    return static_cast<uint32_t>(mean);
  }

  // Removes the score of a cell, if it has a single one.
  void Peel(int64_t c) {
    const Cell cell = CellAt(c);
    const double rows = cell[kRows], zero = cell[kWeightOfZero], one = cell[kWeightOfOne];
    const bool full = scores_.size() == static_cast<size_t>(kSketchTables * kSketchCells);
    if (!(rows > 0) || full) return;
    const auto high = Mean(cell, kHigh), low = Mean(cell, kLow);
    if (!high || !low) return;
    const uint32_t bits = *high << 16 | *low;
    const Key key(bits);
    const bool here = std::find(key.cells.begin(), key.cells.end(), c) != key.cells.end();
    if (!here || cell[kChecksum] != rows * key.checksum) return;
    for (const int64_t other : key.cells) {
      key.AddTo(CellAt(other), -rows, -zero, -one);
      if (other != c) open_.push_back(other);
    }
    scores_.push_back({std::bit_cast<float>(bits), std::max(zero, 0.0), std::max(one, 0.0)});
  }

  std::vector<double> sums_;
  std::vector<int64_t> open_;  // cells that changed
  std::vector<ScoreWeights> scores_;
};

}  // namespace

void AddToSketch(double score, int32_t label, double weight, double* sketch) {
  if (!(weight > 0)) return;
  const double least = -std::numeric_limits<double>::infinity();
  const auto rounded = static_cast<float>(std::isnan(score) ? least : score) + 0.0f;  // no -0
  const Key key(std::bit_cast<uint32_t>(rounded));
  for (const int64_t c : key.cells) {
    key.AddTo(Cell(sketch + c * kSketchSums, kSketchSums), 1, label == 0 ? weight : 0,
              label == 0 ? 0 : weight);
  }
}

std::optional<std::vector<ScoreWeights>> ScoresInSketch(const double* sketch) {
  return Peeler(sketch).Run();
}

}  // namespace espalier::model
