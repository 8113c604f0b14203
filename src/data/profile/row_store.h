// A worker's row-major copy of the decoded rows that its leaves use.
//
// For each set (training, validation, test) it holds one contiguous range of the set's global row
// numbers. Rows are numbered shard by shard, and in file order within a shard. Features have the
// narrowest type that is exact for the whole job, so that the arithmetic does not depend on the
// distribution of rows. If TableProfile::sparse is set for the whole job, wide rows with few
// nonzero numbers keep only these (sparse_record.h). Gather applies the fitted preprocessing.
//
// This also holds for float32 jobs. A number that is not a float32 is stored as a double. It is
// rounded only after it was shifted and scaled in double. Rounding first would halve the memory of
// tables of decimals, but a float32 has 24 bits for value and offset together. For a time in
// seconds since 1970 it would keep steps of 128 s, and subtracting the mean could not restore the
// rest.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/mutex.h"
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
  int64_t memory_bytes_max = int64_t{1} << 40;  // sets that do not fit are spilled
  std::string spill_directory;  // empty: no spill, so rows that do not fit are an error
  int64_t spill_bytes_max = 0;
};

// Global row numbers to hold, by FileRole.
using RowRanges = std::array<plan::Range, kSets>;

// Returns the shards that have one of these rows, ascending.
std::vector<int32_t> ShardsOf(const spec::TableProfile& profile, const RowRanges& ranges);

// Holds the rows. Thread rule: const and safe from any number of threads after loading.
class RowStore {
 public:
  plan::Range rows(spec::FileRole set) const { return sets_[Index(set)].range; }
  int64_t features() const { return encoder_.dense(); }  // inputs of the network per row
  int64_t coded() const { return encoder_.coded(); }     // codes of the network per row
  int64_t targets() const { return targets_; }
  spec::StorageType storage() const { return storage_; }
  bool sparse() const { return sparse_; }
  int64_t memory_bytes() const { return memory_bytes_; }
  int64_t spill_bytes() const { return spill_bytes_; }

  // Fills n = rows.size() rows, by global number:
  //   inputs   [n, features] row-major, and
  //   codes    [n, coded features]: output of FeatureEncoder for the row; for a sparse store,
  //            `sparse` receives the inputs and then points into this store
  //   labels   [n] class numbers (classification); may be null if not used
  //   targets  [n, targets] (y - shift) * factor in double, rounded (not classification); may be
  //            null
  //   weights  [n]; 1 without a weight column; may be null
  // REQUIRES: every row is in rows(set). T is float or double.
  template <typename T>
  void Gather(spec::FileRole set, std::span<const int64_t> rows, T* inputs, int32_t* codes,
              int32_t* labels, T* targets, T* weights, spec::SparseRows<T>* sparse = nullptr) const;
  // Fills labels [rows.size()] with class numbers. REQUIRES: a classification; rows(set) has these
  // rows.
  void Labels(spec::FileRole set, plan::Range rows, int32_t* labels) const;

 private:
  friend class RowLoader;
  struct Set {
    plan::Range range;
    std::unique_ptr<Region> region;  // memory of the arrays below
    char* features = nullptr;
    const uint8_t** records = nullptr;  // sparse, instead of features: record of each row
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
  std::vector<std::unique_ptr<Region>> slabs_;  // sparse: memory of the records
  std::array<Set, kSets> sets_;
  std::vector<spec::FittedTarget> fitted_targets_;
};

// Fills a row store shard by shard. Thread rule: Load is safe from several threads, once per shard;
// other calls from one thread. Ownership: the table and `profile` must outlive the loader.
class RowLoader {
 public:
  // Reserves the memory. kResourceExhausted: neither the budget nor the spill directory has room
  // for the rows. The size of sparse rows is an estimate from the numbers that the profiling pass
  // counted. Their records take memory during loading, so Load may still run out of it.
  static Result<std::unique_ptr<RowLoader>> Make(const TableSource& table,
                                                 const spec::TableProfile& profile,
                                                 const RowRanges& ranges,
                                                 const RowStoreOptions& options);

  // Returns the shards that have rows to hold, ascending.
  const std::vector<int32_t>& shards() const { return shards_; }

