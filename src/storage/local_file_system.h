// Files of this machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/storage/file_system.h"

namespace espalier::storage {

// `secrets`: files, or directories with all in them, that no call may read or change: a daemon's
// own, when the paths come from others. kPermissionDenied, also by links. (They are looked up at
// each call, for they may be replaced.)
std::unique_ptr<FileSystem> MakeLocalFileSystem(std::vector<std::string> secrets = {});

// An error of a system call on `path`, told apart by errno as file_system.h says.
Status FileError(int error_number, const std::string& doing, const std::string& path);

}  // namespace espalier::storage
