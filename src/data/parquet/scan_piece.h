// Rows of a table that is read to be scored, and the plan that they are read by.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/decoded_rows.h"
#include "src/data/table/kept_columns.h"
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
  const ShardTexts& texts;  // labels of this and earlier pieces; categories of this one
  const KeptColumns& kept;  // columns of the same rows
  // Reasons and positions of the rows since the previous piece that cannot be scored. They include
  // the line of a text only within its first kLinesCounted bytes, because counting lines reads the
  // text again.
  const std::vector<Status>& rejects;
  // Returns the position of a row of the piece. Reads text again up to that row.
  const std::function<InputPosition(int64_t row)>& place;
};
using TakePiece = std::function<Status(const ScanPiece& piece)>;
inline constexpr int64_t kLinesCounted = int64_t{64} << 20;

}  // namespace espalier
