#include "src/data/row_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "src/base/check.h"

namespace espalier {
namespace {

constexpr size_t kHugePageBytes = 2 << 20;
// Below, the part of the last huge page that is not used would weigh too much.
constexpr size_t kMappedBytesMin = 8 << 20;

bool IsMapped(size_t capacity) { return capacity >= kMappedBytesMin; }

void* MapRoom(size_t capacity) {
  void* room = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  madvise(room, capacity, MADV_HUGEPAGE);
  return room;
}

}  // namespace

RowBytes& RowBytes::operator=(RowBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

void RowBytes::Free() {
  if (IsMapped(capacity_)) {
    munmap(data_, capacity_);
  } else {
    std::free(data_);
  }
}

void RowBytes::Reserve(size_t capacity) {
  if (capacity <= capacity_) return;
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

void RowBytes::Resize(size_t size) {
  if (size > capacity_) Reserve(std::max(size, 2 * capacity_));
  size_ = size;
}

void RowBytes::Append(std::span<const uint8_t> bytes) {
  const size_t old = size_;
  Resize(old + bytes.size());
  if (!bytes.empty()) std::memcpy(data_ + old, bytes.data(), bytes.size());
}

}  // namespace espalier
