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

// Makes a new or renamed name in `path`'s directory survive a power failure.
Status SyncParent(const std::string& path) {
  const std::string parent = ParentOf(path);
  FileDescriptor fd(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a directory and return EINVAL.
  if (fd.get() < 0 || (fsync(fd.get()) != 0 && errno != EINVAL)) {
    return FileError(errno, "write", parent);
  }
  return {};
}

Result<std::vector<std::string>> NamesOf(const std::string& directory) {
  const FileDescriptor fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::string> names;
  const int error = fd.get() < 0 ? errno : NamesIn(fd.get(), &names);
  if (error != 0) return FileError(error, "list", directory);
  return names;
}

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

 private:
  Result<FileInfo> Look(const std::string& path) const override;
  Result<std::vector<FileInfo>> Entries(const std::string& directory,
                                        const Wanted& wanted) const override;
  // Returns the path in `uri` unless it leads to a secret. With `whole`, also rejects a directory
  // that contains one.
  Result<std::string> Allowed(const std::string& uri, bool whole = false) const;

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
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, Allowed(uri));
  FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd.get() < 0) return CreationError(errno, "create", path);
  if (Status written = WriteAndSync(fd.get(), content, path); !written.ok()) {
    unlink(path.c_str());
    return written;
  }
  return SyncParent(path);
}

Status LocalFileSystem::WriteAtomically(const std::string& uri, std::string_view content,
                                        const std::string& writer) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, Allowed(uri));
  struct stat s;
  if (stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode)) return FileError(EISDIR, "write", path);
  // The temporary name starts with a dot, so listings skip it.
  static std::atomic<uint64_t> counter{0};
  const size_t slash = path.find_last_of('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::string who = writer.empty() ? std::to_string(getpid()) : writer;
  std::string temporary;
  int made = -1;
  // A killed process leaves these names behind, and in containers all processes have the same
  // number.
  for (int i = 0; i < kTemporaryNames && made < 0; ++i) {
    temporary =
        JoinPath(ParentOf(path), "." + name + ".tmp-" + who + "-" + std::to_string(++counter));
    made = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (made < 0 && errno != EEXIST) break;
  }
  if (made < 0) return CreationError(errno, "write", path);
  Status done;
  {
    const FileDescriptor fd(made);
    done = WriteAndSync(fd.get(), content, path);
  }
  if (done.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    done = FileError(errno, "write", path);
  }
  if (!done.ok()) {
    unlink(temporary.c_str());
    return done;
  }
  return SyncParent(path);
}

Status LocalFileSystem::Rename(const std::string& from, const std::string& to) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string source, Allowed(from, true));
  ESPALIER_ASSIGN_OR_RETURN(const std::string target, Allowed(to));
  if (renameat2(AT_FDCWD, source.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) != 0) {
    const int error = errno;
    if (error != EINVAL) {
      return FileError(error, "rename '" + Printable(source, 1024) + "' to", target);
    }
    // File systems without this flag: check first. That is sufficient for this program's own names.
    struct stat s;
    if (lstat(target.c_str(), &s) == 0) return FileError(EEXIST, "rename to", target);
    if (rename(source.c_str(), target.c_str()) != 0) {
      return FileError(errno, "rename '" + Printable(source, 1024) + "' to", target);
    }
  }
  return SyncParent(target);
}

Status LocalFileSystem::Exchange(const std::string& one, const std::string& other) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string first, Allowed(one, true));
  ESPALIER_ASSIGN_OR_RETURN(const std::string second, Allowed(other, true));
  if (renameat2(AT_FDCWD, first.c_str(), AT_FDCWD, second.c_str(), RENAME_EXCHANGE) != 0) {
    const int error = errno;
    const std::string doing = "swap '" + Printable(first, 1024) + "' and";
    // The kernel's errors for a file system without this flag.
    if (error == EINVAL || error == ENOSYS) {
      return FileProblem(StatusCode::kUnimplemented, doing, second, std::strerror(error));
    }
    return FileError(error, doing, second);
  }
  ESPALIER_RETURN_IF_ERROR(SyncParent(first));
  return SyncParent(second);
}

Status LocalFileSystem::Delete(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, Allowed(uri));
  if (unlink(path.c_str()) != 0) return FileError(errno, "delete", path);
  return {};
}

Status LocalFileSystem::MakeDirectory(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, Allowed(uri));
  for (size_t end = 1; end <= path.size(); ++end) {
    if (end != path.size() && path[end] != '/') continue;
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0777) == 0) continue;
    const int error = errno;
    struct stat s;
    if (stat(part.c_str(), &s) != 0) return FileError(error, "make the directory", path);
    if (!S_ISDIR(s.st_mode)) return FileError(ENOTDIR, "make the directory", path);
  }
  return {};
}

Status LocalFileSystem::Restrict(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, Allowed(uri));
  if (chmod(path.c_str(), 0700) != 0) return FileError(errno, "restrict the access to", path);
  return {};
}

Result<std::vector<std::string>> LocalFileSystem::Names(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, Allowed(uri));
  return NamesOf(path);
}

Status LocalFileSystem::RemoveTree(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(std::string path, Allowed(uri, true));
  // With a slash at its end, the name of a link would mean the target of the link.
  while (path.ends_with('/')) path.pop_back();
  const std::string name = path.substr(path.find_last_of('/') + 1);
  if (name.empty() || name == "." || name == "..") {
    return InvalidArgument("refused to delete " + QuotedPath(uri) +
                           " with all in it; give the path of a directory by its name");
  }
  const FileDescriptor parent(open(ParentOf(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() < 0) return errno == ENOENT ? Status() : FileError(errno, "delete", path);
  // The path may have led to another place during the check.
  const std::string opened = "/proc/self/fd/" + std::to_string(parent.get()) + "/" + name;
  if (secrets_.Has(opened) || secrets_.AnyWithin(opened)) return Refused(path);
  const TreeRemoval removal = RemoveTreeIn(parent.get(), name);
  if (removal.error_number == 0) return {};
  const std::string failed = JoinPath(ParentOf(path), removal.path);
  if (removal.error_number != ESTALE) return FileError(removal.error_number, "delete", failed);
  return FileProblem(StatusCode::kUnavailable, "delete", failed,
                     "it was moved or replaced during the deletion");
}

}  // namespace

std::unique_ptr<FileSystem> MakeLocalFileSystem(std::vector<std::string> secrets) {
  return std::make_unique<LocalFileSystem>(std::move(secrets));
}

}  // namespace espalier::storage
