// Budget for the rows of shards while they are read. Buffers take memory up to a limit, then files
// in a spill directory up to another limit. Beyond both, they get an error.
//
// Thread rule: safe from any number of threads. Ownership: the budget must outlive its buffers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/base/status.h"

namespace espalier::data {

class MemoryBudget {
 public:
  // Size in bytes up to which a buffer is not worth a file. A buffer that small always gets its
  // memory.
  static constexpr size_t kSmallBytes = 1 << 20;
  // Minimum memory in bytes for reading itself (a batch, fetched data), however small the budget.
  static constexpr int64_t kReadingBytes = int64_t{32} << 20;

  // A smaller `memory_bytes_max` is raised to kReadingBytes. Without a directory, nothing is
  // spilled.
  MemoryBudget(int64_t memory_bytes_max, std::string spill_directory, int64_t spill_bytes_max);

  // Takes memory if the limit allows it.
  bool TakeMemory(size_t bytes);
  void GiveMemory(size_t bytes) { memory_bytes_ -= static_cast<int64_t>(bytes); }

  // Takes bytes of the limit for spill files. kResourceExhausted: the message contains the limits.
  Status TakeSpill(size_t bytes);
  void GiveSpill(size_t bytes) { spill_bytes_ -= static_cast<int64_t>(bytes); }

  const std::string& spill_directory() const { return spill_directory_; }

 private:
  const int64_t memory_bytes_max_, spill_bytes_max_;
  const std::string spill_directory_;
  std::atomic<int64_t> memory_bytes_{0}, spill_bytes_{0};  // taken
};

}  // namespace espalier::data
