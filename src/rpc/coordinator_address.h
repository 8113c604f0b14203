// Where the coordinator is: host:port as it stands, or file:PATH, hdfs://... of a file that holds
// it, written by the coordinator (its address_file) or by whoever started it.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/storage/file_systems.h"

namespace espalier::rpc {

inline constexpr int64_t kAddressFileBytesMax = 1024;

// The host:port behind `where`, the first line of the file it names. A file is read again at each
// call, because a coordinator that was started anew may be elsewhere. kUnavailable when it cannot
// be read or is empty: there is no coordinator (yet). What the text names is not looked at.
//
// Thread rule: any thread; blocks as `files` does.
Result<std::string> FindCoordinator(const std::string& where, const storage::FileSystem& files);

// `options` for reading such a file: whoever looks for the coordinator looks again soon, so that a
// file system that does not answer is given up after seconds.
storage::StorageOptions ImpatientStorage(storage::StorageOptions options);

}  // namespace espalier::rpc
