// The job state as bytes: what a member sends to one that lacks it, and what a checkpoint holds.
//
// Little-endian. "ESPS", layout version (uint32), bytes of an element (uint32), then the fields in
// the order of TrainingState::VisitFields: integers as int64, arrays as their number of elements
// (int64) and the elements, optional values as a byte 0 or 1 and the value, text as its length
// (int64) and bytes; at the end the CRC-32C of all before it (uint32). States of before are read
// too: those of layout 6 lack DescentState, those of layout 5 also AsyncCounts.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/training/step_machine.h"
#include "src/training/training_state.h"

namespace espalier::training {

template <typename T>
std::string EncodeState(const TrainingState<T>& state);

// kBadInput with what was found: damaged or cut off, of another layout or precision, or a state
// that is not one of this plan's (other shapes, another optimizer, numbers that cannot be). Nothing
// is reserved that the bytes do not hold.
template <typename T>
Result<TrainingState<T>> DecodeState(std::string_view bytes, const TrainingPlan& plan);

}  // namespace espalier::training
