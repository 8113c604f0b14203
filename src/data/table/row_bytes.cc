#include "src/data/table/row_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "src/base/check.h"

namespace espalier::data {
namespace {

constexpr size_t kHugePageBytes = 2 << 20;
// Minimum size of a mapped buffer. Below it, the unused part of the last huge page would be too
// large.
constexpr size_t kMappedBytesMin = 8 << 20;
// Limits for the growth of a file in one step.
constexpr size_t kFileBytesMin = 4 << 20, kFileBytesMax = 256 << 20;

bool IsMapped(size_t capacity) { return capacity >= kMappedBytesMin; }

void* MapRoom(size_t capacity) {
  void* room = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  madvise(room, capacity, MADV_HUGEPAGE);
  return room;
}

}  // namespace

RowBytes& RowBytes::operator=(RowBytes&& other) noexcept {
  std::swap(room_, other.room_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  std::swap(taken_, other.taken_);
  std::swap(file_, other.file_);
  return *this;
}

void RowBytes::FreeMemory() {
  if (IsMapped(capacity_)) {
    munmap(data_, capacity_);
  } else {
    std::free(data_);
  }
  if (room_ != nullptr) room_->GiveMemory(std::exchange(taken_, 0));
}

void RowBytes::Free() {
  if (file_ == nullptr) return FreeMemory();
  file_ = nullptr;
  room_->GiveSpill(capacity_);
}

bool RowBytes::TakeMemory(size_t capacity) {
  if (room_ == nullptr) return true;
  if (!room_->TakeMemory(capacity - taken_)) return capacity <= MemoryBudget::kSmallBytes;
  taken_ = capacity;
  return true;
}

void RowBytes::GrowMemory(size_t capacity) {
  void* room = nullptr;
  if (IsMapped(capacity)) {
    capacity = (capacity + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    room = IsMapped(capacity_) ? mremap(data_, capacity_, capacity, MREMAP_MAYMOVE)
                               : MapRoom(capacity);
    if (room == MAP_FAILED) room = nullptr;
    if (room != nullptr && !IsMapped(capacity_)) {
      if (size_ > 0) std::memcpy(room, data_, size_);
      std::free(data_);
    }
  } else {
    room = std::realloc(data_, capacity);
  }
  ESPALIER_CHECK(room != nullptr,
                 "no memory for " + std::to_string(capacity) + " bytes of decoded rows");
  data_ = static_cast<uint8_t*>(room);
  capacity_ = capacity;
}

void RowBytes::Reserve(size_t capacity) {
  if (capacity <= capacity_ || file_ != nullptr) return;
  if (TakeMemory(capacity)) GrowMemory(capacity);
}

Status RowBytes::GrowFile(size_t capacity) {
  std::unique_ptr<SpillFile> made;
  if (file_ == nullptr && !room_->spill_directory().empty()) {
    ESPALIER_ASSIGN_OR_RETURN(made, SpillFile::Make(room_->spill_directory()));
  }
  const size_t more = capacity - (file_ == nullptr ? 0 : capacity_);
  ESPALIER_RETURN_IF_ERROR(room_->TakeSpill(more));
  SpillFile& file = file_ == nullptr ? *made : *file_;
  if (Status grown = file.Grow(capacity); !grown.ok()) {
    room_->GiveSpill(more);
    return grown;
  }
  if (file_ == nullptr) {
    if (size_ > 0) std::memcpy(file.data(), data_, size_);
    FreeMemory();
    file_ = std::move(made);
  }
  data_ = reinterpret_cast<uint8_t*>(file.data());
  capacity_ = capacity;
  return {};
}

Status RowBytes::Grow(size_t size) {
  if (file_ == nullptr) {
    const size_t capacity = std::max(size, 2 * capacity_);
    if (TakeMemory(capacity)) {
      GrowMemory(capacity);
      return {};
    }
  }
  // A file grows without a copy, but all its blocks are reserved at once.
  const size_t more = std::clamp(capacity_ / 4, kFileBytesMin, kFileBytesMax);
  return GrowFile(std::max(size, capacity_ + more));
}

Status RowBytes::Append(std::span<const uint8_t> bytes) {
  const size_t old = size_;
  ESPALIER_RETURN_IF_ERROR(Resize(old + bytes.size()));
  if (!bytes.empty()) std::memcpy(data_ + old, bytes.data(), bytes.size());
  return {};
}

}  // namespace espalier::data
