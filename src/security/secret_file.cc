#include "src/security/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "src/base/file_descriptor.h"
#include "src/base/text.h"

namespace espalier::security {
namespace {

Status CheckMode(const struct stat& info, const std::string& path, const std::string& what) {
  if ((info.st_mode & kSecretModeRefused) == 0) return Status::Ok();
  const bool others = (info.st_mode & 0007) != 0;
  return PermissionDenied(
      what + ": " + QuotedPath(path) + " is a secret that " +
      (others ? "any user of this machine may read or write" : "its group may write") +
      ". Fix it with `chmod 600 " + Printable(path, 1024) + "`");
}

}  // namespace

Result<std::string> ReadSmallFile(const std::string& path, Secrecy secrecy, int64_t bytes_max,
                                  const std::string& what, Status* exposure) {
  // O_NONBLOCK, because opening a named pipe would block.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    return NotFound(what + ": cannot read " + QuotedPath(path) + ": " + std::strerror(errno));
  }
  struct stat info {};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > bytes_max) {
    return InvalidArgument(what + ": " + QuotedPath(path) + " is not a regular file of at most " +
                           HumanBytes(static_cast<uint64_t>(bytes_max)));
  }
  const Status mode = secrecy == Secrecy::kSecret ? CheckMode(info, path, what) : Status::Ok();
  if (exposure != nullptr) *exposure = mode;
  if (exposure == nullptr) ESPALIER_RETURN_IF_ERROR(mode);
  std::string text(static_cast<size_t>(bytes_max) + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = read(file.get(), text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return NotFound(what + ": cannot read " + QuotedPath(path) + ": " + std::strerror(errno));
    }
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  text.resize(size);
  return text;
}

Status WriteNewFile(const std::string& path, const std::string& text, Secrecy secrecy) {
  const mode_t mode = secrecy == Secrecy::kSecret ? 0600 : 0644;
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() < 0 && errno == EEXIST) {
    return AlreadyExists(QuotedPath(path) +
                         " exists and is not overwritten; choose another "
                         "path, or move that file");
  }
  if (file.get() < 0) {
    return NotFound("cannot make " + QuotedPath(path) + ": " + std::strerror(errno));
  }
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(file.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  if (done == text.size() && fsync(file.get()) == 0) return Status::Ok();
  const Status error =
      ResourceExhausted("cannot write " + QuotedPath(path) + ": " + std::strerror(errno));
  unlink(path.c_str());
  return error;
}

std::string StampOf(const std::vector<std::string>& paths) {
  std::string out;
  for (const std::string& path : paths) {
    struct stat info {};
    if (path.empty() || stat(path.c_str(), &info) != 0) {
      out += "-;";
      continue;
    }
    for (const auto n :
         {static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino),
          int64_t{info.st_size}, int64_t{info.st_mtim.tv_sec}, int64_t{info.st_mtim.tv_nsec},
          int64_t{info.st_ctim.tv_sec}, int64_t{info.st_ctim.tv_nsec}}) {
      out += std::to_string(n) + ",";
    }
    out += ";";
  }
  return out;
}

}  // namespace espalier::security
