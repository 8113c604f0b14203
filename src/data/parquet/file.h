// One Parquet file through Arrow's reader, which sees memory only: we fetch what it needs by large
// ranges and hand it the bytes.
//
// Arrow's exceptions and statuses become ours here. Memory: the bytes of the wanted columns of one
// row group (at most kGroupBytesMax), as a MemoryBudget has it, and what decoding a batch of it
// takes (at most kDecodeBytesMax; a page that claims more is an error, not an allocation).
//
// Thread rule: one thread a ParquetFile. The ReadableFile and the MemoryBudget must outlive it.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "src/base/status.h"
#include "src/data/parquet/batches.h"
#include "src/data/parquet/columns.h"
#include "src/data/table/memory_budget.h"
#include "src/storage/file_system.h"

namespace parquet {
class FileMetaData;
namespace arrow {
class FileReader;
struct SchemaField;
}  // namespace arrow
}  // namespace parquet

namespace espalier::data {

class ParquetSource;

struct ParquetGroup {
  int64_t begin = 0;      // where its first column starts, bytes in the file
  int64_t first_row = 0;  // in the file, from 0
  int64_t rows = 0;
};

class ParquetFile {
 public:
  static constexpr int64_t kGroupBytesMax = int64_t{2} << 30;
  static constexpr int64_t kDecodeBytesMax = int64_t{2} << 30;

  // Reads and checks the footer. Errors: see parquet_footer.h; row counts or places of row groups
  // that cannot be (kBadInput). `room` may be null: then memory.
  static Result<std::unique_ptr<ParquetFile>> Open(const storage::ReadableFile& file,
                                                   MemoryBudget* room = nullptr);
  ~ParquetFile();

  // Those of the file, then fields of structs by their dotted names, where no column has the name.
  const std::vector<ParquetColumn>& columns() const { return columns_; }
  const std::vector<ParquetGroup>& groups() const { return groups_; }
  int64_t footer_begin() const { return footer_begin_; }
  // The columns that are the index of the pandas frame that wrote the file.
  std::vector<std::string> index_columns() const;

  // CRC-32C of the footer and of all that ReadGroup has fetched, in order.
  uint32_t checksum() const { return checksum_; }

  // Calls `take` with the rows of a group in batches of at most `batch_rows`, each with the wanted
  // columns only, in the order of `columns` (positions in columns(), ascending, at least one), and
  // the number of its first row in the file. A batch is valid during the call. Page checksums are
  // verified where there are any. Stops at the first error of its own or of `take`;
  // kResourceExhausted: the row group is more than there is room for.
  using TakeBatch = std::function<Status(const arrow::RecordBatch& batch, int64_t first_row)>;
  Status ReadGroup(size_t group, const std::vector<int>& columns, int64_t batch_rows,
                   const TakeBatch& take);

  // The same of the first `rows` rows from a group on; reads as many pages as that takes.
  Status ReadFirst(size_t group, const std::vector<int>& columns, int64_t rows,
                   const TakeBatch& take);

  // The length of the first vector in a column of them that is not empty; 0 when there is none.
  // Reads as many pages as that takes.
  Result<int64_t> FirstWidth(int column);

  // Whether the first page of the file has a checksum; true for a file without rows.
  Result<bool> PagesHaveChecksums() const;

 private:
  struct Span {
    int64_t begin = 0, end = 0;
  };

  ParquetFile(const storage::ReadableFile& file, MemoryBudget* room);
  Status Parse(const std::string& footer);
  // Adds the fields of a struct, and of structs in it, as columns.
  void AddNested(const parquet::arrow::SchemaField& parent, int top,
                 const std::vector<std::string>& path);
  Status FindGroups();
  Result<Span> ChunkOf(size_t group, int leaf) const;
  Status Fetch(size_t group, const std::vector<int>& leaves);
  // A part of a group of which `group_bytes` are wanted.
  Status FetchSpan(const Span& span, size_t group, int64_t group_bytes);
  Status ReadBatches(size_t group, const std::vector<int>& columns, int64_t batch_rows,
                     const TakeBatch& take);
  // A reader of its own, which reads pages one by one instead of whole columns.
  Result<std::unique_ptr<parquet::arrow::FileReader>> PageReader();
  // Calls `take` with batches of the group by that reader until it says that it is enough.
  using TakeUntil = std::function<Result<bool>(const arrow::RecordBatch& batch)>;
  Status ReadPages(parquet::arrow::FileReader* reader, size_t group,
                   const std::vector<int>& columns, const TakeUntil& take);
  // Our error for one of Arrow's, about a row group or (-1) the footer.
  Status Explain(const arrow::Status& error, int64_t group) const;
  // The same for an error in reading `columns` of a group; names the column, which Arrow does not.
  Status ExplainGroup(const arrow::Status& error, size_t group, const std::vector<int>& columns);
  // The first of them that cannot be read by itself; empty: all can.
  std::string FirstBadColumn(size_t group, const std::vector<int>& columns);

  const storage::ReadableFile& file_;
  arrow::ProxyMemoryPool counted_;
  arrow::CappedMemoryPool pool_;
  int64_t footer_begin_ = 0;
  uint32_t checksum_ = 0;
  std::shared_ptr<ParquetSource> source_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::unique_ptr<ParquetBatches> batches_;
  std::vector<ParquetBatches::Column> sources_;  // of columns_
  std::vector<ParquetColumn> columns_;
  std::unordered_set<std::string> names_;  // of columns_
  std::vector<ParquetGroup> groups_;
};

}  // namespace espalier::data
