// A file system that reports every read and can be stopped. With it, the profiling pass shows its
// progress within a large shard, and reading ends soon after an abort. Readers read some hundred
// KiB at a time, so both happen many times a second. After an abort, it creates no files either,
// because the code that removes a job's leftovers would miss them.
//
// Thread rule: safe from any thread, if the underlying file system is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "src/storage/passing_files.h"

namespace espalier::worker {

class WatchedFiles final : public storage::PassingFiles {
 public:
  // `inner` must outlive this object and its files. `may_go_on` is called before each read from a
  // file, and before a file or a directory is created. Its error becomes the result of the
  // operation. `after_read` receives the number of bytes read. Both are called on the calling
  // threads, concurrently.
  WatchedFiles(const storage::FileSystem& inner, std::function<Status()> may_go_on,
               std::function<void(int64_t bytes)> after_read)
      : storage::PassingFiles(inner), hooks_{std::move(may_go_on), std::move(after_read)} {}

  Result<std::unique_ptr<storage::ReadableFile>> Open(const std::string& path) const override;
  Status CreateExclusively(const std::string& path, std::string_view content) const override;
  using storage::FileSystem::WriteAtomically;
  Status WriteAtomically(const std::string& path, std::string_view content,
                         const std::string& writer) const override;
  Status MakeDirectory(const std::string& path) const override;

  struct Hooks {
    std::function<Status()> may_go_on;
    std::function<void(int64_t)> after_read;
  };

 private:
  const Hooks hooks_;
};

}  // namespace espalier::worker
