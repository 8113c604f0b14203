// Exit codes of the program. They are a contract with scripts and never change.
#pragma once

#include "src/base/status.h"
#include "src/spec/snapshots.h"

namespace espalier::cli {

enum ExitCode : int {
  kExitSuccess = 0,
  kExitJobFailed = 1,     // job failed (bad rows included) or was cancelled
  kExitUsage = 2,         // wrong arguments or spec, output exists, file missing, header mismatch
  kExitUnreachable = 3,   // coordinator not reached
  kExitInterrupted = 130  // Ctrl-C on `train`, or on `submit` before the job was accepted
};

// Returns the code for an error before a job was accepted. kUnavailable and kDeadlineExceeded mean
// that the coordinator was not reached. Bad rows and internal errors are failures, and all others
// are usage errors.
inline ExitCode ExitCodeOf(const Status& error) {
  switch (error.code()) {
    case StatusCode::kOk:
      return kExitSuccess;
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
      return kExitUnreachable;
    case StatusCode::kBadInput:
    case StatusCode::kDataLoss:
    case StatusCode::kResourceExhausted:
    case StatusCode::kCancelled:
    case StatusCode::kAborted:
    case StatusCode::kInternal:
      return kExitJobFailed;
    default:
      return kExitUsage;
  }
}

// Returns the code for an error on this machine before a coordinator was asked. Unreachable storage
// is a failure, which may be temporary. Other errors are problems of the spec.
inline ExitCode PlanExitCode(const Status& error) {
  switch (error.code()) {
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kResourceExhausted:
    case StatusCode::kInternal:
      return kExitJobFailed;
    case StatusCode::kCancelled:
      return kExitInterrupted;
    default:
      return kExitUsage;
  }
}

// Returns the code for a refused submission. Data errors are usage errors here: they come from
// headers and names, before any row was read, so the spec can fix them.
inline ExitCode SubmitExitCode(const Status& error) {
  return error.code() == StatusCode::kBadInput ? kExitUsage : ExitCodeOf(error);
}

// Returns the code for an accepted job that has ended. Problems of its spec were reported before.
inline ExitCode ExitCodeOf(const spec::JobSnapshot& job) {
  return job.state == spec::JobState::kSucceeded ? kExitSuccess : kExitJobFailed;
}

}  // namespace espalier::cli
