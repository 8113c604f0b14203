// Tables whose own log says which of their files are live: Delta, Hudi, Iceberg, and Hive's ACID
// tables. Their files hold deleted and superseded rows, so they are not read as plain files.
//
// A table is recognized by names in the directories above each file, up to the root of the file
// system: `_delta_log`, `.hoodie`, `metadata` with an Iceberg file in it, and directories
// `base_N`, `delta_N_N` and `delete_delta_N_N`, as Hive writes them. Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Returns kInvalidArgument if a listed file of `pattern` belongs to one of these tables. `field`
// is the key that holds the pattern. Looks around the pattern itself when it lists no file.
Status CheckTableFormats(const storage::FileSystem& files, const std::string& field,
                         const std::string& pattern, const std::vector<storage::FileInfo>& listed);

}  // namespace espalier::data
