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
#include <string_view>
#include <vector>

#include "src/base/directories.h"
#include "src/base/file_descriptor.h"

namespace espalier::cli {
namespace {

constexpr std::string_view kPrefix = "espalier-train-";
constexpr std::string_view kRandom = "XXXXXX";
static_assert(1 + kPrefix.size() + kRandom.size() == CommandDirectory::kNameBytes);
constexpr int64_t kOrphanAgeS = 60;  // a younger directory may not be locked yet

constexpr int kOpenFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Returns whether the opened directory belongs to this user and no command may still need it.
bool IsOrphan(int directory) {
  struct stat info;
  return fstat(directory, &info) == 0 && info.st_uid == geteuid() &&
         std::time(nullptr) - info.st_mtime >= kOrphanAgeS &&
         flock(directory, LOCK_EX | LOCK_NB) == 0;
}

// Removes the directory that is opened as `directory`. The path may lead to another one by now: if
// that is not empty, it stays.
void RemoveOpened(int directory, const std::string& path) {
  if (RemoveContents(directory).error_number == 0) rmdir(path.c_str());
}

}  // namespace

void CommandDirectory::RemoveOrphans(const std::string& parent) {
  const FileDescriptor opened(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::string> names;
  if (opened.get() < 0 || NamesIn(opened.get(), &names) != 0) return;
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix)) continue;
    const FileDescriptor directory(openat(opened.get(), name.c_str(), kOpenFlags));
    if (directory.get() < 0 || !IsOrphan(directory.get())) continue;
    RemoveOpened(directory.get(), parent + "/" + name);  // on failure, the next command tries again
  }
}

CommandDirectory::~CommandDirectory() {
  Remove();
  if (directory_ >= 0) close(directory_);
}

Status CommandDirectory::Make(const std::string& parent) {
  std::string path = parent + "/" + std::string(kPrefix) + std::string(kRandom);
  const bool made = mkdtemp(path.data()) != nullptr;
  directory_ = made ? open(path.c_str(), kOpenFlags) : -1;
  if (directory_ < 0) {
    const int error = errno;
    if (made) rmdir(path.c_str());
    return ResourceExhausted("cannot make a temporary directory " + path + ": " +
                             std::strerror(error) + ". Set TMPDIR to another directory");
  }
  flock(directory_, LOCK_EX | LOCK_NB);
  path_ = path;
  return Status::Ok();
}

void CommandDirectory::Remove() {
  if (made()) RemoveOpened(directory_, path_);
}

}  // namespace espalier::cli
