// What type each column has, for people. Thread rule: re-entrant.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// By column of the schema: of Parquet the type in the first file; of text "number", "text" or, of
// columns that are empty there, "empty", after the first rows (column_sample.h).
// Columns that stand in the names of directories are text in this sense, whatever the format.
Result<std::vector<std::string>> ColumnTypes(const storage::FileSystem& files,
                                             const spec::DataSpec& data,
                                             const spec::InputPlan& plan);

}  // namespace espalier::data
