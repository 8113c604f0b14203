// How often and how long a failed call is tried again. There is no clock here: the caller adds up
// what its waits and its transfers took. Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>

namespace espalier::storage {

struct RetryOptions {
  int64_t wait_ms = 200;              // before the second try; doubles each time,
  int64_t wait_max_ms = 5'000;        // up to this; a little less by chance, from a seed
  int64_t give_up_ms = 120'000;       // when this much was spent on one call without success
  int64_t first_contact_ms = 10'000;  // the same while the file system was never reached at all
  int attempts_max = 200;
};

class RetryBudget {
 public:
  // `seed` spreads the waits of several callers.
  RetryBudget(const RetryOptions& options, uint64_t seed) : options_(options), seed_(seed) {}

  // Counts time that went by.
  void Spend(int64_t ms) { spent_ms_ += ms; }
  // How long to wait before the next try (counted as spent); empty: give up. With `at_once` the
  // wait is 0, and only the number of tries and the time spent count.
  std::optional<int64_t> NextWait(bool reached, bool at_once);
  // Something was achieved: what was spent is forgotten.
  void Restart() { spent_ms_ = attempts_ = waits_ = 0; }

  int64_t spent_ms() const { return spent_ms_; }
  int64_t attempts() const { return attempts_; }

 private:
  RetryOptions options_;
  uint64_t seed_;
  int64_t spent_ms_ = 0;
  int64_t attempts_ = 0;  // that failed
  int64_t waits_ = 0;
};

}  // namespace espalier::storage
