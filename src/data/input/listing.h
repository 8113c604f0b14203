// Turns patterns into a frozen input: the files, their lengths, their columns and their shards.
#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Lists the files of the training patterns, then of validation.files, then of the test patterns.
// The files of each pattern are in byte order of their names. The spec and the first file with a
// record determine the schema. The header of each other file must have the same names in any order
// (InputFile::columns).
//
// Cuts shards of `shard_bytes`. The last shard of a file has between half and one and a half times
// that size. A file is one shard with csv.multiline, if it is compressed, or in a form of
// text_file.h. The first shard of a file contains its whole header, and empty files have no shard.
// With validation.stratify or exact, shards are cut only between whole strata (validation_draw.h).
//
// Errors name the pattern or the file: no file matches a pattern (kNotFound), a file is listed
// twice, content cannot be read as text, all training files are empty, and the errors of schema.h.
// Thread rule: re-entrant.
//
// The columns of JSON are the keys of the first records of all files. If one of the columns
// `optional` is among them, so are the others.
Result<spec::InputPlan> PlanTable(const storage::FileSystem& files, const spec::DataSpec& data,
                                  int64_t shard_bytes, std::vector<std::string> optional = {});

// Plans the input of a job. With `columns: auto` it also infers the content of columns
// (infer_features.h).
Result<spec::InputPlan> PlanInput(const storage::FileSystem& files, const spec::DataSpec& data,
                                  int64_t shard_bytes);

// Fills InputPlan::hosts with the hosts that store the blocks, according to the file system. Files
// beyond the first few thousand and files with unknown locations get no hosts, because hosts are
// only a hint.
void FindHosts(const storage::FileSystem& files, spec::InputPlan* plan);

}  // namespace espalier::data
