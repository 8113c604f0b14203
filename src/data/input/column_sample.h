// What the first values of each column look like. Thread rule: re-entrant.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// The sample is of the first rows of the training files, in their order: so many rows, from so many
// files at most.
inline constexpr int64_t kSampledRows = 1000;
inline constexpr int kSampledFiles = 16;

struct ColumnSample {
  int64_t values = 0;  // that are not null
  // How many of them are: numbers, also such as are too large; true, false, yes, no, 1 or 0; dates
  // as text.
  int64_t numbers = 0, booleans = 0, dates = 0;

  void Add(std::string_view text);
};

// By column of the schema. Of Parquet files only columns of text are looked at; of columns that
// stand in the names of directories nothing.
Result<std::vector<ColumnSample>> SampleColumns(const storage::FileSystem& files,
                                                const spec::DataSpec& data,
                                                const spec::InputPlan& plan);

}  // namespace espalier::data
