#include "src/spec/snapshots.h"

namespace espalier::spec {

const char* JobStateName(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return "QUEUED";
    case JobState::kProfiling:
      return "PROFILING";
    case JobState::kLoading:
      return "LOADING";
    case JobState::kTraining:
      return "TRAINING";
    case JobState::kRecovering:
      return "RECOVERING";
    case JobState::kSucceeded:
      return "SUCCEEDED";
    case JobState::kFailed:
      return "FAILED";
    case JobState::kCancelled:
      return "CANCELLED";
  }
  return "UNKNOWN";
}

}  // namespace espalier::spec
