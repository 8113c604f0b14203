// Our own file interface: the few calls that we make, the same for local disks and HDFS.
//
// Paths are URIs (uri.h); those of the local file system are absolute or relative to the process.
// Every error names the path and says which of these happened:
//   kNotFound           there is nothing of that name
//   kAlreadyExists      there is something of that name, and there must not be
//   kPermissionDenied   the system refuses
//   kFailedPrecondition it is a directory (or is not one)
//   kResourceExhausted  disk, quota or open files are used up
//   kInvalidArgument    the path or the pattern itself is wrong
//   kUnavailable        any other failure of the device or the network
//
// Thread rule: all calls are const and safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::storage {

struct FileInfo {
  std::string path;
  int64_t length = 0;       // bytes; 0 for a directory
  int64_t modified_ms = 0;  // since 1970
  bool is_directory = false;
  // Of a listed file: how many of the directories it lies in, the last ones, its pattern does not
  // spell out.
  int32_t found_below = 0;
};

// A part of a file and the hosts that have it on their own disks.
struct BlockLocation {
  int64_t offset = 0, length = 0;
  std::vector<std::string> hosts;  // names as the cluster knows them; empty: no one in particular
};

// An open file. On a local disk it keeps its content's place even when the name is renamed or
// deleted; on HDFS a file that was replaced by one of another length is noticed (kDataLoss).
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  // As it was when the file was opened.
  virtual const FileInfo& info() const = 0;
  // Reads out.size() bytes from `offset`; fewer only where the file ends. Returns how many.
  virtual Result<size_t> ReadAt(int64_t offset, std::span<char> out) const = 0;
  // A hint: these bytes will be read in order, in pieces of any size, by one thread. A file that is
  // far away then asks for them once. Nothing need follow.
  virtual void WillRead(int64_t /*offset*/, int64_t /*length*/) const {}
  // Whether it may be read and can be: asks the device or the network now, for a byte at most.
  virtual Status CheckReadable() const {
    char byte = 0;
    return ReadAt(0, {&byte, 1}).status();
  }
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // The files that `pattern` names, bytewise sorted by path, at most kListedFilesMax:
  //   a file          itself, whatever its name
  //   a directory     the files in it, and those below its directories `name=value`, and
  //   a glob          * ? [a-z] [!a-z] {one,two} within a path segment; a directory that matches
  //                   stands for the files in it.
  // Where names are matched or listed, those that start with `_` or `.` and those that end in
  // `._COPYING_` are left out (but not the directories `_name=value`). Nothing matches: an empty
  // list for a glob or a directory; kNotFound for a plain path. Nothing else is left out: a
  // directory of another name among the files, and a name that cannot be looked at (a link that
  // leads nowhere, a pipe), are kInvalidArgument.
  virtual Result<std::vector<FileInfo>> List(const std::string& pattern) const = 0;

  // The names of all that a directory holds, hidden ones too, bytewise sorted. kNotFound, or
  // kFailedPrecondition when it is no directory.
  virtual Result<std::vector<std::string>> Names(const std::string& directory) const = 0;

  virtual Result<FileInfo> Stat(const std::string& path) const = 0;
  virtual Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) const = 0;

  // Where the bytes from `offset` on are; a hint, for the placement of work. In order of offset.
  virtual Result<std::vector<BlockLocation>> BlockLocations(const std::string& path, int64_t offset,
                                                            int64_t length) const = 0;

  // Makes a file that must not exist: of several callers one succeeds, if their contents differ
  // (over a network an answer can be lost; whether the file is ours is then read from its content:
  // put a name of the caller's own in it). The content may be seen while it is being written.
  virtual Status CreateExclusively(const std::string& path, std::string_view content) const = 0;
  // Makes or replaces a file; a reader sees the old content or the new, never a part, also after a
  // power cut. Never onto a directory. The bytes are first written under a hidden name beside it
  // that carries `writer`: what tells this writer from all others, "g3-m1" say; empty: the file
  // system's own.
  virtual Status WriteAtomically(const std::string& path, std::string_view content,
                                 const std::string& writer) const = 0;
  Status WriteAtomically(const std::string& path, std::string_view content) const {
    return WriteAtomically(path, content, {});
  }

  // Renames a file or a directory; `to` must not exist.
  virtual Status Rename(const std::string& from, const std::string& to) const = 0;
  // Swaps two directories or files in one atomic step. kNotFound if either does not exist,
  // kUnimplemented if the file system has no such call (HDFS, NFS).
  virtual Status Exchange(const std::string& one, const std::string& other) const = 0;
  // Deletes a file.
  virtual Status Delete(const std::string& path) const = 0;
  // Makes a directory and those above it; one that exists is fine.
  virtual Status MakeDirectory(const std::string& path) const = 0;
  // Lets nobody but its owner use what is there (mode 700).
  virtual Status Restrict(const std::string& path) const = 0;
  // Deletes a directory with all in it, or a file; nothing there is fine. Never `/`.
  virtual Status RemoveTree(const std::string& path) const = 0;

  // A whole file of at most `bytes_max` bytes; a longer one is kResourceExhausted.
  Result<std::string> ReadAll(const std::string& path, int64_t bytes_max) const;
};

inline constexpr size_t kListedFilesMax = 1'000'000;

// "cannot DOING 'PATH': WHY", the form of every error of this room.
Status FileProblem(StatusCode code, const std::string& doing, const std::string& path,
                   const std::string& why);

// Sends each path to the file system of its scheme, made when it is first used; as
// MakeFileSystem(StorageOptions) of file_systems.h with nothing set: no Hadoop configuration, no
// user's name.
std::unique_ptr<FileSystem> MakeFileSystem();

// The same, after a look at the scheme of `uri` (kInvalidArgument).
Result<std::unique_ptr<FileSystem>> FileSystemFor(const std::string& uri);

}  // namespace espalier::storage
