#include "src/worker/shard_cache.h"

#include <algorithm>
#include <utility>

namespace espalier::worker {
namespace {

// Returns the parts of a job on which decoding and the profiling pass depend. The rest concerns
// only training.
spec::JobSpec DecodingOf(const spec::JobSpec& job) {
  spec::JobSpec decoding;
  decoding.name.clear();
  decoding.data = job.data;
  decoding.model.task = job.model.task;
  decoding.model.precision = job.model.precision;
  decoding.train.seed = job.train.seed;  // seed of the selection of validation rows
  return decoding;
}

int64_t BytesOf(const KeptShard& shard) {
  const spec::ShardProfile& s = shard.profile;
  constexpr int64_t kEach = 64;  // overhead of a text in a map
  int64_t bytes = static_cast<int64_t>(sizeof(KeptShard)) + shard.rows.MemoryBytes();
  bytes += static_cast<int64_t>((s.features.size() + s.targets.size()) * sizeof(spec::ColumnStats));
  bytes += static_cast<int64_t>((s.sample.keys.size() + s.sample.values.size()) * 8);
  const auto add = [&bytes](const std::map<std::string, int64_t>& counts) {
    for (const auto& [text, count] : counts) bytes += kEach + static_cast<int64_t>(text.size());
  };
  add(s.labels);
  add(s.evaluation_labels);
  for (const auto& counts : s.categories) add(counts);
  for (const spec::ColumnEvidence& e : s.evidence) add(e.texts.counts);
  bytes += static_cast<int64_t>(24 * s.alike.hashes.size());
  bytes += static_cast<int64_t>((s.probe.keys.size() + s.probe.values.size()) * 8);
  bytes += static_cast<int64_t>((s.places.keys.size() + s.places.values.size()) * 8);
  return bytes;
}

}  // namespace

class ShardCache::Table {
 public:
  Table(spec::JobSpec decoding, std::shared_ptr<const spec::InputPlan> input)
      : decoding_(std::move(decoding)), input_(std::move(input)) {}

  bool OfFiles(const spec::InputPlan& input) const { return input_->files == input.files; }
  bool Serves(const spec::JobSpec& decoding, const spec::InputPlan& input) const {
    return decoding_ == decoding && OfFiles(input) && input_->shards == input.shards &&
           input_->schema == input.schema && input_->provisional == input.provisional;
  }

 private:
  friend class ShardCache;
  const spec::JobSpec decoding_;
  const std::shared_ptr<const spec::InputPlan> input_;
  std::map<int32_t, std::shared_ptr<const KeptShard>> shards_;
  int64_t bytes_ = 0;
  int64_t used_us_ = 0;
  bool given_up_ = false;  // the cache keeps no more shards in it
};

std::shared_ptr<ShardCache::Table> ShardCache::Use(const spec::JobSpec& job,
                                                   std::shared_ptr<const spec::InputPlan> input) {
  const spec::JobSpec decoding = DecodingOf(job);
  MutexLock lock(mutex_);
  std::erase_if(tables_, [&](const std::shared_ptr<Table>& table) REQUIRES(mutex_) {
    if (table.use_count() > 1 || table->OfFiles(*input)) return false;
    bytes_ -= table->bytes_;
    return true;
  });
  auto at = std::find_if(tables_.begin(), tables_.end(), [&](const std::shared_ptr<Table>& table) {
    return table->Serves(decoding, *input);
  });
  if (at == tables_.end()) {
    at = tables_.insert(at, std::make_shared<Table>(decoding, std::move(input)));
  }
  (*at)->used_us_ = now_us_();
  return *at;
}

std::shared_ptr<const KeptShard> ShardCache::Find(const Table& table, int32_t shard) const {
  MutexLock lock(mutex_);
  const auto at = table.shards_.find(shard);
  return at == table.shards_.end() ? nullptr : at->second;
}

std::shared_ptr<const KeptShard> ShardCache::Keep(Table& table, KeptShard& shard) {
  const int64_t bytes = BytesOf(shard);
  MutexLock lock(mutex_);
  if (table.given_up_ || bytes_ + bytes > options_.bytes_max) return nullptr;
  const auto [at, added] = table.shards_.try_emplace(shard.profile.shard);
  if (!added) return nullptr;
  at->second = std::make_shared<const KeptShard>(std::move(shard));
  table.bytes_ += bytes;
  bytes_ += bytes;
  table.used_us_ = now_us_();
  return at->second;
}

void ShardCache::Clear() {
  std::vector<std::shared_ptr<Table>> tables;  // freed after the lock is released
  std::vector<std::map<int32_t, std::shared_ptr<const KeptShard>>> shards;
  MutexLock lock(mutex_);
  tables.swap(tables_);
  for (const auto& table : tables) {
    shards.push_back(std::exchange(table->shards_, {}));
    table->given_up_ = true;
    table->bytes_ = 0;
  }
  bytes_ = 0;
}

void ShardCache::Expire() {
  MutexLock lock(mutex_);
  const int64_t now_us = now_us_();
  std::erase_if(tables_, [&](const std::shared_ptr<Table>& table) REQUIRES(mutex_) {
    if (table.use_count() > 1) {
      table->used_us_ = now_us;
      return false;
    }
    if (now_us - table->used_us_ < options_.idle_us_max) return false;
    bytes_ -= table->bytes_;
    return true;
  });
}

int64_t ShardCache::bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace espalier::worker
