// The survey: each shard is read once; counted, checked, checksummed, and its rows are kept as
// numbers so that the row store need not read them again.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/shard_rows.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier {

struct SurveyedShard {
  ShardSurvey survey;
  // Emptied to save memory: loading then reads the shard again.
  bool has_rows = true;
  ShardRows rows;
};

// Reads the rows of a shard. A bad row is the error (kBadInput, with file, row, column, byte offset
// and text), or with data.bad_rows skip is left out and counted, until there are more than the
// limit. kDataLoss: the file changed since it was listed. Validation rows by fraction are chosen by
// a keyed hash of (file ordinal, byte offset of the row | Parquet row index), so not by how shards
// are cut. The rows draw on `room`, which may be null; kResourceExhausted: it is used up. REQUIRES:
// `shard` indexes plan.shards. Thread rule: re-entrant.
Result<ShardRows> ReadShard(const FileSystem& files, const InputPlan& plan, const JobSpec& job,
                            int shard, RowRoom* room = nullptr);

// The same in pieces: `take` gets the rows in order, a few hundred KiB (Parquet: a batch) at a
// time, and the result holds none. An error of `take` ends it.
Result<ShardRows> StreamShard(const FileSystem& files, const InputPlan& plan, const JobSpec& job,
                              int shard, RowRoom* room, const TakeRows& take);

// ReadShard, with the statistics. Labels are counted as text (classification), regression targets
// as numbers; column statistics are over training rows.
Result<SurveyedShard> SurveyShard(const FileSystem& files, const InputPlan& plan,
                                  const JobSpec& job, int shard, RowRoom* room = nullptr);

// Where a label occurs first in a shard, in validation and test rows if there are both kinds; an
// empty position when it does not.
Result<InputPosition> FindEvaluationLabel(const FileSystem& files, const InputPlan& plan,
                                          const JobSpec& job, int shard, const std::string& label);

}  // namespace espalier
