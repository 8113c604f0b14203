#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/text.h"
#include "src/data/features/sparse_choice.h"
#include "src/data/profile/make_shard_reader.h"
#include "src/data/profile/row_store.h"
#include "src/data/table/pack_sparse.h"

namespace espalier::data {
namespace {

// Number of rows whose records are copied at a time. It is small, so that little space is left
// unused at the end of a slab.
constexpr int64_t kRecordRows = 128;
// Limits for the size of a slab, which is the number of bytes still expected. If more records come,
// each slab is larger than the one before. Slabs, and files in the spill directory, therefore
// remain few.
constexpr int64_t kSlabBytesMin = 256 << 10, kSlabBytesMax = 1 << 30;

int64_t Aligned(int64_t bytes) {
  constexpr int64_t kMask = static_cast<int64_t>(kBufferAlignment) - 1;
  return (bytes + kMask) & ~kMask;
}

int64_t RowsOf(const spec::ShardProfile& s, size_t set) {
  return set == 0 ? s.train_rows : set == 1 ? s.validation_rows : s.test_rows;
}

// Returns the part of `range` within [first, first + count).
plan::Range Common(plan::Range range, int64_t first, int64_t count) {
  const int64_t begin = std::max(range.begin, first);
  return {begin, std::max(begin, std::min(range.end, first + count))};
}

}  // namespace

std::vector<int32_t> ShardsOf(const spec::TableProfile& profile, const RowRanges& ranges) {
  std::vector<int32_t> shards;
  std::array<int64_t, kSets> next{};
  for (const spec::ShardProfile& s : profile.shards) {
    bool has = false;
    for (size_t set = 0; set < kSets; ++set) {
      has = has || Common(ranges[set], next[set], RowsOf(s, set)).size() > 0;
      next[set] += RowsOf(s, set);
    }
    if (has) shards.push_back(s.shard);
  }
  return shards;
}

// For sparse rows, returns the bytes of the pointers to their records.
int64_t RowLoader::FeatureBytesOf(plan::Range range) const {
  return range.size() * (store_->sparse_
                             ? static_cast<int64_t>(sizeof(uint8_t*))
                             : store_->encoder_.features() * ElementBytes(store_->storage_));
}

int64_t RowLoader::BytesOf(plan::Range range) const {
  const int64_t n = range.size();
  return Aligned(FeatureBytesOf(range)) +
         Aligned(n * store_->targets_ * static_cast<int64_t>(sizeof(double))) +
         (has_weights_ ? Aligned(n * static_cast<int64_t>(sizeof(double))) : 0) +
         (classification_ ? Aligned(n * static_cast<int64_t>(sizeof(int32_t))) : 0);
}

void RowLoader::SetUp(const RowRanges& ranges) {
  store_ = std::make_unique<RowStore>();
  classification_ = table_.job.model.task == spec::Task::kClassification;
  has_weights_ = table_.plan.schema.weight >= 0;
  store_->encoder_ = FeatureEncoder(profile_.preprocessing);
  store_->targets_ = classification_ ? 0 : static_cast<int64_t>(table_.plan.schema.label.size());
  store_->storage_ = profile_.storage;
  store_->sparse_ = profile_.sparse;
  if (profile_.sparse) store_->encoder_.PrepareSparse();
  store_->fitted_targets_ = profile_.preprocessing.targets;
  vocabularies_ = Vocabularies(profile_.preprocessing);
  classes_ = ClassIndex(profile_.preprocessing.classes);
  std::array<int64_t, kSets> next{};
  for (const spec::ShardProfile& s : profile_.shards) {
    first_rows_.push_back(next);
    for (size_t set = 0; set < kSets; ++set) next[set] += RowsOf(s, set);
  }
  shards_ = ShardsOf(profile_, ranges);
  for (size_t set = 0; set < kSets; ++set) store_->sets_[set].range = ranges[set];
}

Status RowLoader::TooLittle(int64_t bytes) const {
  const int64_t left = options_.spill_bytes_max - store_->spill_bytes_;
  return ResourceExhausted(
      "the rows of this worker need " + HumanBytes(bytes) + " more; its memory budget is " +
      HumanBytes(options_.memory_bytes_max) + " and its spill " +
      (options_.spill_directory.empty()
           ? std::string("is not set up")
           : "has " + HumanBytes(std::max<int64_t>(left, 0)) + " of its limit left") +
      ". Raise one of them or add workers");
}

Result<std::unique_ptr<Region>> RowLoader::TakeRoom(int64_t least, int64_t wish) {
  const int64_t memory = options_.memory_bytes_max - store_->memory_bytes_;
  const int64_t spill =
      options_.spill_directory.empty() ? 0 : options_.spill_bytes_max - store_->spill_bytes_;
  const bool in_memory = least <= memory;
  if (!in_memory && least > spill) return TooLittle(least);
  const int64_t bytes = std::min(wish, in_memory ? memory : spill);
  ESPALIER_ASSIGN_OR_RETURN(auto region, in_memory
                                             ? Region::InMemory(bytes)
                                             : Region::InSpill(options_.spill_directory, bytes));
  (in_memory ? store_->memory_bytes_ : store_->spill_bytes_) += bytes;
  return region;
}

Status RowLoader::Reserve() {
  for (RowStore::Set& set : store_->sets_) {
    const int64_t bytes = BytesOf(set.range);
    ESPALIER_ASSIGN_OR_RETURN(set.region, TakeRoom(bytes, bytes));
    const int64_t n = set.range.size();
    char* at = set.region->data();
    const auto take = [&at](int64_t size) {
      char* taken = at;
      at += Aligned(size);
      return taken;
    };
    char* const features = take(FeatureBytesOf(set.range));
    if (store_->sparse_) {
      set.records = reinterpret_cast<const uint8_t**>(features);
    } else {
      set.features = features;
    }
    set.targets = reinterpret_cast<double*>(take(n * store_->targets_ * 8));
    if (has_weights_) set.weights = reinterpret_cast<double*>(take(n * 8));
    if (classification_) set.labels = reinterpret_cast<int32_t*>(take(n * 4));
  }
  // Reading gets the memory that the records will not take.
  int64_t memory = std::max<int64_t>(options_.memory_bytes_max - store_->memory_bytes_, 0);
  int64_t spill = options_.spill_directory.empty()
                      ? 0
                      : std::max<int64_t>(options_.spill_bytes_max - store_->spill_bytes_, 0);
  if (store_->sparse_) {
    MutexLock lock(mutex_);
    records_expected_ = RecordBytes();
    const int64_t in_memory = std::min(records_expected_, memory);
    if (records_expected_ - in_memory > spill) return TooLittle(records_expected_);
    memory -= in_memory;
    spill -= records_expected_ - in_memory;
  }
  room_ = std::make_unique<MemoryBudget>(memory, options_.spill_directory, spill);
  reader_ = MakeShardReader(table_, {.room = room_.get()});
  return {};
}

Result<std::unique_ptr<RowLoader>> RowLoader::Make(const TableSource& table,
                                                   const spec::TableProfile& profile,
                                                   const RowRanges& ranges,
                                                   const RowStoreOptions& options) {
  const spec::InputPlan& plan = table.plan;
  const spec::JobSpec& job = table.job;
  const int64_t totals[kSets] = {profile.train_rows, profile.validation_rows, profile.test_rows};
  bool fits = profile.shards.size() == plan.shards.size() &&
              profile.preprocessing.features.size() == plan.schema.features.size();
  for (size_t set = 0; set < kSets; ++set) {
    const plan::Range& r = ranges[set];
    fits = fits && r.begin >= 0 && r.begin <= r.end && r.end <= totals[set];
  }
  for (size_t i = 0; fits && i < profile.shards.size(); ++i) {
    fits = profile.shards[i].shard == static_cast<int32_t>(i);
  }
  if (job.model.task == spec::Task::kRegression || job.model.task == spec::Task::kMultilabel) {
    fits = fits && profile.preprocessing.targets.size() == plan.schema.label.size();
  }
  fits = fits && (!profile.sparse || CanBeSparse(job, profile.preprocessing));
  if (!fits)
    return Internal("the profiling pass, the plan and the rows to load do not fit each other");
  std::unique_ptr<RowLoader> loader(new RowLoader(table, profile, options));
  loader->SetUp(ranges);
  ESPALIER_RETURN_IF_ERROR(loader->Reserve());
  return loader;
}

Status RowLoader::Changed(int32_t shard) const {
  const spec::Shard& s = table_.plan.shards[shard];
  return DataLoss("bytes " + std::to_string(s.begin) + " to " + std::to_string(s.end) + " of " +
                  QuotedPath(table_.plan.files[s.file].path) +
                  " are not what the profiling pass read (checksums differ); the file changed or "
                  "the disk "
                  "failed: submit the job again when its input no longer changes")
      .At({.file = table_.plan.files[s.file].path, .offset = s.begin});
}

Status RowLoader::Check(int32_t shard, uint32_t checksum, const Read& read) const {
  const spec::ShardProfile& profiled = profile_.shards[shard];
  bool same = checksum == profiled.checksum;
  for (size_t set = 0; set < kSets; ++set) same = same && read.rows[set] == RowsOf(profiled, set);
  return same ? Status() : Changed(shard);
}

void RowLoader::LearnTexts(const ShardTexts& texts, Read* read) const {
  const std::vector<std::string>& labels = texts.labels.texts();
  for (size_t i = read->classes.size(); classification_ && i < labels.size(); ++i) {
    read->classes.push_back(classes_.Of(labels[i]));
  }
  vocabularies_.Extend(texts.categories, &read->codes);
}

// Replaces a shard's code by that of the job. False: the shard does not have the code.
template <typename T>
bool ReplaceCode(const std::vector<int32_t>& codes, T* code) {
  if (!(*code >= 0 && static_cast<size_t>(*code) < codes.size())) return false;
  *code = static_cast<T>(codes[static_cast<size_t>(*code)]);
  return true;
}

template <typename T>
bool RowLoader::Recode(const Read& read, int64_t rows, T* features) const {
  const int64_t width = store_->encoder_.features();
  for (size_t v = 0; v < vocabularies_.features().size(); ++v) {
    const std::vector<int32_t>& codes = read.codes[v];
    for (int64_t i = 0; i < rows; ++i) {
      if (!ReplaceCode(codes, features + i * width + vocabularies_.features()[v])) return false;
    }
  }
  return true;
}

bool RowLoader::RecodeRecord(const Read& read, uint8_t* record) const {
  const SparseRecord row = ReadSparse(record);
  uint8_t* const values = record + (row.values - record);
  return WithStorage(store_->storage_, [&](auto number) {
    auto* const numbers = reinterpret_cast<decltype(number)*>(values);
    auto at = row.features.begin();
    for (size_t v = 0; v < vocabularies_.features().size(); ++v) {
      const int64_t feature = vocabularies_.features()[v];
      at = std::lower_bound(at, row.features.end(), feature);
      if (at == row.features.end() || *at != feature) return false;
      if (!ReplaceCode(read.codes[v], numbers + (at - row.features.begin()))) return false;
    }
    return true;
  });
}

bool RowLoader::CopyDense(const Read& read, size_t set, const DecodedRows& rows, int64_t source,
                          int64_t count, int64_t target) {
  const spec::StorageType type = store_->storage_;
  const int64_t width = store_->encoder_.features();
  const int64_t row_bytes = width * ElementBytes(type);
  char* const features = store_->sets_[set].features + target * row_bytes;
  if (rows.sparse) {
    std::vector<double> scratch(static_cast<size_t>(width));
    for (int64_t i = 0; i < count; ++i) {
      rows.Expand(source + i, width, scratch.data());
      Widen(rows.type, scratch.data(), type, features + i * row_bytes, width);
    }
  } else {
    Widen(rows.type, rows.features.data() + source * width * ElementBytes(rows.type), type,
          features, count * width);
  }
  return WithStorage(type, [&](auto number) {
    return Recode(read, count, reinterpret_cast<decltype(number)*>(features));
  });
}

int64_t RowLoader::RecordBytes() const {
  const int64_t entry_bytes =
      static_cast<int64_t>(sizeof(int32_t)) + ElementBytes(store_->storage_);
  double bytes = 0;
  for (const int32_t shard : shards_) {
    const spec::ShardProfile& s = profile_.shards[shard];
    int64_t held = 0, all = 0;
    for (size_t set = 0; set < kSets; ++set) {
      const plan::Range& range = store_->sets_[set].range;
      held += Common(range, first_rows_[shard][set], RowsOf(s, set)).size();
      all += RowsOf(s, set);
    }
    // This assumes that the rows of a shard are alike.
    const double share = static_cast<double>(held) / static_cast<double>(all);
    bytes += share * static_cast<double>(s.nonzeros) * static_cast<double>(entry_bytes) +
             static_cast<double>(held * SparseRecordBytes(1, store_->storage_));
  }
  return static_cast<int64_t>(std::min(bytes, 1e18));
}

Result<uint8_t*> RowLoader::TakeRecords(int64_t bytes) {
  MutexLock lock(mutex_);
  if (bytes > free_bytes_) {
    const int64_t beyond = kSlabBytesMin * static_cast<int64_t>(store_->slabs_.size() + 1);
    const int64_t slab_bytes = std::min(std::max(records_expected_, beyond), kSlabBytesMax);
    ESPALIER_ASSIGN_OR_RETURN(auto slab, TakeRoom(bytes, std::max(bytes, slab_bytes)));
    free_ = reinterpret_cast<uint8_t*>(slab->data());
    free_bytes_ = static_cast<int64_t>(slab->size());
    records_expected_ -= free_bytes_;
    store_->slabs_.push_back(std::move(slab));
  }
  free_bytes_ -= bytes;
  return std::exchange(free_, free_ + bytes);
}

Status RowLoader::CopySparse(int32_t shard, size_t set, const DecodedRows& rows, int64_t source,
                             int64_t count, int64_t target, Read* read) {
  const spec::StorageType type = store_->storage_;
  DecodedRows packed;
  packed.sparse = true;
  for (int64_t done = 0; done < count; done += kRecordRows) {
    const int64_t n = std::min(kRecordRows, count - done);
    if (!rows.sparse) {
      packed.Clear();
      ESPALIER_RETURN_IF_ERROR(PackNumbers(rows, source + done, n, store_->encoder_.features(),
                                           store_->encoder_.coded_features(), &packed));
    }
    const DecodedRows& from = rows.sparse ? rows : packed;
    const int64_t first = rows.sparse ? source + done : 0;
    int64_t bytes = 0;
    for (int64_t r = first; r < first + n; ++r) {
      bytes += SparseRecordBytes(from.ends[r] - from.begin(r), type);
    }
    read->nonzeros += from.ends[first + n - 1] - from.begin(first);
    if (read->nonzeros > profile_.shards[shard].nonzeros) return Changed(shard);
    ESPALIER_ASSIGN_OR_RETURN(uint8_t * record, TakeRecords(bytes));
    for (int64_t i = 0; i < n; ++i) {
      store_->sets_[set].records[target + done + i] = record;
      uint8_t* const end = WriteSparse(from, first + i, type, record);
      if (!RecodeRecord(*read, record)) return Changed(shard);
      record = end;
    }
  }
  return {};
}

Status RowLoader::Copy(int32_t shard, const DecodedSets& rows, const ShardTexts& texts,
                       Read* read) {
  LearnTexts(texts, read);
  for (size_t set = 0; set < kSets; ++set) {
    RowStore::Set& to = store_->sets_[set];
    const DecodedRows& from = rows[set];
    const int64_t first = first_rows_[shard][set] + read->rows[set];
    read->rows[set] += from.rows;
    // Rows beyond those that the profiling pass read, or rows of a wider type, would not fit.
    if (read->rows[set] > RowsOf(profile_.shards[shard], set) || from.type > store_->storage_) {
      return Changed(shard);
    }
    const plan::Range common = Common(to.range, first, from.rows);
    const int64_t n = common.size(), targets = store_->targets_;
    if (n == 0) continue;
    const int64_t source = common.begin - first, target = common.begin - to.range.begin;
    if (store_->sparse_) {
      ESPALIER_RETURN_IF_ERROR(CopySparse(shard, set, from, source, n, target, read));
    } else if (!CopyDense(*read, set, from, source, n, target)) {
      return Changed(shard);
    }
    std::copy_n(from.targets.data() + source * targets, n * targets, to.targets + target * targets);
    if (has_weights_) std::copy_n(from.weights.data() + source, n, to.weights + target);
    for (int64_t i = 0; classification_ && i < n; ++i) {
      const int32_t label = read->classes[from.labels[source + i]];
      if (label < 0) return Changed(shard);  // texts of rows that were left out may be unknown
      to.labels[target + i] = label;
    }
  }
  return {};
}

Status RowLoader::ReadAgain(int32_t shard) {
  Read read;
  const auto copy = [&](const RowPiece& piece) {
    return Copy(shard, piece.sets, piece.texts, &read);
  };
  ESPALIER_ASSIGN_OR_RETURN(const ShardRows rest, reader_->Read(shard, copy));
  return Check(shard, rest.checksum, read);
}

Status RowLoader::Load(int32_t shard, const ShardRows* decoded) {
  if (decoded == nullptr) return ReadAgain(shard);
  Read read;
  ESPALIER_RETURN_IF_ERROR(Copy(shard, decoded->sets, decoded->texts, &read));
  return Check(shard, decoded->checksum, read);
}

std::unique_ptr<RowStore> RowLoader::Finish() { return std::move(store_); }

Result<std::unique_ptr<RowStore>> LoadRows(
    const TableSource& table, const spec::TableProfile& profile, const RowRanges& ranges,
    std::vector<ProfiledShard>& decoded, const RowStoreOptions& options,
    const std::function<void(int64_t done, int64_t of)>& progress) {
  ESPALIER_ASSIGN_OR_RETURN(const auto loader, RowLoader::Make(table, profile, ranges, options));
  std::vector<ProfiledShard*> kept(table.plan.shards.size(), nullptr);
  for (ProfiledShard& shard : decoded) {
    const int32_t index = shard.profile.shard;
    if (index < 0 || index >= static_cast<int32_t>(kept.size())) {
      return Internal("a profiled shard of another plan");
    }
    if (shard.has_rows) kept[index] = &shard;
  }
  int64_t done = 0;
  for (const int32_t shard : loader->shards()) {
    ProfiledShard* from = kept[shard];
    ESPALIER_RETURN_IF_ERROR(loader->Load(shard, from ? &from->rows : nullptr));
    if (from != nullptr) {
      from->rows = {};
      from->has_rows = false;
    }
    if (progress) progress(++done, static_cast<int64_t>(loader->shards().size()));
  }
  return loader->Finish();
}

}  // namespace espalier::data
