// Files on the local machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/storage/file_system.h"

namespace espalier::storage {

// Returns the local file system. `secrets` are files, or directories with their contents, that no
// call may read or change, not even through links (kPermissionDenied). A daemon passes its own
// secrets when it receives paths from clients. Each call resolves them again, because they may be
// replaced.
std::unique_ptr<FileSystem> MakeLocalFileSystem(std::vector<std::string> secrets = {});

// Returns the name of the user that this process runs as; "": the system has none for it.
std::string ProcessUser();

// Returns the error of a system call on `path`, with the code for its errno from file_system.h.
Status FileError(int error_number, const std::string& doing, const std::string& path);
// Returns the error of a call that creates `path`. If the directory is missing, it says so.
Status CreationError(int error_number, const std::string& doing, const std::string& path);

}  // namespace espalier::storage
