// The filter for job messages between coordinator and worker. (Messages between workers:
// collective/.)
//
// Thread rule: pure function.
#pragma once

#include "src/base/ids.h"

namespace espalier::cluster {

// A point in a job's life: its numbered membership.
struct JobPoint {
  JobId job;
  Generation generation;
  bool operator==(const JobPoint&) const = default;
};

enum class MessageDecision {
  kObey,   // concerns the receiver's current work
  kDrop,   // concerns finished work: another job, or an older generation
  kError,  // names a generation that the sender cannot know
};

// Returns what the receiver does with a message. `message`: the point that the message names.
// `current`: the point where the receiver is (no job: 0, 0).
inline MessageDecision FilterMessage(JobPoint message, JobPoint current) {
  if (!current.job || message.job != current.job) return MessageDecision::kDrop;
  if (message.generation < current.generation) return MessageDecision::kDrop;
  return message.generation == current.generation ? MessageDecision::kObey
                                                  : MessageDecision::kError;
}

}  // namespace espalier::cluster
