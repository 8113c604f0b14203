#include "src/security/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace espalier::security {
namespace {

Status Failed() {
  return ResourceExhausted(std::string("cannot make a file in memory: ") + std::strerror(errno));
}

constexpr unsigned kNeverRun = 0x8;  // MFD_NOEXEC_SEAL, which a host may require; since Linux 6.3

// Returns a descriptor of a new file, or a negative number with errno set.
int Filled(std::string_view content) {
  int fd = memfd_create("espalier", MFD_CLOEXEC | kNeverRun);
  if (fd < 0 && errno == EINVAL) fd = memfd_create("espalier", MFD_CLOEXEC);
  while (fd >= 0 && !content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      close(fd);
      return -1;
    }
    content.remove_prefix(static_cast<size_t>(n));
  }
  return fd;
}

}  // namespace

Result<std::unique_ptr<MemoryFile>> MemoryFile::Make(std::string_view content) {
  const int fd = Filled(content);
  if (fd < 0) return Failed();
  return std::unique_ptr<MemoryFile>(new MemoryFile(fd));
}

Status MemoryFile::Put(std::string_view content) {
  const FileDescriptor fresh(Filled(content));
  if (fresh.get() < 0 || dup3(fresh.get(), fd_.get(), O_CLOEXEC) < 0) return Failed();
  return Status::Ok();
}

}  // namespace espalier::security
