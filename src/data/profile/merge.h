// From the profiles of all shards to one result, the same on every member.
#pragma once

#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Merges in shard order, in double, over training rows; fits the preprocessing:
// of each feature as its group says (fit_features.h)
//   standard  (x - mean) / population deviation     minmax  (x - min) / (max - min)
//   divide    x / divisor                           none    x
//   robust    (x - median) / (upper - lower quartile), of a sample of the rows (row_sample.h);
//             where the quartiles are equal the population deviation takes their place
//   robust_smooth_clip  z / sqrt(1 + (z/3)^2), z as of robust; where the quartiles are equal
//             (max - min) / 2 takes their place
// Bins of embedded numbers are cut from the same sample (bins.h), larger then.
// A constant column becomes 0 under standard, minmax and robust. Nulls become the mean of the
// column's other values, or the constant, which counts in the scale as the values do. Regression
// targets under target_scale standard become (y - mean) / population deviation; a constant target
// y - mean. When all labels are numbers, those that write a whole number as a float belong to the
// class of that number (ClassText). Classes are sorted as whole numbers when all are such, else
// bytewise. The result's shards keep counts and checksums only.
//
// Errors: more bad rows than the limit; no training rows; validation or test asked for and without
// rows; more than kCategoriesMax values for a vocabulary; one class only, more than kClassesMax, or
// other than two for binary cross-entropy; a label in test rows, or in validation rows that are not
// drawn, that no training row has (then metrics would mean nothing); a model.positive that is not a
// class, or a threshold for other than two classes; weights that are all 0; statistics that
// overflow. `files`, when given, finds such a label. `earlier`, if any, is kept, and its classes
// count as if rows had them. REQUIRES: one profile a shard, in any order.
// Thread rule: re-entrant.
Result<spec::TableProfile> MergeShardProfiles(const spec::InputPlan& plan, const spec::JobSpec& job,
                                              std::vector<spec::ShardProfile> profiles,
                                              const storage::FileSystem* files = nullptr,
                                              const spec::EarlierFit* earlier = nullptr);

}  // namespace espalier::data
