// Files of a frozen input. Thread rule: re-entrant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Opens a file of the plan. kDataLoss: its length or modification time differs from the listing.
Result<std::unique_ptr<storage::ReadableFile>> OpenUnchanged(const storage::FileSystem& files,
                                                             const spec::InputFile& file);

// Returns an error that names data.shard_bytes if a plan has more than 10,000,000 shards.
Status CheckShardCount(size_t shards, int64_t shard_bytes);

}  // namespace espalier::data
