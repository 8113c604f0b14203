// Buffers on 64-byte boundaries. Eigen's reductions and packets depend on addresses, so identical
// bits on every machine require the same alignment everywhere.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace espalier {

inline constexpr size_t kBufferAlignment = 64;  // bytes

template <typename T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT: rebind
  T* allocate(size_t n) {
    return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{kBufferAlignment}));
  }
  void deallocate(T* p, size_t) { ::operator delete (p, std::align_val_t{kBufferAlignment}); }
  bool operator==(const AlignedAllocator&) const { return true; }
};

template <typename T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace espalier
