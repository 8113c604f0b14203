// The three fates of a message: older ones are dropped, those of the next generation or round are
// held, anything else is a protocol error. This is the one place that decides.
#pragma once

#include <cstdint>

#include "src/collective/message.h"

namespace espalier::collective {

enum class ReduceFate { kTake, kDrop, kHold, kError };

// What a member compares messages with.
struct ReduceIdentity {
  Incarnation incarnation;  // the newest seen when the generation began
  JobId job;
  Generation generation;
};

// `round` is the round the member is in. A message of a newer incarnation but the same generation
// is taken: the coordinator's restart changes nothing between members.
inline ReduceFate FateOf(const ReduceMessage& m, const ReduceIdentity& here, uint64_t round) {
  if (m.job != here.job) return ReduceFate::kDrop;
  if (m.generation < here.generation) return ReduceFate::kDrop;
  if (m.generation > here.generation) {
    return m.generation.value == here.generation.value + 1 ? ReduceFate::kHold : ReduceFate::kError;
  }
  if (m.round < round) return ReduceFate::kDrop;
  if (m.round == round) return ReduceFate::kTake;
  return m.round == round + 1 ? ReduceFate::kHold : ReduceFate::kError;
}

}  // namespace espalier::collective
