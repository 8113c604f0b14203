// The rows of one shard, as every reader returns them, and the rules that all readers follow.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/decoded_rows.h"
#include "src/data/table/label_texts.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Maximum number of distinct labels in a classification job. A column with more is probably an
// identifier or a number.
inline constexpr size_t kClassesMax = 10'000;
// Number of skipped rows that are described, per shard and per job.
inline constexpr size_t kSkippedKept = 10;

// Values of a probed row in ShardProfile::probe in addition to its features: label, file, position.
inline constexpr int64_t kProbeBeside = 3;
// A training row that warnings examine: its number in the shard and its identity in the file.
struct ProbedRow {
  uint64_t key = 0;  // hash of file and position
  int64_t row = 0;
  uint64_t position = 0;
  auto operator<=>(const ProbedRow&) const = default;
};

// Rows of a shard by set (FileRole as index), in file order. Thread rule: values.
struct ShardRows {
  ShardRows() = default;
  explicit ShardRows(MemoryBudget* room)
      : sets{DecodedRows(room), DecodedRows(room), DecodedRows(room)} {}

  uint32_t checksum = 0;
  int64_t dropped = 0, skipped = 0;
  std::vector<Status> skipped_first;
  ShardTexts texts;
  DecodedSets sets;
  spec::RowSample sample;         // row_sample.h; empty for rows read in pieces
  std::vector<ProbedRow> probed;  // the same
  spec::RowSample places;         // the same; features/validation_column.h
  bool spilled() const;           // at least one set is spilled
  int64_t MemoryBytes() const;
};

// Returns the error for a bad row that ends the job. `bad` describes the row.
Status EndedBy(const Status& bad);
// Returns the error for more bad rows in a shard than data.bad_rows allows. `last`: the last bad
// row.
Status TooManySkipped(const spec::BadRows& policy, const Status& last);

// Rules for reading a shard in training and in scoring.
enum class RowRules : uint8_t {
  // A bad row is an error. With data.bad_rows skip it is only counted, as dropped rows are. A shard
  // numbers its categories once, and their number is limited.
  kTraining,
  // Bad and dropped rows are rejects. Each piece numbers its categories, without a limit.
  kScoring,
};

// Applies the rules to the rows of a shard that could not be decoded, in file order. `describe`
// makes the error of the row. It is called only if the error is shown. Rejects contain advice for
// the row, not for a training job.
class UnusableRows {
 public:
  // `rows` receives the counts. `policy` and `rows` must outlive this.
  UnusableRows(RowRules rules, const spec::BadRows& policy, ShardRows* rows)
      : scoring_(rules == RowRules::kScoring), policy_(policy), rows_(*rows) {}

  // Handles a bad row. An error ends the read.
  template <typename F>
  Status TakeBad(F&& describe) {
    if (scoring_) {
      Reject(describe());
      return {};
    }
    if (!policy_.skip) return EndedBy(describe());
    ++rows_.skipped;
    if (rows_.skipped > policy_.limit) return TooManySkipped(policy_, describe());
    if (rows_.skipped_first.size() < kSkippedKept) rows_.skipped_first.push_back(describe());
    return {};
  }
  template <typename F>
  void TakeDropped(F&& describe) {
    ++rows_.dropped;
    if (scoring_) Reject(describe());
  }

  const std::vector<Status>& rejects() const { return rejects_; }
  void ForgetRejects() { rejects_.clear(); }

 private:
  void Reject(const Status& reject);

  const bool scoring_;
  const spec::BadRows& policy_;
  ShardRows& rows_;
  std::vector<Status> rejects_;
};

// Returns kBadInput for a shard with more than kClassesMax labels.
Status CheckLabels(size_t labels, const std::string& file, const std::string& column);

}  // namespace espalier::data
