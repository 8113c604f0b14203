// Tables whose log decides which of their files are live: Delta, Hudi, Iceberg, and Hive's ACID
// tables. Their files contain deleted and superseded rows, so they are not read as plain files.
//
// A table is recognized by names in the directories above each file, up to the root of the file
// system: `_delta_log`, `.hoodie`, `metadata` with an Iceberg file inside, the file
// `.hoodie_partition_metadata` in a partition, and the directories `base_N`, `delta_N_N` and
// `delete_delta_N_N` that Hive writes. Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Returns kInvalidArgument if a listed file of `pattern` belongs to one of these tables. `field`:
// key that contains the pattern. If the pattern lists no file, examines the directories of the
// pattern.
Status CheckTableFormats(const storage::FileSystem& files, const std::string& field,
                         const std::string& pattern, const std::vector<storage::FileInfo>& listed);

}  // namespace espalier::data
