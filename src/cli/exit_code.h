// What the program tells its caller by its exit code. A contract with scripts: never changed.
#pragma once

#include "src/base/status.h"
#include "src/spec/snapshots.h"

namespace espalier::cli {

enum ExitCode : int {
  kExitSuccess = 0,
  kExitJobFailed = 1,     // the job failed (bad rows included) or was cancelled
  kExitUsage = 2,         // wrong arguments or spec, output exists, file missing, header mismatch
  kExitUnreachable = 3,   // the coordinator was not reached
  kExitInterrupted = 130  // Ctrl-C on `train`, or on `submit` before the job was accepted
};

// The code for an error met before a job was accepted: kUnavailable and kDeadlineExceeded mean that
// the coordinator was not reached, bad rows and broken machinery are failures, all else is usage.
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

// The code for an error met on this machine before a coordinator was asked: storage that is away is
// a failure, which may be over later; all that was found wrong is the spec's to mend.
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

// The code for a submission that was not taken: what is wrong with the data then was seen in
// headers and names, before any row was read, and is the spec's to mend.
inline ExitCode SubmitExitCode(const Status& error) {
  return error.code() == StatusCode::kBadInput ? kExitUsage : ExitCodeOf(error);
}

// The code for a job that was accepted and has ended: what is wrong with its spec was said before.
inline ExitCode ExitCodeOf(const spec::JobSnapshot& job) {
  return job.state == spec::JobState::kSucceeded ? kExitSuccess : kExitJobFailed;
}

}  // namespace espalier::cli
