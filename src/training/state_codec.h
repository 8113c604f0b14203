// The job state as bytes, for members without it and for checkpoints.
//
// Layout, little-endian: "ESPS", layout version (uint32), bytes of an element (uint32), the fields
// in the order of TrainingState::VisitFields, and the CRC-32C of all preceding bytes (uint32).
// Integers are int64. Arrays are their number of elements (int64) and the elements. Optional values
// are a byte 0 or 1 and the value. Texts are their length (int64) and bytes. The decoder also reads
// older layouts: layout 6 has no DescentState, and layout 5 also has no AsyncCounts.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/training/step_machine.h"
#include "src/training/training_state.h"

namespace espalier::training {

// Allocates exactly the bytes of the result (memory_plan.h).
template <typename T>
std::string EncodeState(const TrainingState<T>& state);

// Parses a state. Errors are kBadInput with the problem found: damaged or truncated, another layout
// or precision, or a state that does not belong to this plan (other shapes, another optimizer,
// impossible numbers). Reserves no more memory than the bytes justify.
template <typename T>
Result<TrainingState<T>> DecodeState(std::string_view bytes, const TrainingPlan& plan);

// Returns a checksum of all numbers that later weights depend on, which members compare. 1 to 2^32.
template <typename T>
int64_t ChecksumOf(const TrainingState<T>& state);

}  // namespace espalier::training
