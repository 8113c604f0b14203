// The only filter for reduce messages. A member drops older messages, holds those of the next
// generation or round, and treats all other mismatches as protocol errors.
//
// Thread rule: pure function.
#pragma once

#include <cstdint>

#include "src/collective/message.h"

namespace espalier::collective {

enum class ReduceDecision { kTake, kDrop, kHold, kError };

// The values with which a member compares messages.
struct ReduceIdentity {
  Incarnation incarnation;  // newest one seen when the generation began
  JobId job;
  Generation generation;
};

// Returns what the member does with a message. `round`: the member's present round. The member
// takes a message of the same generation but a newer incarnation, because a restart of the
// coordinator changes nothing between members.
inline ReduceDecision FilterMessage(const ReduceMessage& m, const ReduceIdentity& here,
                                    uint64_t round) {
  if (m.job != here.job) return ReduceDecision::kDrop;
  if (m.generation < here.generation) return ReduceDecision::kDrop;
  if (m.generation > here.generation) {
    return m.generation.value == here.generation.value + 1 ? ReduceDecision::kHold
                                                           : ReduceDecision::kError;
  }
  if (m.round < round) return ReduceDecision::kDrop;
  if (m.round == round) return ReduceDecision::kTake;
  return m.round == round + 1 ? ReduceDecision::kHold : ReduceDecision::kError;
}

}  // namespace espalier::collective
