// Limits for the number and duration of retries of a failed call. The budget has no clock: the
// caller adds the time of its waits and transfers.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>

namespace espalier::storage {

struct RetryOptions {
  int64_t wait_ms = 200;              // wait before the second attempt; doubles each time
  int64_t wait_max_ms = 5'000;        // maximum wait; a seed reduces it by up to a quarter
  int64_t give_up_ms = 120'000;       // time for one call without success
  int64_t first_contact_ms = 10'000;  // the same, if the file system was never reached
  int attempts_max = 200;
};

class RetryBudget {
 public:
  // `seed` spreads the waits of several callers.
  RetryBudget(const RetryOptions& options, uint64_t seed) : options_(options), seed_(seed) {}

  // Counts elapsed time.
  void Spend(int64_t ms) { spent_ms_ += ms; }
  // Returns the wait before the next attempt (counted as spent), or nothing to give up. With
  // `at_once` the wait is 0, and only the number of attempts and the time spent count.
  std::optional<int64_t> NextWait(bool reached, bool at_once);
  // Resets the budget after progress.
  void Restart() { spent_ms_ = attempts_ = waits_ = 0; }

  int64_t spent_ms() const { return spent_ms_; }
  int64_t attempts() const { return attempts_; }

 private:
  RetryOptions options_;
  uint64_t seed_;
  int64_t spent_ms_ = 0;
  int64_t attempts_ = 0;  // failed attempts
  int64_t waits_ = 0;
};

}  // namespace espalier::storage
