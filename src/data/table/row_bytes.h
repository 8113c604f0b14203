// A growing buffer for the rows of a shard. Unlike a vector, it does not initialize new bytes, and
// it keeps large contents in huge pages. For tables of floats, clearing and mapping small pages
// took a third of the read time.
//
// With a MemoryBudget, the buffer stays in memory while the budget allows it. Then it moves
// permanently to a mapped file in the spill directory.
//
// Thread rule: values. Ownership: a MemoryBudget must outlive its buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "src/base/status.h"
#include "src/data/table/memory_budget.h"
#include "src/data/table/spill.h"

namespace espalier::data {

class RowBytes {
 public:
  RowBytes() = default;
  // Null: memory without a limit.
  explicit RowBytes(MemoryBudget* room) : room_(room) {}
  ~RowBytes() { Free(); }
  RowBytes(RowBytes&& other) noexcept { *this = std::move(other); }
  RowBytes& operator=(RowBytes&& other) noexcept;

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool spilled() const { return file_ != nullptr; }
  MemoryBudget* room() const { return room_; }

  // Raises the capacity to at least `capacity` if memory is available. Memory that is never written
  // costs only address space.
  void Reserve(size_t capacity);
  // Changes the size. Bytes beyond the old size have undefined values. Capacity grows by a fraction
  // of itself. Errors: as MemoryBudget::TakeSpill and SpillFile; the buffer is then unchanged.
  // Shrinking never fails.
  Status Resize(size_t size) {
    if (size > capacity_) ESPALIER_RETURN_IF_ERROR(Grow(size));
    size_ = size;
    return {};
  }
  Status Append(std::span<const uint8_t> bytes);
  void Clear() { size_ = 0; }

 private:
  Status Grow(size_t size);
  Status GrowFile(size_t capacity);
  bool TakeMemory(size_t capacity);
  void GrowMemory(size_t capacity);
  void FreeMemory();
  void Free();

  MemoryBudget* room_ = nullptr;
  uint8_t* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
  size_t taken_ = 0;  // memory taken from the budget, in bytes
  std::unique_ptr<SpillFile> file_;
};

// A RowBytes of numbers.
template <typename T>
class RowArray {
 public:
  RowArray() = default;
  explicit RowArray(MemoryBudget* room) : bytes_(room) {}

  const T* data() const { return reinterpret_cast<const T*>(bytes_.data()); }
  size_t size() const { return bytes_.size() / sizeof(T); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  const T& operator[](size_t i) const { return data()[i]; }
  const RowBytes& bytes() const { return bytes_; }

  void Reserve(size_t count) { bytes_.Reserve(count * sizeof(T)); }
  Status Add(T value) {
    const size_t old = bytes_.size();
    ESPALIER_RETURN_IF_ERROR(bytes_.Resize(old + sizeof(T)));
    std::memcpy(bytes_.data() + old, &value, sizeof(T));
    return {};
  }
  Status Append(std::span<const T> values) {
    return bytes_.Append({reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
  }
  void Clear() { bytes_.Clear(); }

 private:
  RowBytes bytes_;
};

}  // namespace espalier::data
