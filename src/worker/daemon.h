// The worker daemon: an event loop around WorkerCore. One thread runs the loop; links, the job's
// thread and the signals only post events to it. It never computes and never blocks: what may take
// long (reading the coordinator's address, tearing down a job) runs on a pool.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "src/base/service_manager.h"
#include "src/base/status.h"
#include "src/config/daemon_options.h"
#include "src/worker/step_probe.h"

namespace espalier::worker {

// What the shell hands in beside the options.
struct WorkerSurroundings {
  std::string arithmetic_id;  // of this process
  ServiceEnvironment service;
  // Reads the options again when SIGHUP asks for it; called on a pool.
  std::function<Result<config::WorkerOptions>()> reread;
  StepProbe* probe = nullptr;  // of a test
};

struct WorkerEnd {
  Status why;  // OK: as asked
  // The coordinator refused its certificate, token or role, or it does not believe the
  // coordinator's.
  bool not_believed = false;
};

// Runs until SIGTERM or SIGINT, a Dismiss or a final refusal. SIGHUP reads the options again: the
// log level changes at once, all else at the next start.
// REQUIRES: the BLAS kernel is verified.
WorkerEnd RunWorkerDaemon(const config::WorkerOptions& options,
                          const WorkerSurroundings& surroundings);

}  // namespace espalier::worker
