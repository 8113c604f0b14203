#include "src/data/parquet/source.h"

#include <algorithm>

namespace espalier::data {

Status FetchedBytes::Resize(int64_t size) {
  ESPALIER_RETURN_IF_ERROR(bytes_.Resize(static_cast<size_t>(size)));
  data_ = bytes_.data();
  size_ = capacity_ = size;
  return {};
}

Result<std::shared_ptr<FetchedBytes>> ParquetSource::Room(int64_t size) {
  std::shared_ptr<FetchedBytes> bytes;
  while (!spare_.empty()) {
    bytes = std::move(spare_.back());
    spare_.pop_back();
    if (bytes->room_bytes() >= size) break;
    bytes = nullptr;
  }
  if (bytes == nullptr) bytes = std::make_shared<FetchedBytes>(room_);
  ESPALIER_RETURN_IF_ERROR(bytes->Resize(size));
  return bytes;
}

void ParquetSource::Keep(int64_t offset, std::shared_ptr<FetchedBytes> bytes) {
  pieces_.emplace_back(offset, std::move(bytes));
}

void ParquetSource::Drop() {
  for (auto& [offset, bytes] : pieces_) {
    if (bytes.use_count() == 1) spare_.push_back(std::move(bytes));
  }
  pieces_.clear();
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ParquetSource::ReadAt(int64_t position,
                                                                    int64_t size) {
  for (const auto& [offset, bytes] : pieces_) {
    if (position >= offset && position + size <= offset + bytes->size()) {
      return arrow::SliceBuffer(bytes, position - offset, size);
    }
  }
  const int64_t length = file_.info().length;
  if (position < 0 || size < 0 || position > length) {
    return arrow::Status::IOError("a read at byte ", position, " of a file of ", length);
  }
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer(std::min(size, length - position)));
  ARROW_ASSIGN_OR_RAISE(const int64_t got,
                        ReadAt(position, buffer->size(), buffer->mutable_data()));
  return arrow::SliceBuffer(std::move(buffer), 0, got);
}

arrow::Result<int64_t> ParquetSource::ReadAt(int64_t position, int64_t size, void* out) {
  auto got = file_.ReadAt(position, {static_cast<char*>(out), static_cast<size_t>(size)});
  if (got.ok()) return static_cast<int64_t>(*got);
  if (error_.ok()) error_ = got.status();
  return arrow::Status::IOError(got.status().message());
}

arrow::Result<int64_t> ParquetSource::Read(int64_t size, void* out) {
  ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(position_, size, out));
  position_ += got;
  return got;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ParquetSource::Read(int64_t size) {
  ARROW_ASSIGN_OR_RAISE(auto bytes, ReadAt(position_, size));
  position_ += bytes->size();
  return bytes;
}

arrow::Status ParquetSource::Seek(int64_t position) {
  position_ = position;
  return arrow::Status::OK();
}

arrow::Status ParquetSource::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

}  // namespace espalier::data
