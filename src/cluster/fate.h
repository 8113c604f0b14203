// The one place that decides what becomes of a message about a job that coordinator and worker send
// each other. (Messages between workers: collective/.)
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

enum class Fate {
  kObey,   // it belongs to what the receiver is doing
  kDrop,   // it belongs to something over: another job, or an older generation
  kError,  // it belongs to a generation that the receiver cannot have heard of from this sender
};

// `message`: what it names; `current`: what the receiver is doing (no job: 0, 0).
inline Fate JudgeMessage(JobPoint message, JobPoint current) {
  if (!current.job || message.job != current.job) return Fate::kDrop;
  if (message.generation < current.generation) return Fate::kDrop;
  return message.generation == current.generation ? Fate::kObey : Fate::kError;
}

}  // namespace espalier::cluster