  // Copies the rows of one of shards(). `decoded`: rows that the profiling pass kept. Null: reads
  // the shard again, one piece at a time. kDataLoss: it differs from what was profiled. Reading may
  // use the memory and spill space that the store leaves, and at least MemoryBudget::kReadingBytes.
  Status Load(int32_t shard, const ShardRows* decoded);

  // Returns the store. REQUIRES: Load succeeded for each of shards(). Call once, at the end.
  std::unique_ptr<RowStore> Finish();

 private:
  RowLoader(const TableSource& table, const spec::TableProfile& profile,
            const RowStoreOptions& options)
      : table_(table), profile_(profile), options_(options) {}
  void SetUp(const RowRanges& ranges);
  Status Reserve();
  // State of reading a shard.
  struct Read {
    std::array<int64_t, kSets> rows = {};
    std::vector<int32_t> classes;  // by label text; -1: no class
    CodeMaps codes;
    int64_t nonzeros = 0;  // sparse: numbers in the rows that were copied
  };
  // Checks a whole shard against its profile.
  Status Check(int32_t shard, uint32_t checksum, const Read& read) const;
  Status Changed(int32_t shard) const;
  Status ReadAgain(int32_t shard);
  // Copies the rows to hold among `rows` of the shard, and updates `read`. `texts`: those of the
  // previous call, and possibly more.
  Status Copy(int32_t shard, const DecodedSets& rows, const ShardTexts& texts, Read* read);
  void LearnTexts(const ShardTexts& texts, Read* read) const;
  // Copies rows [source, source + count) of `rows` to rows of the set from `target` on.
  bool CopyDense(const Read& read, size_t set, const DecodedRows& rows, int64_t source,
                 int64_t count, int64_t target);
  Status CopySparse(int32_t shard, size_t set, const DecodedRows& rows, int64_t source,
                    int64_t count, int64_t target, Read* read);
  // Returns the size of all records. It is exact except for shards that are held only in part.
  int64_t RecordBytes() const;
  // Returns memory for the records of one thread's rows, 8-byte aligned.
  Result<uint8_t*> TakeRecords(int64_t bytes);
  // Takes memory, or spill space if memory is used up: up to `wish` of the remaining bytes, but at
  // least `least`.
  Result<std::unique_ptr<Region>> TakeRoom(int64_t least, int64_t wish);
  Status TooLittle(int64_t bytes) const;
  // Replaces the shard's codes of categories by those of the job.
  template <typename T>
  bool Recode(const Read& read, int64_t rows, T* features) const;
  bool RecodeRecord(const Read& read, uint8_t* record) const;
  int64_t FeatureBytesOf(plan::Range range) const;
  int64_t BytesOf(plan::Range range) const;

  const TableSource table_;
  const spec::TableProfile& profile_;
  const RowStoreOptions options_;
  bool has_weights_ = false, classification_ = false;
  std::vector<std::array<int64_t, kSets>> first_rows_;  // by shard: global number of its first row
  std::vector<int32_t> shards_;
  ClassIndex classes_;
  Vocabularies vocabularies_;
  std::unique_ptr<RowStore> store_;
  std::unique_ptr<MemoryBudget> room_;  // for reading
  std::unique_ptr<ShardReader> reader_;
  Mutex mutex_;  // also guards, during loading, the store's slabs and bytes
  int64_t records_expected_ GUARDED_BY(mutex_) = 0;  // bytes of records without a slab so far
  uint8_t* free_ GUARDED_BY(mutex_) = nullptr;       // part of the last slab without records
  int64_t free_bytes_ GUARDED_BY(mutex_) = 0;
};

// Loads all rows at once, on this thread. Takes shards with rows in `decoded` from there and frees
// their rows. Reads the other shards. `progress` (may be empty) receives the number of finished
// shards and their total. `decoded` may contain any shards.
Result<std::unique_ptr<RowStore>> LoadRows(
    const TableSource& table, const spec::TableProfile& profile, const RowRanges& ranges,
    std::vector<ProfiledShard>& decoded, const RowStoreOptions& options,
    const std::function<void(int64_t done, int64_t of)>& progress = {});

}  // namespace espalier::data
