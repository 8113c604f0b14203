// Chooses validation rows by a column: data.validation.column, group or time.
//
//   column    A row is a validation row if the column is 1 or true.
//   group     The place of a row is a keyed hash of its group, in [0, 1). Two groups are equal if
//             their texts are equal or spell the same number. The empty text and a null of Parquet
//             are one group.
//   time      The place of a row is its date in seconds since 1970 (dates.h), or its number, such
//             as 20240229 or a counter. Other texts make a row bad. So does a date after numbers in
//             the same shard, or a number after dates.
//
// Rows with a place in [from, to) are validation rows. While these bounds are not known, all rows
// are training rows, and the class takes a sample of their places: the rows with the smallest keyed
// hashes of their identity, as in table/row_sample.h. The sample has all rows of a table of up to
// 65,536 rows. ChooseBounds cuts the sorted places between two different ones. Rows of one group,
// or of one time, therefore stay together.
//
// Thread rule: one thread for each ValidationColumn; ChooseBounds is a pure function.
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
  // For the rows of a shard of training file `file`. `schema`: schema of the plan.
  ValidationColumn(const spec::JobSpec& job, const spec::Schema& schema, int32_t file);

  bool active() const { return active_; }
  // Returns the set of the row at `position` of the file. `text`: its field in the column, without
  // surrounding spaces; empty for null. Absent: the row is bad, and fault() has the reason.
  // `dropped`: the row is left out, and only checked. REQUIRES: active().
  std::optional<spec::FileRole> RoleOf(std::string_view text, uint64_t position, bool dropped);
  // Returns the fault of the last bad row.
  std::string fault() const;
  // Returns the places of the sampled rows, one value for each. Empty if the bounds are known.
  spec::RowSample TakePlaces();

 private:
  std::optional<double> PlaceOf(std::string_view text);
  void Offer(uint64_t position, double place);

  const spec::ValidationSpec& validation_;  // part of a job that outlives this
  const bool active_, seeks_;
  const uint64_t file_;
  const PhiloxKey key_;
  std::string format_;  // date format, as given
  std::optional<DateFormat> dates_;
  std::optional<bool> has_numbers_;  // whether the rows so far have numbers; absent: no row yet
  std::vector<std::pair<uint64_t, double>> picked_;  // key and place; heap, largest key first
};

struct PlaceBounds {
  std::optional<double> from, to;  // absent: no bound
  int64_t rows = 0, of = 0;        // sampled rows inside, and all sampled rows
};

// Returns the bounds of the validation rows. With `fraction` they have the highest places. With
// `fold` the sorted places are cut into `of` parts, and one of them is chosen. Each part is as near
// to its share as groups and times allow. kBadInput: there are fewer different places than parts.
// REQUIRES: validation.seeks_bounds(), and `places` has one value for each row.
Result<PlaceBounds> ChooseBounds(const spec::ValidationSpec& validation,
                                 const spec::RowSample& places);

}  // namespace espalier::data
