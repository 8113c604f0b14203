// The profiling pass: each shard is read once; counted, checked, checksummed, and its rows are kept
// as numbers so that the row store need not read them again.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/data/table/shard_reader.h"
#include "src/data/table/shard_rows.h"
#include "src/spec/input.h"

namespace espalier::data {

struct ProfiledShard {
  spec::ShardProfile profile;
  // Emptied to save memory: loading then reads the shard again.
  bool has_rows = true;
  ShardRows rows;
};

// Reads a shard and counts: labels as text (classification), regression targets as numbers, columns
// over training rows. Errors are those of ShardReader::Read. By a provisional plan a bad row is not
// an error: the profile then has evidence (JudgeShard), and a failure if the shard has no rows.
// REQUIRES: the reader's rules are kTraining. Thread rule: re-entrant.
Result<ProfiledShard> ProfileShard(const ShardReader& reader, int shard);

// Where a label occurs first in a shard, in validation and test rows if there are both kinds; an
// empty position when it does not.
Result<InputPosition> FindEvaluationLabel(const TableSource& table, int shard,
                                          const std::string& label);

}  // namespace espalier::data
