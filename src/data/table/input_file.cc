#include "src/data/table/input_file.h"

#include <string>
#include <utility>

#include "src/base/text.h"

namespace espalier::data {

Status CheckShardCount(size_t shards, int64_t shard_bytes) {
  constexpr size_t kShardsMax = 10'000'000;
  if (shards <= kShardsMax) return {};
  return InvalidArgument("data.shard_bytes: " + std::to_string(shard_bytes) +
                         " bytes give more than " + std::to_string(kShardsMax) +
                         " shards. Choose larger ones");
}

Result<std::unique_ptr<storage::ReadableFile>> OpenUnchanged(const storage::FileSystem& files,
                                                             const spec::InputFile& file) {
  Result<std::unique_ptr<storage::ReadableFile>> found = files.Open(file.path);
  if (!found.ok()) return found.status().At({.file = file.path});
  auto opened = *std::move(found);
  const storage::FileInfo& info = opened->info();
  if (info.length == file.length && info.modified_ms == file.modified_ms) return opened;
  const std::string how = info.length != file.length
                              ? "it had " + std::to_string(file.length) + " bytes and now has " +
                                    std::to_string(info.length)
                              : "its modification time differs";
  return DataLoss(
             QuotedPath(file.path) + " is not as the coordinator listed it: " + how +
             ". Submit the job again when no process writes its input. If each host has a separate "
             "copy, put the input on a file system that all hosts share")
      .At({.file = file.path});
}

}  // namespace espalier::data
