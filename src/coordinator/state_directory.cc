#include "src/coordinator/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/text.h"
#include "src/storage/file_system.h"
#include "src/storage/local_file_system.h"

namespace espalier::coordinator {

Result<std::unique_ptr<DirectoryLock>> DirectoryLock::Take(const std::string& directory) {
  ESPALIER_ASSIGN_OR_RETURN(const auto files, storage::FileSystemFor(directory));
  ESPALIER_RETURN_IF_ERROR(files->MakeDirectory(directory));
  const std::string path = directory + "/lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return storage::FileError(errno, "open", path).Wrap("state_directory");
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return FailedPrecondition("state_directory: " + directory +
                              " is in use by another coordinator. Stop that coordinator, or set "
                              "state_directory to another directory.");
  }
  return std::unique_ptr<DirectoryLock>(new DirectoryLock(fd));
}

DirectoryLock::~DirectoryLock() { close(fd_); }

Status DiskReserve::Fill() {
  struct stat s;
  if (stat(path_.c_str(), &s) == 0 && s.st_size == bytes_) return Status::Ok();
  const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return storage::FileError(errno, "create", path_);
  const int error = posix_fallocate(fd, 0, bytes_);
  close(fd);
  if (error == 0) return Status::Ok();
  Release();
  // EFBIG is a limit of the process, which has the same effect as a full disk.
  return storage::FileError(error == EFBIG ? ENOSPC : error,
                            "keep " + HumanBytes(static_cast<uint64_t>(bytes_)) + " in reserve in",
                            path_);
}

bool DiskReserve::Release() { return unlink(path_.c_str()) == 0; }

}  // namespace espalier::coordinator
