#include "src/storage/local_file_system.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "src/base/directories.h"
#include "src/base/file_descriptor.h"
#include "src/base/text.h"
#include "src/storage/pattern_listing.h"
#include "src/storage/secret_files.h"
#include "src/storage/uri.h"

namespace espalier::storage {

std::string ProcessUser() {
  std::vector<char> buffer(16 << 10);
  passwd entry = {};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0) return "";
  return found == nullptr ? "" : found->pw_name;
}

Status FileError(int error_number, const std::string& doing, const std::string& path) {
  const auto say = [&](StatusCode code, const std::string& why) {
    return FileProblem(code, doing, path, why);
  };
  switch (error_number) {
    case ENOENT:
      return say(StatusCode::kNotFound, "it does not exist");
    case EEXIST:
    case ENOTEMPTY:
      return say(StatusCode::kAlreadyExists, "it exists");
    case EACCES:
    case EPERM: {
      const std::string user = ProcessUser();
      return say(StatusCode::kPermissionDenied,
                 "permission denied. Grant " +
                     (user.empty() ? "the user of this process" : "user " + user) +
                     " access to it");
    }
    case EROFS:
      return say(StatusCode::kPermissionDenied,
                 "the disk is mounted read-only, or, for a service of systemd, the place is not "
                 "among its ReadWritePaths");
    case EISDIR:
      return say(StatusCode::kFailedPrecondition, "it is a directory");
    case ENOTDIR:
      return say(StatusCode::kFailedPrecondition, "a part of it is a file, not a directory");
    case ENOSPC:
    case EDQUOT:
      return say(StatusCode::kResourceExhausted,
                 std::string("the disk is full (") + std::strerror(error_number) + ")");
    case EMFILE:
    case ENFILE:
      return say(StatusCode::kResourceExhausted,
                 "too many open files; raise the limit (ulimit -n)");
    case ENAMETOOLONG:
      return say(StatusCode::kInvalidArgument, "its name is too long");
    case ELOOP:
      return say(StatusCode::kFailedPrecondition, "its symbolic links lead in a circle");
    case EINVAL:
      return say(StatusCode::kInvalidArgument, std::strerror(error_number));
    default:
      return say(StatusCode::kUnavailable, std::strerror(error_number));
  }
}

namespace {

constexpr int kTemporaryNames = 100;  // maximum number of attempts

// Returns "/a/b" for "file:///a/b" or "/a/b". Rejects paths that are invalid in system calls.
Result<std::string> LocalPath(const std::string& text) {
  ESPALIER_ASSIGN_OR_RETURN(Uri uri, ParseUri(text));
  if (uri.kind == Uri::Kind::kLocal) return std::move(uri.path);
  return InvalidArgument("'" + Printable(text) + "' is not a file of this machine");
}

FileInfo InfoOf(const struct stat& s, std::string path) {
  const bool directory = S_ISDIR(s.st_mode);
  return {std::move(path), directory ? 0 : static_cast<int64_t>(s.st_size),
          int64_t{s.st_mtim.tv_sec} * 1000 + s.st_mtim.tv_nsec / 1'000'000, directory};
}

class LocalFile : public ReadableFile {
 public:
  LocalFile(int fd, FileInfo info) : fd_(fd), info_(std::move(info)) {}
  const FileInfo& info() const override { return info_; }
  Result<size_t> ReadAt(int64_t offset, std::span<char> out) const override {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = pread(fd_.get(), out.data() + done, out.size() - done, offset + done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return FileError(errno, "read", info_.path);
      if (n == 0) break;
      done += n;
    }
    return done;
  }
  void WillRead(int64_t offset, int64_t length) const override {
    (void)posix_fadvise(fd_.get(), offset, length, POSIX_FADV_WILLNEED);
  }

