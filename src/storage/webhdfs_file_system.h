// FileSystem over WebHDFS. It adds guarantees that HDFS does not give:
//   exclusive creation   overwrite=false, confirmed by the DataNode's 201; if a reply was lost, the
//                        content of the file is read back and compared
//   atomic writing       a hidden temporary file, closed, then one rename with OVERWRITE
//   renames, deletions   if a reply was lost, a missing source counts as done
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/storage/file_system.h"
#include "src/storage/webhdfs_client.h"

namespace espalier::storage {

// Returns the file system. Paths of listed files start with the client's prefix. `writer` is the
// default for FileSystem::WriteAtomically; empty: host and process.
std::unique_ptr<FileSystem> MakeWebHdfsFileSystem(std::shared_ptr<const WebHdfsClient> client,
                                                  std::string writer);

}  // namespace espalier::storage
