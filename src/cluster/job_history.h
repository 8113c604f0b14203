// The history of a job, as the coordinator keeps it: one row for each evaluation.
//
// Thread rule: a value.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "src/spec/metrics.h"

namespace espalier::cluster {

// Rows are numbered from 0, in the order of the evaluations. The oldest rows are dropped first.
class JobHistory {
 public:
  bool empty() const { return rows_.empty(); }
  // Number of the oldest row kept, and of the next row.
  int64_t begin() const { return begin_; }
  int64_t end() const { return begin_ + static_cast<int64_t>(rows_.size()); }
  const std::deque<spec::HistoryRow>& rows() const { return rows_; }
  // Returns the rows with numbers from `from` on.
  std::vector<spec::HistoryRow> From(int64_t from) const;

  // Returns whether this row was reported before, by members with a correct state. A generation
  // that returned to an earlier state reports other values for the same number. `earlier`: the row
  // is of an earlier generation, which never replaces a row.
  bool Knows(int64_t number, const spec::HistoryRow& row, bool earlier) const;
  // Adds a row, or replaces the row with this number. Keeps at most `rows_max` rows.
  void Set(int64_t number, spec::HistoryRow row, int64_t rows_max);
  // Drops the rows after step `steps`, the last one of the job. They belong to a state that turned
  // out to be wrong.
  void EndAt(int64_t steps);

 private:
  std::deque<spec::HistoryRow> rows_;
  int64_t begin_ = 0;
};

}  // namespace espalier::cluster