 private:
  FileDescriptor fd_;
  FileInfo info_;
};

// Writes all of `content` and waits until it is on the device.
Status WriteAndSync(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError(errno, "write", path);
    content.remove_prefix(n);
  }
  if (fsync(fd) != 0) return FileError(errno, "write", path);
  return {};
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Status CreationError(int error_number, const std::string& doing, const std::string& path) {
  if (error_number != ENOENT) return FileError(error_number, doing, path);
  return FileProblem(StatusCode::kNotFound, doing, path,
                     "the directory " + QuotedPath(ParentOf(path)) + " does not exist");
}

namespace {

// A name in an opened directory. A system call by it reaches what was judged by it, although links
// in the path may lead to another place by now.
struct Place {
  FileDescriptor parent;  // opened with O_PATH
  std::string name;       // in `parent`, with the slashes at its end
  std::string path;       // both, as given
};

Result<Place> PlaceOf(const std::string& path, const std::string& doing) {
  const size_t last = path.find_last_not_of('/');  // of the name
  const size_t slash = last == std::string::npos ? last : path.find_last_of('/', last);
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (last == std::string::npos) name = ".";  // the path is "/"
  const std::string above = last == std::string::npos ? "/" : ParentOf(path.substr(0, last + 1));
  Place place{FileDescriptor(open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
              std::move(name), path};
  if (place.parent.get() >= 0) return place;
  if (errno != ENOENT) return FileError(errno, doing, path);
  return FileProblem(StatusCode::kNotFound, doing, path,
                     "the directory " + QuotedPath(above) + " does not exist");
}

// Makes a new or renamed name in the directory survive a power failure.
Status SyncParent(const Place& place) {
  const FileDescriptor fd(openat(place.parent.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a directory and return EINVAL.
  if (fd.get() < 0 || (fsync(fd.get()) != 0 && errno != EINVAL)) {
    return FileError(errno, "write", ParentOf(place.path));
  }
  return {};
}

// Returns the path of an opened file in this process.
std::string OpenedPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

class LocalFileSystem : public FileSystem, private DirectoryReader {
 public:
  explicit LocalFileSystem(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {}
  Result<std::vector<FileInfo>> List(const std::string& pattern) const override;
  Result<std::vector<std::string>> Names(const std::string& uri) const override;
  Result<FileInfo> Stat(const std::string& uri) const override;
  Result<std::unique_ptr<ReadableFile>> Open(const std::string& uri) const override;
  Result<std::vector<BlockLocation>> BlockLocations(const std::string& uri, int64_t offset,
                                                    int64_t length) const override;
  Status CreateExclusively(const std::string& uri, std::string_view content) const override;
  Status WriteAtomically(const std::string& uri, std::string_view content,
                         const std::string& writer) const override;
  Status Rename(const std::string& from, const std::string& to) const override;
  Status Exchange(const std::string& one, const std::string& other) const override;
  Status Delete(const std::string& uri) const override;
  Status MakeDirectory(const std::string& uri) const override;
  Status Restrict(const std::string& uri) const override;
  Status RemoveTree(const std::string& uri) const override;
  Status RemoveEmptyDirectory(const std::string& uri) const override;

 private:
  Result<FileInfo> Look(const std::string& path) const override;
  Result<std::vector<FileInfo>> Entries(const std::string& directory,
                                        const Wanted& wanted) const override;
  // Returns the path in `uri` unless it leads to a secret. With `whole`, also rejects a directory
  // that contains one.
  Result<std::string> Allowed(const std::string& uri, bool whole = false) const;
  // Does the same, and judges the name again in its opened directory. `doing` starts the error of a
  // missing directory.
  Result<Place> AllowedPlace(const std::string& uri, const std::string& doing,
                             bool whole = false) const;
  Result<std::vector<std::string>> NamesOf(const std::string& directory) const;

  const SecretFiles secrets_;
};

Status Refused(const std::string& path) {
  return FileProblem(StatusCode::kPermissionDenied, "use", path,
                     "it is a secret of this daemon, which no job may read or change");
}

Result<std::string> LocalFileSystem::Allowed(const std::string& uri, bool whole) const {
  ESPALIER_ASSIGN_OR_RETURN(std::string path, LocalPath(uri));
  if (secrets_.Has(path) || (whole && secrets_.AnyWithin(path))) return Refused(path);
  return path;
}

Result<Place> LocalFileSystem::AllowedPlace(const std::string& uri, const std::string& doing,
                                            bool whole) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, Allowed(uri, whole));
  ESPALIER_ASSIGN_OR_RETURN(Place place, PlaceOf(path, doing));
  const std::string opened = JoinPath(OpenedPath(place.parent.get()), place.name);
  if (secrets_.Has(opened) || (whole && secrets_.AnyWithin(opened))) return Refused(path);
  return place;
}

Result<std::vector<std::string>> LocalFileSystem::NamesOf(const std::string& directory) const {
  const FileDescriptor fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0 && secrets_.Has(OpenedPath(fd.get()))) return Refused(directory);
  std::vector<std::string> names;
  const int error = fd.get() < 0 ? errno : NamesIn(fd.get(), &names);
  if (error != 0) return FileError(error, "list", directory);
  return names;
}

Result<FileInfo> StatFile(const std::string& path) {
  struct stat s;
  if (stat(path.c_str(), &s) != 0) return FileError(errno, "look up", path);
  if (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode)) return InfoOf(s, path);
  return FileProblem(StatusCode::kFailedPrecondition, "look up", path,
                     "it is a device, a pipe or a socket; expected a file or a directory");
}

Result<FileInfo> LocalFileSystem::Look(const std::string& path) const {
  Result<FileInfo> found = StatFile(path);
  struct stat s;
  if (found.ok() || lstat(path.c_str(), &s) != 0) return found;
  // The name exists.
  const bool nowhere = found.status().code() == StatusCode::kNotFound && S_ISLNK(s.st_mode);
  if (nowhere) {
    return FileProblem(StatusCode::kInvalidArgument, "look up", path,
                       "it is a broken link; fix or remove it");
  }
  const bool unusable = found.status().code() == StatusCode::kFailedPrecondition;
  return unusable ? InvalidArgument(found.status().message()) : found.status();
}

Result<FileInfo> LocalFileSystem::Stat(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, Allowed(uri));
  return StatFile(path);
}

Result<std::vector<FileInfo>> LocalFileSystem::Entries(const std::string& directory,
                                                       const Wanted& wanted) const {
  ESPALIER_ASSIGN_OR_RETURN(const auto names, NamesOf(directory));
  std::vector<FileInfo> entries;
  for (const std::string& name : names) {
    if (!wanted(name)) continue;
    Result<FileInfo> info = Look(JoinPath(directory, name));
    // A name may vanish between the listing and the lookup.
    if (!info.ok() && info.status().code() == StatusCode::kNotFound) continue;
    if (!info.ok()) return info.status();
    entries.push_back(*std::move(info));
  }
  return entries;
}

Result<std::vector<FileInfo>> LocalFileSystem::List(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, Allowed(uri));
  return ListPattern(*this, path);
}

