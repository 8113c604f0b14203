// A growing buffer for the rows of a shard. Unlike a vector's, its new bytes are not written before
// their owner writes them, and large ones lie in huge pages: of tables of floats, clearing and
// mapping small pages took a third of the time of reading.
//
// With a MemoryBudget it lies in memory as long as there is room, then it moves to a mapped file in
// the spill for good.
//
// Thread rule: values. A MemoryBudget must outlive them.
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

  // Makes the capacity at least `capacity` if there is memory for it. Memory that was never written
  // costs address space only.
  void Reserve(size_t capacity);
  // Bytes from the old size on have undefined values. Capacity grows by a part of itself. Errors
  // are those of MemoryBudget::TakeSpill and SpillFile; then it is as it was. Less never fails.
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
  size_t taken_ = 0;  // of the room's memory
  std::unique_ptr<SpillFile> file_;
};

// The same of numbers.
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
