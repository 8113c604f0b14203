#include "src/storage/secret_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

namespace espalier::storage {
namespace {

// Resolves a path as far as it exists.
std::string Real(const std::string& path) {
  std::error_code failed;
  const auto real = std::filesystem::weakly_canonical(path, failed);
  return failed ? path : real.string();
}

// Returns whether `path` is `directory` or below it. Both are resolved paths.
bool IsWithin(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

}  // namespace

bool SecretFiles::Has(const std::string& path) const {
  if (paths_.empty()) return false;
  return std::any_of(paths_.begin(), paths_.end(), [real = Real(path)](const std::string& secret) {
    return IsWithin(real, Real(secret));
  });
}

bool SecretFiles::AnyWithin(const std::string& path) const {
  if (paths_.empty()) return false;
  return std::any_of(paths_.begin(), paths_.end(), [real = Real(path)](const std::string& secret) {
    return IsWithin(Real(secret), real);
  });
}

bool SecretFiles::HasOpened(int fd) const {
  struct stat opened;
  if (paths_.empty() || fstat(fd, &opened) != 0) return false;
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  std::error_code unknown;
  const std::string shown = std::filesystem::read_symlink(name, unknown).string();
  if (opened.st_nlink == 0 && shown.ends_with(" (deleted)")) return true;
  const bool other_name = std::any_of(paths_.begin(), paths_.end(), [&](const std::string& path) {
    struct stat s;
    return stat(path.c_str(), &s) == 0 && s.st_dev == opened.st_dev && s.st_ino == opened.st_ino;
  });
  return other_name || Has(name);
}

}  // namespace espalier::storage
