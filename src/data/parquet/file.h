// One Parquet file, read through Arrow. This class fetches the required bytes in large ranges, so
// that Arrow's reader only accesses memory. It translates Arrow's exceptions and statuses.
//
// Memory: the bytes of the selected columns of one row group (at most kGroupBytesMax) are charged
// to a MemoryBudget. Decoding a batch of it takes at most kDecodeBytesMax. A page that claims more
// is an error, not an allocation.
//
// Ownership: the ReadableFile and the MemoryBudget must outlive the ParquetFile. Thread rule: one
// thread per ParquetFile.
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
  int64_t begin = 0;      // file offset of its first column, in bytes
  int64_t first_row = 0;  // index in the file, from 0
  int64_t rows = 0;
};

class ParquetFile {
 public:
  static constexpr int64_t kGroupBytesMax = int64_t{2} << 30;
  static constexpr int64_t kDecodeBytesMax = int64_t{2} << 30;

  // Reads and checks the footer. Errors: see footer.h; kBadInput also for impossible row counts or
  // positions of row groups. `room` may be null: memory without a limit.
  static Result<std::unique_ptr<ParquetFile>> Open(const storage::ReadableFile& file,
                                                   MemoryBudget* room = nullptr);
  ~ParquetFile();

  // Returns the columns of the file. Then come fields of structs by their dotted names, unless a
  // column already has the name.
  const std::vector<ParquetColumn>& columns() const { return columns_; }
  const std::vector<ParquetGroup>& groups() const { return groups_; }
  int64_t footer_begin() const { return footer_begin_; }
  // Returns the columns that are the index of the pandas frame that wrote the file.
  std::vector<std::string> index_columns() const;

  // Returns the CRC-32C of the footer and of all bytes that ReadGroup has fetched, in order.
  uint32_t checksum() const { return checksum_; }

  // Calls `take` with the rows of a group in batches of at most `batch_rows`, and with the number
  // of each batch's first row in the file. A batch contains only the `columns`, in this order.
  // (They are positions in columns(), ascending, at least one.) It is valid during the call. Page
  // checksums are verified if present. Stops at the first error, including errors of `take`.
  // kResourceExhausted: the row group does not fit in the available memory.
  using TakeBatch = std::function<Status(const arrow::RecordBatch& batch, int64_t first_row)>;
  Status ReadGroup(size_t group, const std::vector<int>& columns, int64_t batch_rows,
                   const TakeBatch& take);

  // Does the same for the first `rows` rows, starting with a group. Reads only as many pages as
  // needed.
  Status ReadFirst(size_t group, const std::vector<int>& columns, int64_t rows,
                   const TakeBatch& take);

  // Returns the length of the first nonempty vector in a column of vectors; 0 if there is none.
  // Reads only as many pages as needed.
  Result<int64_t> FirstWidth(int column);

  // Returns whether the first page of the file has a checksum. Returns true for a file without
  // rows.
  Result<bool> PagesHaveChecksums() const;

 private:
  struct Span {
    int64_t begin = 0, end = 0;
  };

  ParquetFile(const storage::ReadableFile& file, MemoryBudget* room);
  Status Parse(const std::string& footer);
  // Adds the fields of a struct, and of structs inside it, as columns.
  void AddNested(const parquet::arrow::SchemaField& parent, int top,
                 const std::vector<std::string>& path);
  Status FindGroups();
  Result<Span> ChunkOf(size_t group, int leaf) const;
  Status Fetch(size_t group, const std::vector<int>& leaves);
  // Fetches a part of a group. `group_bytes`: bytes to fetch for the whole group.
  Status FetchSpan(const Span& span, size_t group, int64_t group_bytes);
  Status ReadBatches(size_t group, const std::vector<int>& columns, int64_t batch_rows,
                     const TakeBatch& take);
  // Returns a separate reader that reads pages one by one instead of whole columns.
  Result<std::unique_ptr<parquet::arrow::FileReader>> PageReader();
  // Calls `take` with batches of the group from that reader until `take` returns true.
  using TakeUntil = std::function<Result<bool>(const arrow::RecordBatch& batch)>;
  Status ReadPages(parquet::arrow::FileReader* reader, size_t group,
                   const std::vector<int>& columns, const TakeUntil& take);
  // Translates an error of Arrow about a row group or (-1) the footer.
  Status Explain(const arrow::Status& error, int64_t group) const;
  // Translates an error in reading `columns` of a group. Names the column, which Arrow does not.
  Status ExplainGroup(const arrow::Status& error, size_t group, const std::vector<int>& columns);
  // Returns the first column that cannot be read alone. Empty: all can.
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
  std::vector<ParquetBatches::Column> sources_;  // for columns_
  std::vector<ParquetColumn> columns_;
  std::unordered_set<std::string> names_;  // names of columns_
  std::vector<ParquetGroup> groups_;
};

}  // namespace espalier::data
