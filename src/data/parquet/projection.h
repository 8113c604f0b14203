// Maps the columns of a job to those of one Parquet file. Thread rule: pure functions and values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/parquet/columns.h"
#include "src/spec/input.h"

namespace espalier::data {

// Columns of a file that provide the parts of a row. A source is an index into `columns`.
struct ParquetProjection {
  // Features [slot, slot + count) are elements [element, element + count) of a source.
  struct Run {
    int32_t source = 0, slot = 0, count = 0;
    int64_t element = 0;
    bool plain = true;  // the numbers of the source itself; otherwise count is 1
  };
  std::vector<int> columns;     // positions in the file, ascending
  std::vector<bool> vectors;    // by source
  std::vector<int64_t> widths;  // by source: required numbers per row
  std::vector<Run> features;
  std::vector<int32_t> label;  // sources
  int32_t weight = -1, validation = -1;
  std::vector<int32_t> kept;  // sources
  int64_t numbers_a_row = 0;
};

// Finds the columns by name. `kept`: schema positions of further columns to read. kDataLoss: a
// column of the schema that planning found is missing.
Result<ParquetProjection> Project(const spec::FeatureSpec& features, const spec::Schema& schema,
                                  const std::vector<ParquetColumn>& columns,
                                  const std::string& path, std::span<const int32_t> kept = {});

}  // namespace espalier::data
