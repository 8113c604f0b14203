#include "src/cli/command_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "espalier-train-";
constexpr std::string_view kRandom = "XXXXXX";
static_assert(1 + kPrefix.size() + kRandom.size() == CommandDirectory::kNameBytes);
constexpr int64_t kOrphanAgeS = 60;  // a younger directory may not be locked yet

}  // namespace

void CommandDirectory::RemoveOrphans(const std::string& parent) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    struct stat info;
    if (lstat(entry.path().c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
        info.st_uid != geteuid() || std::time(nullptr) - info.st_mtime < kOrphanAgeS) {
      continue;
    }
    const int fd = open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {  // no process holds the lock
      std::error_code ignored;                // the next command tries again
      fs::remove_all(entry.path(), ignored);
    }
    close(fd);
  }
}

CommandDirectory::~CommandDirectory() {
  Remove();
  if (lock_ >= 0) close(lock_);
}

Status CommandDirectory::Make(const std::string& parent) {
  std::string path = parent + "/" + std::string(kPrefix) + std::string(kRandom);
  if (mkdtemp(path.data()) == nullptr) {
    return ResourceExhausted("cannot make a temporary directory " + path + ": " +
                             std::strerror(errno) + ". TMPDIR names another place for it");
  }
  lock_ = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0) flock(lock_, LOCK_EX | LOCK_NB);
  path_ = path;
  return Status::Ok();
}

void CommandDirectory::Remove() {
  std::error_code ignored;
  if (made()) fs::remove_all(path_, ignored);
}

}  // namespace espalier::cli
