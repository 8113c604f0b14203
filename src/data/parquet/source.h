// A file as Arrow's reader sees it. Bytes that were fetched in large ranges are served from memory.
// Other bytes are read from the file.
//
// Ownership: the ReadableFile must outlive the ParquetSource. Thread rule: one thread per
// ParquetSource.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/row_bytes.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Fetched bytes, of which Arrow may keep slices.
class FetchedBytes final : public arrow::Buffer {
 public:
  explicit FetchedBytes(MemoryBudget* room) : Buffer(nullptr, 0), bytes_(room) {}
  // Changes the size. The content is then undefined. Errors: as RowBytes.
  Status Resize(int64_t size);
  char* room() { return reinterpret_cast<char*>(bytes_.data()); }
  int64_t room_bytes() const { return static_cast<int64_t>(bytes_.capacity()); }

 private:
  RowBytes bytes_;
};

class ParquetSource : public arrow::io::RandomAccessFile {
 public:
  // Memory for kept bytes is charged to `room`, which may be null.
  ParquetSource(const storage::ReadableFile& file, MemoryBudget* room) : file_(file), room_(room) {}

  // Returns a buffer of `size` bytes for Keep, with undefined content. Errors: as RowBytes.
  Result<std::shared_ptr<FetchedBytes>> Room(int64_t size);
  // Serves reads within [offset, offset + bytes->size()) from `bytes` from now on.
  void Keep(int64_t offset, std::shared_ptr<FetchedBytes> bytes);
  // Drops the kept bytes. A later Room may reuse their memory.
  void Drop();
  // Returns the first error of the file itself.
  const Status& error() const { return error_; }

  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override;
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override;
  arrow::Result<int64_t> Read(int64_t size, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override;
  arrow::Result<int64_t> GetSize() override { return file_.info().length; }
  arrow::Status Seek(int64_t position) override;
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Close() override;
  bool closed() const override { return closed_; }

 private:
  const storage::ReadableFile& file_;
  MemoryBudget* const room_;
  std::vector<std::pair<int64_t, std::shared_ptr<FetchedBytes>>> pieces_;
  std::vector<std::shared_ptr<FetchedBytes>> spare_;
  Status error_;
  int64_t position_ = 0;
  bool closed_ = false;
};

}  // namespace espalier::data
