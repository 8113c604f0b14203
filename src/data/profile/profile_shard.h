// The profiling pass: reads each shard once, and counts, checks and checksums it. Keeps its rows as
// numbers, so that the row store does not have to read them again.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/data/table/shard_reader.h"
#include "src/data/table/shard_rows.h"
#include "src/spec/input.h"

namespace espalier::data {

struct ProfiledShard {
  spec::ShardProfile profile;
  // False if the rows were freed to save memory. Loading then reads the shard again.
  bool has_rows = true;
  ShardRows rows;
};

// Reads a shard and counts labels as text (classification), regression targets as numbers, and
// columns over training rows. Errors: as ShardReader::Read. With a provisional plan, a bad row is
// not an error. The profile then has evidence (JudgeShard), and a failure if the shard has no rows.
// REQUIRES: the rules of the reader are kTraining. Thread rule: re-entrant.
Result<ProfiledShard> ProfileShard(const ShardReader& reader, int shard);

// Returns the first position of a label in the validation and test rows of a shard. Returns an
// empty position if the label does not occur there.
Result<InputPosition> FindEvaluationLabel(const TableSource& table, int shard,
                                          const std::string& label);

}  // namespace espalier::data
