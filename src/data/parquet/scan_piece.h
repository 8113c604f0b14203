// Rows of a table that is read to be scored, and the plan that they are read by.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/base/status.h"
#include "src/data/parquet/kept_columns.h"
#include "src/data/table/decoded_rows.h"
#include "src/data/table/label_texts.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier {

struct ScanPlan {
  InputPlan input;            // all files have the role kTest
  JobSpec job;                // to decode rows by
  std::vector<int32_t> kept;  // positions in the schema
  // Text and Spark's vectors are decoded sparse where they were for the training, if the model
  // multiplies sparse.
  bool sparse = false;
};

// Rows in the order of the file. Valid during the call.
struct ScanPiece {
  const DecodedRows& rows;
  const ShardTexts& texts;  // labels: also those of former pieces; categories: of this one
  const KeptColumns& kept;  // of the same rows
  // Of the rows among and since the last piece's that cannot be scored: why and where. The line of
  // a text is only told within kLinesCounted bytes from its file's begin: counting reads it again.
  const std::vector<Status>& rejects;
  // Where a row of the piece stands, as rejects tell it. Text is read again up to there.
  const std::function<InputPosition(int64_t row)>& place;
};
using TakePiece = std::function<Status(const ScanPiece& piece)>;
inline constexpr int64_t kLinesCounted = int64_t{64} << 20;

}  // namespace espalier
