// A worker's row-major copy of the decoded rows that its leaves need.
//
// Per set (training, validation, test) it holds one contiguous range of the set's global row
// numbers: rows are numbered shard by shard, in each in the order of the file. Features lie in the
// narrowest type that is exact for the whole job, so that the arithmetic does not depend on who
// holds what. Wide rows of few numbers that are not 0 are kept as these alone (sparse_record.h),
// where TableProfile::sparse says so for the whole job. Gather applies the fitted preprocessing.
//
// That holds for float32 jobs too: a number that is no float32 is kept as a double, and rounded
// only after it was shifted and scaled in double. To round it first would halve the memory of
// tables of decimals, but a float32 has 24 bits for value and offset together: of a time in seconds
// since 1970 it keeps steps of 128 s, of which the mean cannot be taken off again.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/features/feature_encoder.h"
#include "src/data/features/vocabulary.h"
#include "src/data/profile/profile_shard.h"
#include "src/data/table/class_text.h"
#include "src/data/table/memory_budget.h"
#include "src/data/table/spill.h"
#include "src/plan/rows.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

struct RowStoreOptions {
  int64_t memory_bytes_max = int64_t{1} << 40;  // sets that do not fit go to the spill directory
  std::string spill_directory;  // empty: no spill, then what does not fit is an error
  int64_t spill_bytes_max = 0;
};

// Global row numbers to hold, by FileRole.
using RowRanges = std::array<plan::Range, kSets>;

// The shards that have one of these rows, ascending.
std::vector<int32_t> ShardsOf(const spec::TableProfile& profile, const RowRanges& ranges);

// Thread rule: const and safe from any number of threads once loaded.
class RowStore {
 public:
  plan::Range rows(spec::FileRole set) const { return sets_[Index(set)].range; }
  int64_t features() const { return encoder_.dense(); }  // numbers that the network is given
  int64_t coded() const { return encoder_.coded(); }     // codes that it is given
  int64_t targets() const { return targets_; }
  spec::StorageType storage() const { return storage_; }
  bool sparse() const { return sparse_; }
  int64_t memory_bytes() const { return memory_bytes_; }
  int64_t spill_bytes() const { return spill_bytes_; }

  // Fills n = rows.size() rows, by global number:
  //   inputs   [n, features] row-major, and
  //   codes    [n, coded features]: what FeatureEncoder makes of the row; of a sparse store it is
  //            `sparse` that gets the inputs, which then points into this
  //   labels   [n] class numbers (classification); may be null when not wanted
  //   targets  [n, targets] (y - shift) * factor in double, rounded (not classification); may be
  //            null
  //   weights  [n]; 1 without a weight column; may be null
  // REQUIRES: every row lies in rows(set). T is float or double.
  template <typename T>
  void Gather(spec::FileRole set, std::span<const int64_t> rows, T* inputs, int32_t* codes,
              int32_t* labels, T* targets, T* weights, spec::SparseRows<T>* sparse = nullptr) const;
  // Fills labels [rows.size()] with class numbers. REQUIRES: a classification; rows(set) has these.
  void Labels(spec::FileRole set, plan::Range rows, int32_t* labels) const;

 private:
  friend class RowLoader;
  struct Set {
    plan::Range range;
    std::unique_ptr<Region> region;  // the arrays below lie in it
    char* features = nullptr;
    const uint8_t** records = nullptr;  // sparse, in place of features: the record of each row
    double* targets = nullptr;
    double* weights = nullptr;
    int32_t* labels = nullptr;
  };
  static size_t Index(spec::FileRole set) { return static_cast<size_t>(set); }

  FeatureEncoder encoder_;
  int64_t targets_ = 0;
  spec::StorageType storage_ = spec::StorageType::kUint8;
  bool sparse_ = false;
  int64_t memory_bytes_ = 0, spill_bytes_ = 0;
  std::vector<std::unique_ptr<Region>> slabs_;  // sparse: where records lie
  std::array<Set, kSets> sets_;
  std::vector<spec::FittedTarget> fitted_targets_;
};

// Fills a row store shard by shard.
// Thread rule: Load is safe from several threads, each shard once; the rest from one.
// The table and `profile` must outlive the loader.
class RowLoader {
 public:
  // Reserves the memory. kResourceExhausted: neither the budget nor the spill directory hold the
  // rows. The size of sparse rows is estimated from the numbers that the profiling pass counted.
  // Their records take memory while they are loaded, so Load may still find that none is left.
  static Result<std::unique_ptr<RowLoader>> Make(const TableSource& table,
                                                 const spec::TableProfile& profile,
                                                 const RowRanges& ranges,
                                                 const RowStoreOptions& options);

