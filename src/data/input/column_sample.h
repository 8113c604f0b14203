// What the first values of each column look like. Thread rule: re-entrant.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/data/features/column_judgement.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// The sample is of the first rows of the training files, in their order: so many rows, from so many
// files at most.
inline constexpr int64_t kSampledRows = 1000;
inline constexpr int kSampledFiles = 16;

struct TableSample {
  std::vector<ColumnSample> columns;  // by column of the schema
  std::vector<bool> index;            // which of them are the index of a data frame
  bool complete = false;              // all training rows are in it
  // Of the training files, by the rows that were read and their bytes; exact if complete, and of a
  // single Parquet file.
  int64_t rows = 0;
  bool exact = false;
};

// Of Parquet files only columns of text, unnamed ones and labels are looked at; of columns that are
// in the names of directories nothing.
Result<TableSample> SampleColumns(const storage::FileSystem& files, const spec::DataSpec& data,
                                  const spec::InputPlan& plan);
// The same of the labels alone. Other columns are empty in the result.
Result<TableSample> SampleLabels(const storage::FileSystem& files, const spec::DataSpec& data,
                                 const spec::InputPlan& plan);

}  // namespace espalier::data
