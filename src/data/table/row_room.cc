#include "src/data/table/row_room.h"

#include <algorithm>
#include <utility>

#include "src/base/text.h"

namespace espalier::data {
namespace {

// Adds to what is taken unless that is more than the limit then.
bool Take(size_t bytes, int64_t limit, std::atomic<int64_t>* taken) {
  const int64_t more = static_cast<int64_t>(bytes);
  if (taken->fetch_add(more) + more <= limit) return true;
  *taken -= more;
  return false;
}

}  // namespace

RowRoom::RowRoom(int64_t memory_bytes_max, std::string spool_directory, int64_t spool_bytes_max)
    : memory_bytes_max_(std::max(memory_bytes_max, kReadingBytes)),
      spool_bytes_max_(spool_directory.empty() ? 0 : std::max<int64_t>(spool_bytes_max, 0)),
      spool_directory_(std::move(spool_directory)) {}

bool RowRoom::TakeMemory(size_t bytes) { return Take(bytes, memory_bytes_max_, &memory_bytes_); }

Status RowRoom::TakeSpool(size_t bytes) {
  if (Take(bytes, spool_bytes_max_, &spool_bytes_)) return {};
  const std::string spool =
      spool_directory_.empty()
          ? std::string("no spool is set up")
          : "of the spool's limit of " + HumanBytes(spool_bytes_max_) + " there are " +
                HumanBytes(std::max<int64_t>(0, spool_bytes_max_ - spool_bytes_)) + " left";
  return ResourceExhausted("reading the data needs " + HumanBytes(static_cast<int64_t>(bytes)) +
                           " more; its " + HumanBytes(memory_bytes_max_) +
                           " of memory are used up and " + spool +
                           "; raise memory_bytes_max or spool_bytes_max, or write the data in "
                           "smaller files (Parquet: in smaller row groups)");
}

}  // namespace espalier::data
