// `columns: auto`: what each column holds is judged by its first values, once, by whoever plans the
// job; the schema keeps the answer, and all others go by that. Thread rule: re-entrant.
#pragma once

#include "src/base/status.h"
#include "src/data/input/column_sample.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// The rule, over the values of a sample that are not null:
//   numeric      at least half of them are numbers, or there are none: the others are bad rows, as
//                they would be in a column that is named
//   date, boolean  all of them are
//   categorical  otherwise
spec::FeatureType TypeOf(const ColumnSample& sample);

// Gives the features of `columns: auto` that are in no group their types: of text by TypeOf; of
// Parquet's other columns by the file's type: dates and time stamps are dates, all else is numeric.
// Whole numbers are numbers, also where they stand for categories: only a person knows that. A date
// becomes the parts that a group of dates has by default. Does nothing to a job that names its
// columns, and leaves a schema whose columns are all numbers as it was.
Status InferFeatures(const storage::FileSystem& files, const spec::DataSpec& data,
                     spec::InputPlan* plan);

}  // namespace espalier::data
