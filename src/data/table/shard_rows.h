// The rows of one shard, as every reader gives them, and the rules that all readers keep.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/decoded_rows.h"
#include "src/data/table/label_texts.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier {

// Distinct labels beyond which a classification job is refused: it is an identifier or a number.
inline constexpr size_t kClassesMax = 10'000;
// Skipped rows that are described, a shard and a job.
inline constexpr size_t kSkippedKept = 10;

// A shard's rows, by set (FileRole as index), in the order of the file. Thread rule: values.
struct ShardRows {
  ShardRows() = default;
  explicit ShardRows(RowRoom* room)
      : sets{DecodedRows(room), DecodedRows(room), DecodedRows(room)} {}

  uint32_t checksum = 0;
  int64_t dropped = 0, skipped = 0;
  std::vector<Status> skipped_first;
  ShardTexts texts;
  DecodedSets sets;
  RowSample sample;      // row_sample.h; not of rows that are read in pieces
  bool spooled() const;  // some of it
  int64_t MemoryBytes() const;
};

// Gets the rows that were read since the last call, and the texts that they index, which are those
// of the last call and more. What it does not copy is gone.
using TakeRows = std::function<Status(const DecodedSets& rows, const ShardTexts& texts)>;

// More rows of a shard are bad than data.bad_rows tolerates; `last` describes the last one.
Status TooManySkipped(const BadRows& policy, const Status& last);

// Applies data.bad_rows to a bad row: counts it in `rows`, or returns the error that ends the
// reading. `describe` makes the row's error; it is called only when somebody will read it.
template <typename F>
Status TakeBadRow(const BadRows& policy, ShardRows* rows, F&& describe) {
  if (!policy.skip) return describe();
  ++rows->skipped;
  if (rows->skipped > policy.limit) return TooManySkipped(policy, describe());
  if (rows->skipped_first.size() < kSkippedKept) rows->skipped_first.push_back(describe());
  return {};
}

// kBadInput for a shard with more than kClassesMax labels.
Status CheckLabels(size_t labels, const std::string& file, const std::string& column);

}  // namespace espalier
