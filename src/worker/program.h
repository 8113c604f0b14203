// The whole program espalier-worker, but for its main function: a test gives it a probe.
//
// Thread rule: called once, by main.
#pragma once

#include "src/worker/step_probe.h"

namespace espalier::worker {

// The exit code: 0 ended as asked; 1 failed; 2 wrong flags or configuration; 77 the coordinator
// refused this worker's certificate, token or role, or is itself not believed: to start again mends
// nothing.
// `probe`, if any, must outlive the call.
int WorkerMain(int argc, char** argv, StepProbe* probe = nullptr);

}  // namespace espalier::worker
