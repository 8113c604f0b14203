// Files of this machine.
#pragma once

#include <memory>

#include "src/storage/file_system.h"

namespace espalier {

std::unique_ptr<FileSystem> MakeLocalFileSystem();

// An error of a system call on `path`, told apart by errno as file_system.h says.
Status FileError(int error_number, const std::string& doing, const std::string& path);

}  // namespace espalier