Result<std::vector<BlockLocation>> LocalFileSystem::BlockLocations(const std::string& uri,
                                                                   int64_t offset,
                                                                   int64_t length) const {
  ESPALIER_ASSIGN_OR_RETURN(const FileInfo info, Stat(uri));
  std::vector<BlockLocation> all;
  const int64_t end = std::min(info.length, offset + length);
  if (offset < end) all.push_back({offset, end - offset, {}});
  return all;
}

Result<std::unique_ptr<ReadableFile>> LocalFileSystem::Open(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, Allowed(uri));
  // O_NONBLOCK, because opening a named pipe would wait for its writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileError(errno, "open", path);
  struct stat s;
  if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) {
    const bool directory = S_ISDIR(s.st_mode);
    close(fd);
    if (directory) return FileError(EISDIR, "open", path);
    return FileProblem(StatusCode::kFailedPrecondition, "open", path, "it is not a regular file");
  }
  if (secrets_.HasOpened(fd)) {  // the path may have led to another file during the check
    close(fd);
    return Refused(path);
  }
  return std::unique_ptr<ReadableFile>(new LocalFile(fd, InfoOf(s, path)));
}

Status LocalFileSystem::CreateExclusively(const std::string& uri, std::string_view content) const {
  ESPALIER_ASSIGN_OR_RETURN(const Place place, AllowedPlace(uri, "create"));
  const int parent = place.parent.get();
  FileDescriptor fd(
      openat(parent, place.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd.get() < 0) return CreationError(errno, "create", place.path);
  if (Status written = WriteAndSync(fd.get(), content, place.path); !written.ok()) {
    unlinkat(parent, place.name.c_str(), 0);
    return written;
  }
  return SyncParent(place);
}

Status LocalFileSystem::WriteAtomically(const std::string& uri, std::string_view content,
                                        const std::string& writer) const {
  ESPALIER_ASSIGN_OR_RETURN(const Place place, AllowedPlace(uri, "write"));
  const int parent = place.parent.get();
  struct stat s;
  if (fstatat(parent, place.name.c_str(), &s, 0) == 0 && S_ISDIR(s.st_mode)) {
    return FileError(EISDIR, "write", place.path);
  }
  // The temporary name starts with a dot, so listings skip it.
  static std::atomic<uint64_t> counter{0};
  const std::string name = place.name.substr(0, place.name.find('/'));
  const std::string who = writer.empty() ? std::to_string(getpid()) : writer;
  std::string temporary;
  int made = -1;
  // A killed process leaves these names behind, and in containers all processes have the same
  // number.
  for (int i = 0; i < kTemporaryNames && made < 0; ++i) {
    temporary = "." + name + ".tmp-" + who + "-" + std::to_string(++counter);
    made = openat(parent, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (made < 0 && errno != EEXIST) break;
  }
  if (made < 0) return CreationError(errno, "write", place.path);
  Status done;
  {
    const FileDescriptor fd(made);
    done = WriteAndSync(fd.get(), content, place.path);
  }
  if (done.ok() && renameat(parent, temporary.c_str(), parent, place.name.c_str()) != 0) {
    done = FileError(errno, "write", place.path);
  }
  if (!done.ok()) {
    unlinkat(parent, temporary.c_str(), 0);
    return done;
  }
  return SyncParent(place);
}

Status LocalFileSystem::Rename(const std::string& from, const std::string& to) const {
  ESPALIER_ASSIGN_OR_RETURN(const Place source, AllowedPlace(from, "rename", true));
  const std::string doing = "rename '" + Printable(source.path, 1024) + "' to";
  ESPALIER_ASSIGN_OR_RETURN(const Place target, AllowedPlace(to, doing));
  const int above = source.parent.get(), below = target.parent.get();
  const char *old_name = source.name.c_str(), *new_name = target.name.c_str();
  if (renameat2(above, old_name, below, new_name, RENAME_NOREPLACE) != 0) {
    const int error = errno;
    if (error != EINVAL) return FileError(error, doing, target.path);
    // File systems without this flag: check first. That is sufficient for this program's own names.
    struct stat s;
    if (fstatat(below, new_name, &s, AT_SYMLINK_NOFOLLOW) == 0) {
      return FileError(EEXIST, "rename to", target.path);
    }
    if (renameat(above, old_name, below, new_name) != 0) {
      return FileError(errno, doing, target.path);
    }
  }
  return SyncParent(target);
}

Status LocalFileSystem::Exchange(const std::string& one, const std::string& other) const {
  ESPALIER_ASSIGN_OR_RETURN(const Place first, AllowedPlace(one, "swap", true));
  const std::string doing = "swap '" + Printable(first.path, 1024) + "' and";
  ESPALIER_ASSIGN_OR_RETURN(const Place second, AllowedPlace(other, doing, true));
  if (renameat2(first.parent.get(), first.name.c_str(), second.parent.get(), second.name.c_str(),
                RENAME_EXCHANGE) != 0) {
    const int error = errno;
    // The kernel's errors for a file system without this flag.
    if (error == EINVAL || error == ENOSYS) {
      return FileProblem(StatusCode::kUnimplemented, doing, second.path, std::strerror(error));
    }
    return FileError(error, doing, second.path);
  }
  ESPALIER_RETURN_IF_ERROR(SyncParent(first));
  return SyncParent(second);
}

Status LocalFileSystem::Delete(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const Place place, AllowedPlace(uri, "delete"));
  if (unlinkat(place.parent.get(), place.name.c_str(), 0) != 0) {
    return FileError(errno, "delete", place.path);
  }
  return {};
}

// Walks down through opened directories and makes the missing ones.
Status LocalFileSystem::MakeDirectory(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, Allowed(uri));
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  std::optional<FileDescriptor> at(open(path.starts_with('/') ? "/" : ".", kFlags));
  for (size_t begin = 0, end = 0; begin < path.size() && at->get() >= 0; begin = end + 1) {
    end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    if (name.empty()) continue;
    int next = openat(at->get(), name.c_str(), kFlags);
    if (next < 0 && errno == ENOENT) {
      const std::string missing = JoinPath(OpenedPath(at->get()), name);
      if (secrets_.Has(missing)) return Refused(path);
      const bool made = mkdir(missing.c_str(), 0777) == 0;
      const int error = errno;
      next = openat(at->get(), name.c_str(), kFlags);
      if (next < 0 && !made && errno == ENOENT) errno = error;
    }
    at.emplace(next);
  }
  if (at->get() < 0) return FileError(errno, "make the directory", path);
  return secrets_.Has(OpenedPath(at->get())) ? Refused(path) : Status();
}

