// Location of the coordinator: either host:port, or a file (file:PATH, hdfs://...) that contains
// host:port. The coordinator (its address_file) or the program that started it writes this file.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/storage/file_systems.h"

namespace espalier::rpc {

inline constexpr int64_t kAddressFileBytesMax = 1024;

// Returns the host:port that `where` specifies. If it specifies a file, returns the first line of
// the file. Each call reads the file again, because a restarted coordinator may have another
// address. Returns kUnavailable if the file cannot be read or is empty, which means that no
// coordinator is running yet. Does not check the text it returns.
//
// Thread rule: any thread. Blocks as `files` does.
Result<std::string> FindCoordinator(const std::string& where, const storage::FileSystem& files);

// Returns `options` for reading an address file. Callers retry soon, so a file system that does not
// answer fails within seconds.
storage::StorageOptions ImpatientStorage(storage::StorageOptions options);

}  // namespace espalier::rpc
