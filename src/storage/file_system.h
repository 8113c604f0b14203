// Espalier's file interface: a small set of calls, the same for local disks and HDFS.
//
// Paths are URIs (uri.h). Paths of the local file system are absolute or relative to the process.
// Every error contains the path and one of these codes:
//   kNotFound           the name does not exist
//   kAlreadyExists      the name exists and must not exist
//   kPermissionDenied   the system refuses access
//   kFailedPrecondition the path is a directory (or is not one)
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
  int64_t modified_ms = 0;  // ms since 1970
  bool is_directory = false;
  // For a listed file: number of its innermost directories that its pattern does not spell out.
  int32_t found_below = 0;
};

// A part of a file and the hosts that store it on their own disks.
struct BlockLocation {
  int64_t offset = 0, length = 0;
  std::vector<std::string> hosts;  // names that the cluster uses; empty: no host in particular
};

// An open file. On a local disk it keeps its content even if the name is renamed or deleted. On
// HDFS it detects that a file was replaced by one of another length (kDataLoss).
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  // State of the file when it was opened.
  virtual const FileInfo& info() const = 0;
  // Reads out.size() bytes from `offset`, or fewer at the end of the file. Returns the number of
  // bytes.
  virtual Result<size_t> ReadAt(int64_t offset, std::span<char> out) const = 0;
  // A hint: one thread will read these bytes in order, in pieces of any size. A remote file then
  // requests them once. The reads are optional.
  virtual void WillRead(int64_t /*offset*/, int64_t /*length*/) const {}
  // Checks that the file can be read, by reading at most one byte from the device or the network
  // now.
  virtual Status CheckReadable() const {
    char byte = 0;
    return ReadAt(0, {&byte, 1}).status();
  }
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Lists the files that `pattern` specifies, sorted bytewise by path, at most kListedFilesMax:
  //   a file          itself, regardless of its name
  //   a directory     the files in it, and those below its directories `name=value`
  //   a glob          * ? [a-z] [!a-z] {one,two} within a path segment. A matching directory
  //                   means the files in it
  //
  // Matching and listing skip names that start with `_` or `.` and names that end in `._COPYING_`,
  // but not the directories `_name=value`. Without a match, a glob or a directory returns an empty
  // list and a plain path returns kNotFound. All other names count: kInvalidArgument if a directory
  // with another name is among the files, or if a name is unusable (a broken link, a pipe).
  virtual Result<std::vector<FileInfo>> List(const std::string& pattern) const = 0;

  // Returns all names in a directory, including hidden ones, sorted bytewise. kNotFound, or
  // kFailedPrecondition if it is not a directory.
  virtual Result<std::vector<std::string>> Names(const std::string& directory) const = 0;

  virtual Result<FileInfo> Stat(const std::string& path) const = 0;
  virtual Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) const = 0;

  // Returns the locations of the bytes from `offset` on, in order of offset. They are a hint for
  // the placement of work.
  virtual Result<std::vector<BlockLocation>> BlockLocations(const std::string& path, int64_t offset,
                                                            int64_t length) const = 0;

  // Creates a file that must not exist. Of several callers with different contents, exactly one
  // succeeds. A network can lose an answer, and the content then shows which caller created the
  // file. Therefore include a name of the caller in the content. Readers may see the content while
  // it is being written.
  virtual Status CreateExclusively(const std::string& path, std::string_view content) const = 0;
  // Creates or replaces a file. A reader sees either the old or the new content, never a part, even
  // after a power failure. Never replaces a directory. The bytes are first written under a hidden
  // name in the same directory. That name contains `writer`, which identifies this writer among all
  // others, for example "g3-m1". Empty: the file system's own name.
  virtual Status WriteAtomically(const std::string& path, std::string_view content,
                                 const std::string& writer) const = 0;
  Status WriteAtomically(const std::string& path, std::string_view content) const {
    return WriteAtomically(path, content, {});
  }

  // Renames a file or a directory; `to` must not exist.
  virtual Status Rename(const std::string& from, const std::string& to) const = 0;
  // Swaps two directories or files in one atomic step. Returns kNotFound if either does not exist,
  // and kUnimplemented if the file system does not support it (HDFS, NFS).
  virtual Status Exchange(const std::string& one, const std::string& other) const = 0;
  virtual Status Delete(const std::string& path) const = 0;
  // Creates a directory and its parents. An existing directory is not an error.
  virtual Status MakeDirectory(const std::string& path) const = 0;
  // Restricts access to the owner (mode 700).
  virtual Status Restrict(const std::string& path) const = 0;
  // Deletes a file, or a directory with its contents. A missing path is not an error. Never deletes
  // `/`.
  virtual Status RemoveTree(const std::string& path) const = 0;
  // Deletes a directory without entries. An entry that another writer adds at any time is never
  // deleted. kFailedPrecondition: it has entries, or it is not a directory.
  virtual Status RemoveEmptyDirectory(const std::string& path) const = 0;

  // Reads a whole file. Returns kResourceExhausted if it is longer than `bytes_max`.
  Result<std::string> ReadAll(const std::string& path, int64_t bytes_max) const;
};

inline constexpr size_t kListedFilesMax = 1'000'000;

// Returns "cannot DOING 'PATH': WHY", the form of every error in this room.
Status FileProblem(StatusCode code, const std::string& doing, const std::string& path,
                   const std::string& why);

// Returns a file system that passes each path to the file system of its scheme, which is created on
// first use. Equals MakeFileSystem(StorageOptions) of file_systems.h with default options: no
// Hadoop configuration and no user name.
std::unique_ptr<FileSystem> MakeFileSystem();

// Does the same after it has checked the scheme of `uri` (kInvalidArgument).
Result<std::unique_ptr<FileSystem>> FileSystemFor(const std::string& uri);

}  // namespace espalier::storage