Status LocalFileSystem::Restrict(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, Allowed(uri));
  const FileDescriptor opened(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (opened.get() >= 0 && secrets_.HasOpened(opened.get())) return Refused(path);
  if (opened.get() < 0 || chmod(OpenedPath(opened.get()).c_str(), 0700) != 0) {
    return FileError(errno, "restrict the access to", path);
  }
  return {};
}

Result<std::vector<std::string>> LocalFileSystem::Names(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, Allowed(uri));
  return NamesOf(path);
}

Status LocalFileSystem::RemoveTree(const std::string& uri) const {
  const Result<Place> place = AllowedPlace(uri, "delete", true);
  if (place.status().code() == StatusCode::kNotFound) return {};
  if (!place.ok()) return place.status();
  // With a slash at its end, the name of a link would mean the target of the link.
  const std::string name = place->name.substr(0, place->name.find('/'));
  if (name == "." || name == "..") {
    return InvalidArgument("refused to delete " + QuotedPath(place->path) +
                           " with all in it. Give the path of a directory by its name");
  }
  const TreeRemoval removal = RemoveTreeIn(place->parent.get(), name);
  if (removal.error_number == 0) return {};
  const size_t known = std::min(name.size(), removal.path.size());
  const std::string failed = place->path + removal.path.substr(known);
  if (removal.error_number != ESTALE) return FileError(removal.error_number, "delete", failed);
  return FileProblem(StatusCode::kUnavailable, "delete", failed,
                     "it was moved or replaced during the deletion");
}

Status LocalFileSystem::RemoveEmptyDirectory(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const Place place, AllowedPlace(uri, "delete"));
  if (unlinkat(place.parent.get(), place.name.c_str(), AT_REMOVEDIR) == 0) return {};
  const int error = errno;
  const bool full = error == ENOTEMPTY || error == EEXIST;
  if (!full && error != ENOTDIR) return FileError(error, "delete", place.path);
  return FileProblem(StatusCode::kFailedPrecondition, "delete", place.path,
                     full ? "it is a directory that is not empty" : "it is not a directory");
}

}  // namespace

std::unique_ptr<FileSystem> MakeLocalFileSystem(std::vector<std::string> secrets) {
  return std::make_unique<LocalFileSystem>(std::move(secrets));
}

}  // namespace espalier::storage
