#include "src/base/directories.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "src/base/file_descriptor.h"

namespace espalier {
namespace {

constexpr int kSwapsMax = 1000;  // entries that may change their type during a deletion

// A directory on the way from the opened directory to the current one.
struct Level {
  std::string name;  // its name in the level above
  dev_t device = 0;
  ino_t inode = 0;
  std::vector<std::string> left;  // names to delete, the last one first
};

// Deletes names depth first. Only the current directory is open. The way up is `..`, which is
// compared with the directory that the deletion came from.
class TreeRemover {
 public:
  // Starts in `directory`. Deletes `name` in it, or all in it if `name` is empty.
  TreeRemoval Remove(int directory, const std::string& name) {
    int error = Enter(openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), "");
    if (error == 0 && name.empty()) error = FindNames();
    if (error == 0 && !name.empty()) levels_.back().left.push_back(name);
    while (error == 0) {
      const bool done = levels_.back().left.empty();
      if (done && levels_.size() == 1) return {};
      error = done ? Leave() : RemoveNext();
    }
    return {error, Current()};
  }

 private:
  // Makes the opened directory `fd` the current one. Returns 0 or an errno.
  int Enter(int fd, std::string name) {
    if (fd < 0) return errno;
    current_.emplace(fd);
    struct stat s;
    if (fstat(fd, &s) != 0) return errno;
    levels_.push_back({std::move(name), s.st_dev, s.st_ino, {}});
    return 0;
  }

  int FindNames() {
    std::vector<std::string>* names = &levels_.back().left;
    const int error = NamesIn(current_->get(), names);
    std::reverse(names->begin(), names->end());
    return error;
  }

  // Deletes the next name, or enters it if it is a directory. Deleting comes first: the call never
  // follows a link, so the type of the entry needs no separate check.
  int RemoveNext() {
    std::vector<std::string>& left = levels_.back().left;
    const int fd = current_->get();
    if (unlinkat(fd, left.back().c_str(), 0) == 0 || errno == ENOENT) {
      left.pop_back();
      return 0;
    }
    const int refused = errno;
    if (refused != EISDIR && refused != EPERM) return refused;  // EPERM is POSIX's
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const int below = openat(fd, left.back().c_str(), flags);
    if (below < 0 && (errno == ENOTDIR || errno == ELOOP)) {
      return refused == EISDIR ? Swapped() : refused;
    }
    if (below < 0 && errno != ENOENT) return errno;
    std::string name = std::move(left.back());
    left.pop_back();
    if (below < 0) return 0;
    const int error = Enter(below, std::move(name));
    return error == 0 ? FindNames() : error;
  }

  // Returns to the level above and deletes the current directory, which is empty.
  int Leave() {
    const int up = openat(current_->get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (up < 0) return errno;
    const Level& above = levels_[levels_.size() - 2];
    current_.emplace(up);
    struct stat s;
    if (fstat(up, &s) != 0) return errno;
    if (s.st_dev != above.device || s.st_ino != above.inode) return ESTALE;
    const std::string& name = levels_.back().name;
    if (unlinkat(up, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
      if (errno != ENOTDIR) return errno;
      levels_[levels_.size() - 2].left.push_back(name);
      levels_.pop_back();
      return Swapped();
    }
    levels_.pop_back();
    return 0;
  }

  // Counts an entry that changed its type, so that a deletion ends although others work against it.
  int Swapped() { return ++swaps_ > kSwapsMax ? ENOTDIR : 0; }

  // Returns the path of the entry that is being deleted.
  std::string Current() const {
    std::string path;
    const auto append = [&path](const std::string& name) {
      if (!path.empty() && !name.empty()) path += '/';
      path += name;
    };
    for (const Level& level : levels_) append(level.name);
    if (!levels_.empty() && !levels_.back().left.empty()) append(levels_.back().left.back());
    return path;
  }

  std::optional<FileDescriptor> current_;
  std::vector<Level> levels_;
  int swaps_ = 0;
};

}  // namespace

int NamesIn(int directory, std::vector<std::string>* names) {
  const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* d = fd < 0 ? nullptr : fdopendir(fd);
  if (d == nullptr) {
    const int error = errno;
    if (fd >= 0) close(fd);
    return error;
  }
  errno = 0;
  while (const dirent* entry = readdir(d)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names->push_back(std::move(name));
  }
  const int error = errno;
  closedir(d);
  std::sort(names->begin(), names->end());
  return error;
}

TreeRemoval RemoveTreeIn(int parent, const std::string& name) {
  return TreeRemover().Remove(parent, name);
}

TreeRemoval RemoveContents(int directory) { return TreeRemover().Remove(directory, ""); }

}  // namespace espalier
