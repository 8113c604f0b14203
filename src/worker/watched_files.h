// A file system that tells of every read and can be told to stop: how a survey shows progress
// within a large shard, and how reading ends soon after an abort. Readers read some hundred KiB at
// a time, so that both happen many times a second.
//
// Thread rule: safe from any thread, as is what it stands on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "src/storage/passing_files.h"

namespace espalier {

class WatchedFiles final : public PassingFiles {
 public:
  // `inner` must outlive this and its files. `before_read` is asked before each read from a file;
  // an error is the read's answer. `after_read` is told how many bytes came. Both are called on the
  // reading threads, concurrently.
  WatchedFiles(const FileSystem& inner, std::function<Status()> before_read,
               std::function<void(int64_t bytes)> after_read)
      : PassingFiles(inner), hooks_{std::move(before_read), std::move(after_read)} {}

  Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) const override;

  struct Hooks {
    std::function<Status()> before_read;
    std::function<void(int64_t)> after_read;
  };

 private:
  const Hooks hooks_;
};

}  // namespace espalier
