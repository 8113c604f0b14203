// Identifiers that move between machines. Identity is not an address: a coordinator assigns a
// WorkerId once and never reuses it for another worker. host:port is an attribute.
//
// Thread rule: values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace espalier {

// A number that cannot be mixed up with another kind of number. 0 means none.
template <typename Tag>
struct Number {
  uint64_t value = 0;
  auto operator<=>(const Number&) const = default;
  explicit operator bool() const { return value != 0; }
};

using WorkerId = Number<struct WorkerIdTag>;
using JobId = Number<struct JobIdTag>;              // shown as "job-17"
using Generation = Number<struct GenerationTag>;    // the numbered membership of one job
using Incarnation = Number<struct IncarnationTag>;  // the numbered life of a coordinator

inline std::string ToString(JobId id) { return "job-" + std::to_string(id.value); }
inline std::string ToString(WorkerId id) { return "worker-" + std::to_string(id.value); }

}  // namespace espalier
