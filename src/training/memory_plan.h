// The memory that training takes on one worker, planned before it is taken. Bytes throughout.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/spec/job_spec.h"
#include "src/training/step_machine.h"

namespace espalier {

// One worker's part in a generation.
struct MemoryPart {
  int64_t leaves = 1;  // that it computes
  // Copies of the job state: the state, the one that all had agreed on or that is written, and
  // beside others the one that is being compared.
  int64_t states = 2;
  int64_t pushers = 0;  // asynchronous training, at the holder of the parameters: the others
};

struct MemoryPlan {
  int64_t parameters = 0;   // count
  double model_bytes = 0;   // parameters, gradients and the optimizer's slots, in all copies
  double rows_bytes = 0;    // inputs and activations of a step's rows
  double totals_bytes = 0;  // of an evaluation
  double total_bytes() const { return model_bytes + rows_bytes + totals_bytes; }
};

// `element_bytes`: of one parameter.
MemoryPlan PlanMemory(const TrainingPlan& plan, const MemoryPart& part, int64_t element_bytes);

// What a small model takes is not counted against a worker's memory_bytes_max.
inline constexpr int64_t kModelAllowance = int64_t{64} << 20;

// What of `bytes` counts against memory_bytes_max.
int64_t BudgetedBytes(double bytes);

// kResourceExhausted, with the sum, when the plan does not fit into `budget` (memory_bytes_max).
Status CheckMemory(const MemoryPlan& plan, const MemoryPart& part, int64_t budget);

// A leaf takes too many rows of a step: kInvalidArgument.
Status CheckLeafRows(const TrainingPlan& plan);

// A lower bound of what a job's model counts against every worker's memory_bytes_max, known before
// its table is: the weights between hidden layers.
int64_t LeastModelBytes(const JobSpec& job);

}  // namespace espalier
