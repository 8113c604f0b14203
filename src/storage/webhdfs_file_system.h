// FileSystem over WebHDFS. It adds what HDFS does not promise:
//   exclusive creation   overwrite=false, proved by the 201 of the data node; when a reply was
//                        lost, the content of the file is read back and compared
//   atomic writing       a hidden temporary file, closed, then one rename with OVERWRITE
//   renames, deletions   when a reply was lost, a source that is missing counts as done
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/storage/file_system.h"
#include "src/storage/webhdfs_client.h"

namespace espalier::storage {

// Files that it lists start with the client's prefix. `writer` is FileSystem::WriteAtomically's
// default; empty: host and process.
std::unique_ptr<FileSystem> MakeWebHdfsFileSystem(std::shared_ptr<const WebHdfsClient> client,
                                                  std::string writer);

}  // namespace espalier::storage
