// Memory of training on one worker, computed before it is allocated. All sizes are in bytes.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/spec/job_spec.h"
#include "src/training/step_machine.h"

namespace espalier::training {

// Work of one worker in a generation.
struct MemoryPart {
  int64_t leaves = 1;  // number of leaves that the worker computes
  // Copies of the job state: the current one, the last one that all members agreed on, and with
  // several members the one that is being compared.
  int64_t states = 2;
  // Encoded states (state_codec.h): the one that is offered or fetched when a generation begins. At
  // the root also the one that is written and its copy in the checkpoint file.
  int64_t encoded = 1;
  int64_t pushers = 0;  // asynchronous training, at the root: number of other members
};

struct MemoryPlan {
  int64_t parameters = 0;   // count
  double model_bytes = 0;   // all copies of parameters, gradients and optimizer state, also those
                            // of encoded states
  double rows_bytes = 0;    // inputs and activations of one step
  double totals_bytes = 0;  // totals of one evaluation
  double total_bytes() const { return model_bytes + rows_bytes + totals_bytes; }
};

// Returns the plan for parameters of `element_bytes` each.
MemoryPlan PlanMemory(const TrainingPlan& plan, const MemoryPart& part, int64_t element_bytes);

// Part of a model that does not count against memory_bytes_max.
inline constexpr int64_t kModelAllowance = int64_t{64} << 20;

// Returns the part of `bytes` above kModelAllowance.
int64_t BudgetedBytes(double bytes);

// Returns kResourceExhausted with the sum if the plan exceeds `budget` (memory_bytes_max).
Status CheckMemory(const MemoryPlan& plan, const MemoryPart& part, int64_t budget);

// Returns kInvalidArgument if a leaf has too many rows of a step.
Status CheckLeafRows(const TrainingPlan& plan);

// Returns kInvalidArgument if the job has too few rows to measure `train.intervals` by.
Status CheckHeldOutRows(const TrainingPlan& plan);

// Returns a lower bound of BudgetedBytes for a job's model, from the weights between hidden layers.
// The widths of inputs and outputs are unknown at submission.
int64_t LeastModelBytes(const spec::JobSpec& job);

}  // namespace espalier::training
