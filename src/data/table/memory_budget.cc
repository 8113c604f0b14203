#include "src/data/table/memory_budget.h"

#include <algorithm>
#include <utility>

#include "src/base/text.h"

namespace espalier::data {
namespace {

// Adds `bytes` to *taken unless the sum exceeds the limit.
bool Take(size_t bytes, int64_t limit, std::atomic<int64_t>* taken) {
  const int64_t more = static_cast<int64_t>(bytes);
  if (taken->fetch_add(more) + more <= limit) return true;
  *taken -= more;
  return false;
}

}  // namespace

MemoryBudget::MemoryBudget(int64_t memory_bytes_max, std::string spill_directory,
                           int64_t spill_bytes_max)
    : memory_bytes_max_(std::max(memory_bytes_max, kReadingBytes)),
      spill_bytes_max_(spill_directory.empty() ? 0 : std::max<int64_t>(spill_bytes_max, 0)),
      spill_directory_(std::move(spill_directory)) {}

bool MemoryBudget::TakeMemory(size_t bytes) {
  return Take(bytes, memory_bytes_max_, &memory_bytes_);
}

Status MemoryBudget::TakeSpill(size_t bytes) {
  if (Take(bytes, spill_bytes_max_, &spill_bytes_)) return {};
  const std::string spill =
      spill_directory_.empty()
          ? std::string("no spill is set up")
          : "of the limit of spill files of " + HumanBytes(spill_bytes_max_) + " there are " +
                HumanBytes(std::max<int64_t>(0, spill_bytes_max_ - spill_bytes_)) + " left";
  return ResourceExhausted("reading the data needs " + HumanBytes(static_cast<int64_t>(bytes)) +
                           " more; its " + HumanBytes(memory_bytes_max_) +
                           " of memory are used up and " + spill +
                           ". Raise memory_bytes_max or spill_bytes_max, or write the data in "
                           "smaller files (Parquet: in smaller row groups)");
}

}  // namespace espalier::data
