// Which training rows become validation rows by the value of a column: data.validation.column,
// group or time.
//
//   column    rows where it is 1 or true
//   group     A row has the place HASH(group, seed) in [0, 1). Groups are equal if their texts are,
//             or if they spell the same number. The empty text and a null of Parquet are one group.
//   time      A row has the place SECONDS since 1970 of its date (dates.h), or its number as it is,
//             such as 20240229 or a counter. A row with neither is bad, and so is a date in a shard
//             that begins with numbers, or the reverse.
//
// Rows with a place in [from, to) are validation rows. Before these bounds are known, all rows are
// training rows, and a sample of their places is taken: the rows with the smallest keyed hashes of
// their identity, as in table/row_sample.h. Of a table of up to 65,536 rows it has all.
// ChooseBounds cuts the sorted places between two different ones, so groups and moments stay whole.
//
// Thread rule: one thread a ValidationColumn; a pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/random.h"
#include "src/base/status.h"
#include "src/data/features/dates.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

class ValidationColumn {
 public:
  // For the rows of a shard of training file `file`. `schema`: that of the plan.
  ValidationColumn(const spec::JobSpec& job, const spec::Schema& schema, int32_t file);

  bool active() const { return active_; }
  // The set of the row at `position` of the file, by its text in the column without surrounding
  // spaces (null: empty). Absent: the row is bad, see fault(). `dropped`: the row is left out, and
  // only checked. REQUIRES: active().
  std::optional<spec::FileRole> RoleOf(std::string_view text, uint64_t position, bool dropped);
  // What is wrong with the last row without a role.
  std::string fault() const;
  // The places of sampled rows, one value a row; empty unless bounds are sought.
  spec::RowSample TakePlaces();

 private:
  std::optional<double> PlaceOf(std::string_view text);
  void Offer(uint64_t position, double place);

  const spec::ValidationSpec& validation_;  // of a job that outlives this
  const bool active_, seeks_;
  const uint64_t file_;
  const PhiloxKey key_;
  std::string format_;  // of dates, as given
  std::optional<DateFormat> dates_;
  std::optional<bool> has_numbers_;  // whether the rows so far have numbers; absent: no row yet
  std::vector<std::pair<uint64_t, double>> picked_;  // key and place; a heap, the largest key first
};

struct PlaceBounds {
  std::optional<double> from, to;  // absent: no bound
  int64_t rows = 0, of = 0;        // sampled rows inside, and all of them
};

// The bounds of `fraction`, whose rows have the highest places, or of `fold` of `of` consecutive
// stretches; each as near to its share as whole groups or moments allow. kBadInput: there are fewer
// different places than stretches. REQUIRES: validation.seeks_bounds(); `places` have one value.
Result<PlaceBounds> ChooseBounds(const spec::ValidationSpec& validation,
                                 const spec::RowSample& places);

}  // namespace espalier::data
