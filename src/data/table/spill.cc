#include "src/data/table/spill.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "src/base/file_descriptor.h"
#include "src/base/text.h"
#include "src/storage/local_file_system.h"

namespace espalier::data {
namespace {

constexpr char kName[] = "espalier-spill-XXXXXX";

Status NoRoom(size_t bytes, const std::string& what) {
  return ResourceExhausted("cannot get " + HumanBytes(bytes) + " of " + what +
                           " for rows. Lower the worker's memory budget or add workers");
}

}  // namespace

Result<int> OpenSpillFile(const std::string& directory) {
  ESPALIER_RETURN_IF_ERROR(storage::MakeLocalFileSystem()->MakeDirectory(directory));
  const FileDescriptor parent(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() < 0) return storage::FileError(errno, "open the spill directory", directory);
  std::string path = directory + "/" + kName;
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return storage::FileError(errno, "make a spill file in", directory);
  unlinkat(parent.get(), path.c_str() + path.rfind('/') + 1, 0);
  return fd;
}

Result<std::unique_ptr<SpillFile>> SpillFile::Make(const std::string& directory) {
  ESPALIER_ASSIGN_OR_RETURN(const int fd, OpenSpillFile(directory));
  return std::unique_ptr<SpillFile>(new SpillFile(fd, directory));
}

SpillFile::~SpillFile() {
  if (size_ > 0) munmap(data_, size_);
  close(fd_);
}

Status SpillFile::Grow(size_t bytes) {
  const off_t from = static_cast<off_t>(size_), more = static_cast<off_t>(bytes - size_);
  if (const int error = posix_fallocate(fd_, from, more); error != 0) {
    const Status failed = storage::FileError(
        error, "reserve " + HumanBytes(bytes) + " in the spill directory", directory_);
    return Status(failed.code(), failed.message() +
                                     ". Free space, choose another spill directory, or raise the "
                                     "memory budget");
  }
  void* data = size_ > 0 ? mremap(data_, size_, bytes, MREMAP_MAYMOVE)
                         : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (data == MAP_FAILED) return NoRoom(bytes, "address space");
  data_ = static_cast<char*>(data);
  size_ = bytes;
  return {};
}

Region::~Region() {
  if (file_ == nullptr && size_ > 0) munmap(data_, size_);
}

Result<std::unique_ptr<Region>> Region::InMemory(size_t bytes) {
  if (bytes == 0) return std::unique_ptr<Region>(new Region(nullptr, 0, nullptr));
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return NoRoom(bytes, "memory");
  madvise(data, bytes, MADV_HUGEPAGE);
  return std::unique_ptr<Region>(new Region(static_cast<char*>(data), bytes, nullptr));
}

Result<std::unique_ptr<Region>> Region::InSpill(const std::string& directory, size_t bytes) {
  if (bytes == 0) return std::unique_ptr<Region>(new Region(nullptr, 0, nullptr));
  ESPALIER_ASSIGN_OR_RETURN(auto file, SpillFile::Make(directory));
  ESPALIER_RETURN_IF_ERROR(file->Grow(bytes));
  char* data = file->data();
  return std::unique_ptr<Region>(new Region(data, bytes, std::move(file)));
}

}  // namespace espalier::data
