// A growing buffer for the rows of a shard. Unlike a vector's, its new bytes are not written before
// their owner writes them, and large ones lie in huge pages: of tables of floats, clearing and
// mapping small pages took a third of the time of reading.
//
// Thread rule: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace espalier {

class RowBytes {
 public:
  RowBytes() = default;
  ~RowBytes() { Free(); }
  RowBytes(RowBytes&& other) noexcept { *this = std::move(other); }
  RowBytes& operator=(RowBytes&& other) noexcept;

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }

  // Makes the capacity at least `capacity`. Memory that was never written costs address space only.
  void Reserve(size_t capacity);
  // Bytes from the old size on have undefined values. The capacity grows at least twofold.
  void Resize(size_t size);
  void Append(std::span<const uint8_t> bytes);

 private:
  void Free();

  uint8_t* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace espalier
