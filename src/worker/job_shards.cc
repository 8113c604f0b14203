#include "src/worker/job_shards.h"

#include <utility>

#include "src/data/profile/make_shard_reader.h"
#include "src/data/table/input_file.h"
#include "src/data/table/sparse_record.h"

namespace espalier::worker {
namespace {

// Estimated upper bound of a shard's decoded size, as a multiple of its size in the file.
constexpr int64_t kGrowth = 8;
constexpr int64_t kStoreSlackBytes = 4 << 20;

// Returns an upper bound of the size of a store of these rows, in bytes.
int64_t StoreBytes(const spec::InputPlan& input, const spec::TableProfile& profile,
                   const data::RowRanges& ranges) {
  const int64_t element = data::ElementBytes(profile.storage);
  const auto features = static_cast<int64_t>(input.schema.features.size());
  const int64_t beside =
      8 * static_cast<int64_t>(input.schema.label.size()) + 8 + 4;  // targets, weight, class
  int64_t rows = 0;
  for (const plan::Range& range : ranges) rows += range.size();
  if (!profile.sparse) return rows * (features * element + beside) + kStoreSlackBytes;
  int64_t nonzeros = 0;  // sum over all rows of these shards
  for (const int32_t shard : data::ShardsOf(profile, ranges)) {
    nonzeros += profile.shards[static_cast<size_t>(shard)].nonzeros;
  }
  const int64_t records = nonzeros * (static_cast<int64_t>(sizeof(int32_t)) + element) +
                          rows * data::SparseRecordBytes(1, profile.storage);
  return rows * (static_cast<int64_t>(sizeof(uint8_t*)) + beside) + records + records / 8 +
         kStoreSlackBytes;
}

}  // namespace

JobShards::JobShards(ShardCache* cache, std::shared_ptr<ShardCache::Table> table,
                     const spec::JobSpec& job, std::shared_ptr<const spec::InputPlan> input,
                     std::shared_ptr<data::MemoryBudget> room)
    : cache_(cache),
      job_(job),
      input_(std::move(input)),
      room_(std::move(room)),
      table_(std::move(table)) {}

void JobShards::NoteParsed(int32_t shard) {
  MutexLock lock(mutex_);
  ++parsed_;
  own_.insert(shard);
}

Status JobShards::TakeOver(const storage::FileSystem& files, int32_t shard) {
  const int32_t file = FileOf(shard);
  {
    MutexLock lock(mutex_);
    if (own_.contains(shard)) return {};
    taken_.insert(shard);
    if (checked_.contains(file)) return {};
  }
  ESPALIER_ASSIGN_OR_RETURN(const auto open,
                            data::OpenUnchanged(files, input_->files[static_cast<size_t>(file)]));
  ESPALIER_RETURN_IF_ERROR(open->CheckReadable());
  MutexLock lock(mutex_);
  checked_.insert(file);
  return {};
}

Result<KeptShard> JobShards::Read(const storage::FileSystem& files, int32_t shard) {
  const auto reader = data::MakeShardReader({files, *input_, job_}, {.room = room_.get()});
  ESPALIER_ASSIGN_OR_RETURN(data::ProfiledShard read, data::ProfileShard(*reader, shard));
  NoteParsed(shard);
  return KeptShard{room_, std::move(read.profile), std::move(read.rows)};
}

Result<data::ProfiledShard> JobShards::Profile(const storage::FileSystem& files, int32_t shard) {
  data::ProfiledShard profiled;
  profiled.has_rows = false;
  if (const auto kept = Kept(shard)) {
    ESPALIER_RETURN_IF_ERROR(TakeOver(files, shard));
    profiled.profile = kept->profile;
    return profiled;
  }
  ESPALIER_ASSIGN_OR_RETURN(KeptShard read, Read(files, shard));
  if (table_ && !read.rows.spilled()) {
    if (const auto kept = cache_->Keep(*table_, read)) {
      profiled.profile = kept->profile;
      return profiled;
    }
  }
  return data::ProfiledShard{std::move(read.profile), true, std::move(read.rows)};
}

std::shared_ptr<const KeptShard> JobShards::Kept(int32_t shard) const {
  return table_ ? cache_->Find(*table_, shard) : nullptr;
}

Result<std::shared_ptr<const KeptShard>> JobShards::Take(const storage::FileSystem& files,
                                                         int32_t shard) {
  std::shared_ptr<const KeptShard> kept;
  const spec::Shard& range = input_->shards[static_cast<size_t>(shard)];
  if (!table_ || !grows_ || cache_->room() / kGrowth < range.end - range.begin) {
    NoteParsed(shard);
    return kept;
  }
  ESPALIER_ASSIGN_OR_RETURN(KeptShard read, Read(files, shard));
  if (!read.rows.spilled()) kept = cache_->Keep(*table_, read);
  if (!kept) kept = std::make_shared<const KeptShard>(std::move(read));
  return kept;
}

bool JobShards::FitsBeside(const spec::TableProfile& profile, const data::RowRanges& ranges,
                           int64_t memory_bytes) {
  if (!table_) return true;
  const int64_t left = memory_bytes - StoreBytes(*input_, profile, ranges);
  grows_ = left >= kept_bytes_max();
  return left >= cache_->bytes();
}

int64_t JobShards::parsed() const {
  MutexLock lock(mutex_);
  return parsed_;
}

int64_t JobShards::taken() const {
  MutexLock lock(mutex_);
  return static_cast<int64_t>(taken_.size());
}

void JobShards::GiveUp() {
  if (cache_ != nullptr) cache_->Clear();
}

}  // namespace espalier::worker
