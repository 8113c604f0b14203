// Samples some values of each column. The sample depends only on the listing and the files. Thread
// rule: re-entrant.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/data/features/column_judgement.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// The sample contains all rows of training files with at most kWholeTableBytes or kSampledRows
// rows, if there are at most kSampledFiles of them. For larger tables it consists of blocks of
// kBlockRows rows:
//   text      kBlocks blocks at equal distances over the bytes of all training files, the last one
//             at their end. A file that can only be read from its beginning: its first rows
//   Parquet   the beginnings of up to kBlocks row groups, at equal distances, of up to kSpreadFiles
//             files
inline constexpr int64_t kWholeTableBytes = 1 << 20;
inline constexpr int64_t kSampledRows = 1000, kBlockRows = 64;
inline constexpr int kSampledFiles = 16, kBlocks = 16, kSpreadFiles = 4;
// Maximum size of a text block in bytes. A block beyond it has one row.
inline constexpr int64_t kBlockBytesMax = 256 << 10;

// Returns whether the name of a directory gives all rows of a file the weight 0. These rows are as
// if absent.
bool IsWeightless(const spec::DataSpec& data, const spec::Schema& schema,
                  const spec::InputFile& file);

struct TableSample {
  std::vector<ColumnSample> columns;  // by column of the schema
  std::vector<bool> index;            // columns that are the index of a data frame
  std::vector<bool> typed;            // columns whose type comes from the file
  bool complete = false;              // the sample has all training rows
  Status bad;                         // first record of text that cannot be read, if any
  // Number of training rows, estimated from the bytes of the rows that were read. It is exact for a
  // complete sample and if all Parquet files were read.
  int64_t rows = 0;
  bool exact = false;
};

// Rows of weight 0 are as if absent, also in the number of rows.
//
// Samples the columns of text and CSV files. In Parquet, samples text, unnamed columns and labels.
// If a Parquet table is read as a whole, also samples numbers, booleans, dates and timestamps
// (`typed`). Columns from the names of directories are not sampled.
Result<TableSample> SampleColumns(const storage::FileSystem& files, const spec::DataSpec& data,
                                  const spec::InputPlan& plan);
// Samples only the labels in the same way. Other columns are empty in the result.
Result<TableSample> SampleLabels(const storage::FileSystem& files, const spec::DataSpec& data,
                                 const spec::InputPlan& plan);

}  // namespace espalier::data
