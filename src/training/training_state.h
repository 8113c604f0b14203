// The job state: all that a member must hold to go on with a job. One struct, so that a joiner, a
// checkpoint and a resumed run can never lack a part of it.
//
// Thread rule: owned by the trainer's thread; its pool writes `parameters` and `slots` during an
// update and nobody reads meanwhile.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "src/base/aligned.h"
#include "src/spec/metrics.h"

namespace espalier {

template <typename T>
struct TrainingState {
  AlignedVector<T> parameters;          // flat, see plan/chunks.h
  std::vector<AlignedVector<T>> slots;  // the optimizer's, each like parameters
  int64_t step = 0;                     // committed steps
  int64_t updates = 0;                  // of them, those that changed the parameters
  uint64_t round = 0;                   // reductions begun: the number of the newest
  std::vector<double> epoch_totals;   // what the steps of this epoch added up to (model/metrics.h)
  std::optional<Metrics> train;       // of the last finished epoch (or the part of one at the end)
  std::optional<Metrics> validation;  // of the last evaluation
  // Early stopping.
  int64_t evaluations_without_gain = 0;
  std::optional<double> best_value;
  int64_t best_step = -1;
  AlignedVector<T> best_parameters;  // empty unless they are to be restored
};

}  // namespace espalier
