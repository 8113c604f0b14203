// The worker daemon: an event loop around WorkerCore. One thread runs the loop; links, the job's
// thread and the signals only post events to it. It never computes and never blocks: what may take
// long (reading the coordinator's address, tearing down a job) runs on a pool.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/config/daemon_options.h"
#include "src/worker/step_probe.h"

namespace espalier {

// Runs until a signal, a Dismiss or a final refusal; OK: it ended as asked.
// `probe`: of a test, or null.
// REQUIRES: the BLAS kernel is verified, `arithmetic_id` is this process's.
Status RunWorkerDaemon(const WorkerOptions& options, const std::string& arithmetic_id,
                       StepProbe* probe);

}  // namespace espalier
