// The worker daemon: an event loop around WorkerCore. One thread runs the loop. Links, the job's
// thread and the signals only post events to it. The loop never computes and never blocks. Work
// that may take long (reading the coordinator's address, tearing down a job) runs on a pool.
//
// Thread rule: one call at a time (CrashWatch).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "src/base/service_manager.h"
#include "src/base/status.h"
#include "src/config/daemon_options.h"
#include "src/worker/step_probe.h"

namespace espalier::worker {

// Inputs from the program in addition to the options.
struct WorkerSurroundings {
  std::string arithmetic_id;  // arithmetic of this process
  ServiceEnvironment service;
  bool out_of_memory = false;  // the kernel ended the process before this one
  // Reads the options again after SIGHUP. Called on a pool.
  std::function<Result<config::WorkerOptions>()> reread;
  StepProbe* probe = nullptr;  // only in tests
};

struct WorkerEnd {
  Status why;  // OK: ended as requested
  // The coordinator rejected this worker's certificate, token or role, or this worker rejects the
  // coordinator's.
  bool not_believed = false;
};

// Runs until SIGTERM or SIGINT, a Dismiss, or a final refusal. On SIGHUP, it reads the options
// again. The log level changes at once, all other options at the next start. REQUIRES: the BLAS
// kernel is verified.
WorkerEnd RunWorkerDaemon(const config::WorkerOptions& options,
                          const WorkerSurroundings& surroundings);

}  // namespace espalier::worker
