// What some values of each column look like. The sample depends on the listing and the files alone.
// Thread rule: re-entrant.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/data/features/column_judgement.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Training files of at most kWholeTableBytes or kSampledRows rows, and not more than kSampledFiles,
// are read as a whole. Of larger tables the sample has blocks of kBlockRows rows each:
//   text      at kBlocks places, at equal distances over the bytes of all training files; the last
//             one at their end. Of a file that can only be read from its begin: its first rows
//   Parquet   at the begin of up to kBlocks row groups, at equal distances, of up to kSpreadFiles
//             files
inline constexpr int64_t kWholeTableBytes = 1 << 20;
inline constexpr int64_t kSampledRows = 1000, kBlockRows = 64;
inline constexpr int kSampledFiles = 16, kBlocks = 16, kSpreadFiles = 4;
// Bytes of a block of text, beyond which it has one row.
inline constexpr int64_t kBlockBytesMax = 256 << 10;

struct TableSample {
  std::vector<ColumnSample> columns;  // by column of the schema
  std::vector<bool> index;            // which of them are the index of a data frame
  std::vector<bool> typed;            // columns whose type is that of the file
  bool complete = false;              // all training rows are in it
  // Of the training files, by the rows that were read and their bytes; exact if complete, and of a
  // single Parquet file.
  int64_t rows = 0;
  bool exact = false;
};

// Samples the columns of text or CSV files. In Parquet it samples text, unnamed columns and labels;
// of a table that is read as a whole also numbers, truth values, dates and time stamps (`typed`).
// Columns in the names of directories are not sampled.
Result<TableSample> SampleColumns(const storage::FileSystem& files, const spec::DataSpec& data,
                                  const spec::InputPlan& plan);
// The same of the labels alone. Other columns are empty in the result.
Result<TableSample> SampleLabels(const storage::FileSystem& files, const spec::DataSpec& data,
                                 const spec::InputPlan& plan);

}  // namespace espalier::data
