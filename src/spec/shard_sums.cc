#include "src/spec/shard_sums.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace espalier::spec {

Status MergeSample(const RowSample& more, RowSample* into) {
  if (more.keys.empty()) return Status::Ok();
  const size_t width = more.values.size() / more.keys.size();
  if (!into->keys.empty() && into->values.size() != into->keys.size() * width) {
    return FailedPrecondition("its sample has " + std::to_string(width) + " values a row, others " +
                              std::to_string(into->values.size() / into->keys.size()));
  }
  if (!into->keys.empty() && into->bins != more.bins) {
    return FailedPrecondition("its sample is not of as many rows as those of others");
  }
  const auto most = static_cast<size_t>(SampledRowsMax(static_cast<int64_t>(width), more.bins));
  // Most shards have nothing to add, which should not cost a copy of it all.
  if (into->keys.size() == most && more.keys.front() > into->keys.back()) return Status::Ok();
  struct Row {
    uint64_t key = 0;
    const double* values = nullptr;
  };
  std::vector<Row> rows;
  for (const RowSample* sample : {static_cast<const RowSample*>(into), &more}) {
    for (size_t i = 0; i < sample->keys.size(); ++i) {
      rows.push_back({sample->keys[i], sample->values.data() + i * width});
    }
  }
  // Of equal keys their values decide, not who came first.
  std::sort(rows.begin(), rows.end(), [width](const Row& a, const Row& b) {
    return a.key != b.key ? a.key < b.key
                          : std::memcmp(a.values, b.values, width * sizeof(double)) < 0;
  });
  rows.resize(std::min(rows.size(), most));
  RowSample merged;
  merged.bins = more.bins;
  for (const Row& row : rows) {
    merged.keys.push_back(row.key);
    merged.values.insert(merged.values.end(), row.values, row.values + width);
  }
  *into = std::move(merged);
  return Status::Ok();
}

int64_t MemoryBytes(const RowSample& sample) {
  return static_cast<int64_t>(8 * (sample.keys.size() + sample.values.size()));
}

int64_t AddCategories(const CategoryCounts& more, CategoryCounts* into) {
  if (into->empty()) into->resize(more.size());
  size_t bytes = 0;
  for (size_t column = 0; column < more.size(); ++column) {
    for (const auto& [text, count] : more[column]) {
      const auto [found, is_new] = (*into)[column].try_emplace(text, 0);
      found->second += count;
      if (is_new) bytes += kCountBytes + text.size();
    }
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace espalier::spec
