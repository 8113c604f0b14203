// The program espalier-worker without its main function, so that a test can pass a probe.
//
// Thread rule: called once, by main.
#pragma once

#include <string>

#include "src/worker/step_probe.h"

namespace espalier::worker {

// Returns whether the kernel ended the process before this one for lack of memory. The systemd unit
// then leaves the file `oom-kill` in RUNTIME_DIRECTORY. Deletes the file, so that each end is
// reported once. `runtime_directory` is empty without such a unit.
bool TakeOutOfMemoryMark(const std::string& runtime_directory);

// Runs the program and returns the exit code: 0, ended as requested; 1, failed; 2, wrong flags or
// configuration; 77, the coordinator rejected this worker's certificate, token or role, or this
// worker rejected the coordinator, so a restart does not help. `probe`, if any, must outlive the
// call.
int WorkerMain(int argc, char** argv, StepProbe* probe = nullptr);

}  // namespace espalier::worker
