#include "src/worker/fold_rows.h"

#include <algorithm>

#include "src/plan/rows.h"

namespace espalier::worker {
namespace {

constexpr uint64_t kFoldStream = ~uint64_t{0};  // not used by any epoch

}  // namespace

FoldRows::FoldRows(std::span<const int32_t> labels, int64_t folds, uint64_t seed, int64_t leaf) {
  const auto count = static_cast<int64_t>(labels.size());
  std::vector<int32_t> order(labels.size());
  if (count > 0) {
    const plan::KeyedPermutation shuffled(count, seed, kFoldStream, static_cast<uint64_t>(leaf));
    for (int64_t i = 0; i < count; ++i) order[i] = static_cast<int32_t>(shuffled.At(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return labels[a] < labels[b]; });
  rows_.reserve(order.size());
  begins_.push_back(0);
  for (int64_t fold = 0; fold < folds; ++fold) {
    for (int64_t i = (fold - leaf % folds + folds) % folds; i < count; i += folds) {
      rows_.push_back(order[i]);
    }
    std::sort(rows_.begin() + static_cast<int64_t>(begins_.back()), rows_.end());
    begins_.push_back(rows_.size());
  }
}

std::span<const int32_t> FoldRows::Outside(int64_t fold) {
  if (outside_of_ == fold) return outside_;
  const std::span<const int32_t> inside = Inside(fold);
  outside_.clear();
  size_t next = 0;
  for (int32_t row = 0; row < static_cast<int32_t>(rows_.size()); ++row) {
    if (next < inside.size() && inside[next] == row) {
      ++next;
    } else {
      outside_.push_back(row);
    }
  }
  outside_of_ = fold;
  return outside_;
}

std::span<const int32_t> FoldRows::Inside(int64_t fold) const {
  return std::span(rows_).subspan(begins_[fold], begins_[fold + 1] - begins_[fold]);
}

}  // namespace espalier::worker
