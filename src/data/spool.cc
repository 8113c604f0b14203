#include "src/data/spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "src/base/text.h"
#include "src/storage/glob.h"
#include "src/storage/local_file_system.h"

namespace espalier {
namespace {

constexpr char kPrefix[] = "espalier-spool-";

Result<char*> Map(size_t bytes, int flags, int fd, const std::string& what) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (data == MAP_FAILED) {
    return ResourceExhausted("cannot get " + HumanBytes(bytes) + " of " + what +
                             " for rows; lower the worker's memory budget or add workers");
  }
  return static_cast<char*>(data);
}

}  // namespace

Region::~Region() {
  if (size_ > 0) munmap(data_, size_);
}

Result<std::unique_ptr<Region>> Region::InMemory(size_t bytes) {
  if (bytes == 0) return std::unique_ptr<Region>(new Region(nullptr, 0));
  ESPALIER_ASSIGN_OR_RETURN(char* data, Map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1, "memory"));
  madvise(data, bytes, MADV_HUGEPAGE);
  return std::unique_ptr<Region>(new Region(data, bytes));
}

Result<std::unique_ptr<Region>> Region::InSpool(const std::string& directory, size_t bytes) {
  if (bytes == 0) return std::unique_ptr<Region>(new Region(nullptr, 0));
  static std::atomic<uint64_t> counter{0};
  ESPALIER_RETURN_IF_ERROR(MakeLocalFileSystem()->MakeDirectory(directory));
  const std::string path =
      directory + "/" + kPrefix + std::to_string(getpid()) + "-" + std::to_string(++counter);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return FileError(errno, "make the spool file", path);
  unlink(path.c_str());
  if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(bytes)); error != 0) {
    close(fd);
    const Status failed =
        FileError(error, "reserve " + HumanBytes(bytes) + " in the spool directory", directory);
    return Status(failed.code(), failed.message() +
                                     "; free space, choose another spool directory, or raise the "
                                     "memory budget");
  }
  Result<char*> data = Map(bytes, MAP_SHARED, fd, "address space");
  close(fd);
  if (!data.ok()) return data.status();
  return std::unique_ptr<Region>(new Region(*data, bytes));
}

Status CleanSpool(const std::string& directory) {
  const auto files = MakeLocalFileSystem();
  Result<std::vector<FileInfo>> found = files->List(directory + "/" + kPrefix + "*");
  if (!found.ok()) return found.status();
  for (const FileInfo& file : *found) {
    Status deleted = files->Delete(file.path);
    if (!deleted.ok() && deleted.code() != StatusCode::kNotFound) return deleted;
  }
  return {};
}

}  // namespace espalier
