// Returns the types of columns for display. Thread rule: re-entrant.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Returns the word for the type of a feature: "number", "boolean", "date" or "category".
const char* TypeWord(spec::FeatureType type);

// Returns one type per column of the schema. For Parquet, it is the type in the first file. For
// text, it is "number" or "text" by the first rows (column_sample.h), or "empty" for a column
// without values in them. Columns from the names of directories follow the rule for text in every
// format.
Result<std::vector<std::string>> ColumnTypes(const storage::FileSystem& files,
                                             const spec::DataSpec& data,
                                             const spec::InputPlan& plan);

}  // namespace espalier::data
