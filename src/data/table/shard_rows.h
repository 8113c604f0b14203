// The rows of one shard, as every reader gives them, and the rules that all readers keep.
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

// Distinct labels beyond which a classification job is refused: it is an identifier or a number.
inline constexpr size_t kClassesMax = 10'000;
// Skipped rows that are described, a shard and a job.
inline constexpr size_t kSkippedKept = 10;

// Values of a probed row in ShardProfile::probe in addition to its features: label, file, position.
inline constexpr int64_t kProbeBeside = 3;
// A training row that warnings look at: its number in the shard, and its identity in the file.
struct ProbedRow {
  uint64_t key = 0;  // a hash of file and position
  int64_t row = 0;
  uint64_t position = 0;
  auto operator<=>(const ProbedRow&) const = default;
};

// A shard's rows, by set (FileRole as index), in the order of the file. Thread rule: values.
struct ShardRows {
  ShardRows() = default;
  explicit ShardRows(MemoryBudget* room)
      : sets{DecodedRows(room), DecodedRows(room), DecodedRows(room)} {}

  uint32_t checksum = 0;
  int64_t dropped = 0, skipped = 0;
  std::vector<Status> skipped_first;
  ShardTexts texts;
  DecodedSets sets;
  spec::RowSample sample;         // row_sample.h; not of rows that are read in pieces
  std::vector<ProbedRow> probed;  // likewise
  spec::RowSample places;         // features/validation_column.h, likewise
  bool spilled() const;           // some of it
  int64_t MemoryBytes() const;
};

// More rows of a shard are bad than data.bad_rows tolerates; `last` describes the last one.
Status TooManySkipped(const spec::BadRows& policy, const Status& last);

// The rules by which training and scoring read a shard.
enum class RowRules : uint8_t {
  // A bad row is an error, or with data.bad_rows skip it is counted, as are dropped rows. A shard
  // numbers its categories once, and there is a limit to them.
  kTraining,
  // Bad and dropped rows are rejects. Each piece numbers its categories, without a limit.
  kScoring,
};

// Applies the rules to the rows of a shard that have no numbers, in the order of the file.
// `describe` makes the row's error. It is called only if the error is shown. Rejects have advice
// for the row, not for the job of a training.
class UnusableRows {
 public:
  // `rows` gets the counts. Both must outlive this.
  UnusableRows(RowRules rules, const spec::BadRows& policy, ShardRows* rows)
      : scoring_(rules == RowRules::kScoring), policy_(policy), rows_(*rows) {}

  // An error ends the reading.
  template <typename F>
  Status TakeBad(F&& describe) {
    if (scoring_) {
      Reject(describe());
      return {};
    }
    if (!policy_.skip) return describe();
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

// kBadInput for a shard with more than kClassesMax labels.
Status CheckLabels(size_t labels, const std::string& file, const std::string& column);

}  // namespace espalier::data
