// FileSystem over WebHDFS. What HDFS does not promise by itself:
//   exclusive creation   overwrite=false, proved by the data node's 201; when an answer was lost
//   the
//                        file's content is read back and compared
//   atomic writing       a hidden temporary file, closed, then one rename with OVERWRITE
//   renames, deletions   when an answer was lost, "it is gone already" counts as done
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/storage/file_system.h"
#include "src/storage/webhdfs_client.h"

namespace espalier {

// Files that it lists start with the client's prefix. `writer` is FileSystem::WriteAtomically's
// default; empty: host and process.
std::unique_ptr<FileSystem> MakeWebHdfsFileSystem(std::shared_ptr<const WebHdfsClient> client,
                                                  std::string writer);

}  // namespace espalier