  // The shards that have rows to hold, ascending.
  const std::vector<int32_t>& shards() const { return shards_; }

  // Copies the rows of one of shards(). `decoded` is what the profiling pass kept, or null: then
  // the shard is read again, a piece at a time, and kDataLoss when it is not what was profiled.
  // What reading holds draws on what the store leaves of memory and spill space, and on
  // MemoryBudget::kReadingBytes.
  Status Load(int32_t shard, const ShardRows* decoded);

  // The store. REQUIRES: Load succeeded for each of shards(). Call once, last.
  std::unique_ptr<RowStore> Finish();

 private:
  RowLoader(const TableSource& table, const spec::TableProfile& profile,
            const RowStoreOptions& options)
      : table_(table), profile_(profile), options_(options) {}
  void SetUp(const RowRanges& ranges);
  Status Reserve();
  // What was read of a shard so far.
  struct Read {
    std::array<int64_t, kSets> rows = {};
    std::vector<int32_t> classes;  // by label text; -1: no class
    CodeMaps codes;
    int64_t nonzeros = 0;  // sparse: of the rows that were copied
  };
  // Of a whole shard.
  Status Check(int32_t shard, uint32_t checksum, const Read& read) const;
  Status Changed(int32_t shard) const;
  Status ReadAgain(int32_t shard);
  // Copies what is wanted of rows of the shard, and adds them to what was read before them.
  // `texts`: those of the call before, and more.
  Status Copy(int32_t shard, const DecodedSets& rows, const ShardTexts& texts, Read* read);
  void LearnTexts(const ShardTexts& texts, Read* read) const;
  // Of rows [source, source + count) of `rows`, which become those from `target` on of the set.
  bool CopyDense(const Read& read, size_t set, const DecodedRows& rows, int64_t source,
                 int64_t count, int64_t target);
  Status CopySparse(int32_t shard, size_t set, const DecodedRows& rows, int64_t source,
                    int64_t count, int64_t target, Read* read);
  // Of all records together; exact but for shards of which only a part is held.
  int64_t RecordBytes() const;
  // Room for records of one thread's rows, 8-byte aligned.
  Result<uint8_t*> TakeRecords(int64_t bytes);
  // Memory, or where that is used up, spill: up to `wish` bytes of what is left, but `least`.
  Result<std::unique_ptr<Region>> TakeRoom(int64_t least, int64_t wish);
  Status TooLittle(int64_t bytes) const;
  // Replaces the shard's own codes of categories by those of the job.
  template <typename T>
  bool Recode(const Read& read, int64_t rows, T* features) const;
  bool RecodeRecord(const Read& read, uint8_t* record) const;
  int64_t FeatureBytesOf(plan::Range range) const;
  int64_t BytesOf(plan::Range range) const;

  const TableSource table_;
  const spec::TableProfile& profile_;
  const RowStoreOptions options_;
  bool has_weights_ = false, classification_ = false;
  std::vector<std::array<int64_t, kSets>> first_rows_;  // a shard: global number of its first row
  std::vector<int32_t> shards_;
  ClassIndex classes_;
  Vocabularies vocabularies_;
  std::unique_ptr<RowStore> store_;
  std::unique_ptr<MemoryBudget> room_;  // for reading
  std::unique_ptr<ShardReader> reader_;
  std::mutex mutex_;  // guards, while shards are loaded, the store's slabs and bytes, and these:
  int64_t records_expected_ = 0;  // bytes of records for which no slab is there yet
  uint8_t* free_ = nullptr;       // of the last slab, what no records have
  int64_t free_bytes_ = 0;
};

// Loads all at once, on this thread: shards that `decoded` has rows of are taken from there and
// their rows freed, the others are read. `progress` (may be empty) hears the shards done of the
// shards there are. `decoded` may hold any shards.
Result<std::unique_ptr<RowStore>> LoadRows(
    const TableSource& table, const spec::TableProfile& profile, const RowRanges& ranges,
    std::vector<ProfiledShard>& decoded, const RowStoreOptions& options,
    const std::function<void(int64_t done, int64_t of)>& progress = {});

}  // namespace espalier::data
