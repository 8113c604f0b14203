#include "src/storage/retry.h"

#include <algorithm>

#include "src/base/random.h"

namespace espalier::storage {

std::optional<int64_t> RetryBudget::NextWait(bool reached, bool at_once) {
  const int64_t limit_ms = reached ? options_.give_up_ms : options_.first_contact_ms;
  if (++attempts_ >= options_.attempts_max || spent_ms_ >= limit_ms) return std::nullopt;
  if (at_once) return 0;
  const int64_t doubled = options_.wait_ms << std::min<int64_t>(waits_++, 20);
  int64_t wait = std::min(doubled, options_.wait_max_ms);
  wait -= static_cast<int64_t>(Mix64(seed_ + attempts_) % (wait / 4 + 1));
  wait = std::min(wait, limit_ms - spent_ms_);
  spent_ms_ += wait;
  return wait;
}

}  // namespace espalier::storage
