// Merges the profiles of all shards into one result, the same on every member.
#pragma once

#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Merges in shard order, in double, over training rows, and fits the preprocessing. The options of
// the feature's group (fit_features.h) select one of these scales:
//   standard  (x - mean) / population deviation     minmax  (x - min) / (max - min)
//   divide    x / divisor                           none    x
//   robust    (x - median) / (upper - lower quartile), of a sample of the rows (row_sample.h);
//             if the quartiles are equal, the population deviation replaces their difference
//   robust_smooth_clip  z / sqrt(1 + (z/3)^2), z as for robust; if the quartiles are equal,
//             (max - min) / 2 replaces their difference
// Bins of embedded numbers are cut from the same sample (bins.h), which is then larger. A constant
// column becomes 0 under standard, minmax and robust. Nulls become the mean of the column's other
// values, or the constant, which then counts in the scale like a value.
//
// Regression targets under target_scale standard become (y - mean) / population deviation. A
// constant target becomes y - mean. If all labels are numbers, an integer written as a float
// belongs to the class of that integer (ClassText). Classes are sorted as integers if all are
// integers, otherwise in byte order. The shards of the result keep only counts and checksums.
//
// Errors: more bad rows than the limit; no training rows; a validation or test set that the job
// requests but that has no rows; more than kCategoriesMax values in a vocabulary; only one class,
// more than kClassesMax, or not two classes for binary cross-entropy; labels that are different in
// nearly every row, or many labels written as numbers or dates; a label in test rows, or in
// validation rows that are not drawn, that no training row has (metrics would then mean nothing); a
// model.positive that is not a class, or a threshold without exactly two classes; weights that are
// all 0; statistics that overflow.
//
// `files`, if given, locates a label of that kind. `earlier`, if any, is kept, and its classes
// count as if rows had them. REQUIRES: one profile per shard, in any order. Thread rule:
// re-entrant.
Result<spec::TableProfile> MergeShardProfiles(const spec::InputPlan& plan, const spec::JobSpec& job,
                                              std::vector<spec::ShardProfile> profiles,
                                              const storage::FileSystem* files = nullptr,
                                              const spec::EarlierFit* earlier = nullptr);

}  // namespace espalier::data
