// A file as Arrow's reader sees it: what was fetched by large ranges is served from memory, what
// was not is read from the file.
//
// Thread rule: one thread a ParquetSource. The ReadableFile must outlive it.
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

// Fetched bytes that Arrow may keep slices of.
class FetchedBytes final : public arrow::Buffer {
 public:
  explicit FetchedBytes(MemoryBudget* room) : Buffer(nullptr, 0), bytes_(room) {}
  // Their content is undefined then. Errors: RowBytes'.
  Status Resize(int64_t size);
  char* room() { return reinterpret_cast<char*>(bytes_.data()); }
  int64_t room_bytes() const { return static_cast<int64_t>(bytes_.capacity()); }

 private:
  RowBytes bytes_;
};

class ParquetSource : public arrow::io::RandomAccessFile {
 public:
  // What is kept draws on `room`, which may be null.
  ParquetSource(const storage::ReadableFile& file, MemoryBudget* room) : file_(file), room_(room) {}

  // A buffer of `size` bytes for Keep; their content is undefined. Errors: RowBytes'.
  Result<std::shared_ptr<FetchedBytes>> Room(int64_t size);
  // Reads within [offset, offset + bytes->size()) are answered from `bytes` from now on.
  void Keep(int64_t offset, std::shared_ptr<FetchedBytes> bytes);
  // Forgets what was kept; a later Room may use its memory again.
  void Drop();
  // The first error of the file itself.
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
