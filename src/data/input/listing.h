// From patterns to a frozen input: which files, how long, which columns, cut into which shards.
#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Lists the training patterns, then validation.files, then the test patterns; each pattern's files
// sorted bytewise. Fixes the schema by the spec and the first file that has a record, checks the
// header of each other file against it (the same names in any order: InputFile::columns), and cuts
// shards of `shard_bytes`, a file's last one of half as many to half as many more (with
// csv.multiline, and of compressed files and those of text_file.h, one a file; a file's header lies
// wholly in its first shard; empty files have no shard). With validation.stratify or exact they are
// cut at whole strata only (validation_draw.h).
//
// Errors name the pattern or the file: nothing matches a pattern (kNotFound), a file listed twice,
// content that cannot be read as text, all training files empty, and what schema.h says.
// Thread rule: re-entrant.
Result<spec::InputPlan> PlanTable(const storage::FileSystem& files, const spec::DataSpec& data,
                                  int64_t shard_bytes);

// The same for a job: with `columns: auto` it also finds what the columns hold (infer_features.h).
Result<spec::InputPlan> PlanInput(const storage::FileSystem& files, const spec::DataSpec& data,
                                  int64_t shard_bytes);

// Fills InputPlan::hosts from where the file system says the blocks are. Files beyond the first few
// thousand, and those of which nothing is known, get none: it is a hint.
void FindHosts(const storage::FileSystem& files, spec::InputPlan* plan);

}  // namespace espalier::data
