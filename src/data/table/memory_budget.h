// What the rows of shards may take while they are read: so many bytes of memory, beyond that files
// in a spill directory, beyond that an error.
//
// Thread rule: safe from any number of threads. Must outlive the buffers that draw on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/base/status.h"

namespace espalier::data {

class MemoryBudget {
 public:
  // A buffer of at most so many bytes is not worth a file: it is had in any case.
  static constexpr size_t kSmallBytes = 1 << 20;
  // Reading itself has at least this, however small the budget: a batch, what was fetched.
  static constexpr int64_t kReadingBytes = int64_t{32} << 20;

  // `memory_bytes_max`: kReadingBytes where it is less. Without a directory nothing is spilled.
  MemoryBudget(int64_t memory_bytes_max, std::string spill_directory, int64_t spill_bytes_max);

  // Takes memory if there is so much left.
  bool TakeMemory(size_t bytes);
  void GiveMemory(size_t bytes) { memory_bytes_ -= static_cast<int64_t>(bytes); }

  // Takes so much of the limit of spill files. kResourceExhausted says what the limits are.
  Status TakeSpill(size_t bytes);
  void GiveSpill(size_t bytes) { spill_bytes_ -= static_cast<int64_t>(bytes); }

  const std::string& spill_directory() const { return spill_directory_; }

 private:
  const int64_t memory_bytes_max_, spill_bytes_max_;
  const std::string spill_directory_;
  std::atomic<int64_t> memory_bytes_{0}, spill_bytes_{0};  // taken
};

}  // namespace espalier::data
