// L-BFGS (Nocedal and Wright, "Numerical Optimization", 2nd edition, algorithm 7.5), as a state
// machine. Its input is the loss of all rows and its gradient at the requested point. It then moves
// the parameters to the next point. An iteration may therefore take several evaluations, and
// everything between them is in the job state.
//
// The objective is the mean loss plus weight_decay p^2 / 2 + l1 |p| for each parameter p that
// decays. The direction is -H g. H follows from the `history` newest pairs of a step and the change
// of the gradient along it. It is scaled by s.y / y.y of the newest pair. Pairs without positive
// curvature are left out. The step along the direction:
//
//   strong_wolfe  model/line_search.h, starting at the learning rate (in the first iteration at the
//                 learning rate / |g|). If a search fails, or its step is below 1e-10 / |g|, the
//                 pairs are dropped and the search is repeated along -g. If that fails too, the
//                 optimization ends.
//   none          a step of the learning rate (first: times min(1, 1 / sum |g_i|)), whatever
//                 the result: PyTorch's LBFGS without a line search.
//
// Convergence is as in Breeze: |g| <= max(tolerance |objective|, 1e-8), or the objectives of the
// last 20 iterations are within tolerance |first objective|.
//
// Dot products are double, over fixed tiles and chunks. They do not depend on the computing thread.
//
// Thread rule: pure functions over the caller's buffers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/model/line_search.h"
#include "src/model/network.h"
#include "src/plan/chunks.h"
#include "src/spec/job_spec.h"

namespace espalier::model {

// The meaning of the current parameters.
enum class LbfgsVerdict : uint8_t {
  kSearching,  // another point of the search; the newest iterate has not changed
  kMoved,      // the first point from a new iterate, which may be the start
  kConverged,  // finished: the newest iterate is new
  kStuck,      // finished: the search found no better point from the newest iterate
};

// Scalars of the algorithm, which are part of the job state.
struct LbfgsState {
  LineSearch search;
  bool begun = false;  // the start has been evaluated, so there is an iterate
  double first_objective = 0;
  double objective = 0;  // at the newest iterate
  // Objectives of the newest iterates except the start, at most kLbfgsMemory.
  std::vector<double> objectives;
  int64_t iterations = 0;
  int64_t pairs = 0, newest = 0;  // number of pairs, and index of the newest
  bool failed = false;            // the previous search failed
  // The last evaluation was not finite; set by the code that computes it.
  bool nonfinite = false;
  LbfgsVerdict verdict = LbfgsVerdict::kSearching;
};
inline constexpr size_t kLbfgsMemory = 20;

// Flat vectors of the algorithm, as optimizer slots: the newest iterate, its gradient and its
// direction, then the step and the gradient change of each pair.
enum LbfgsSlot : size_t { kLbfgsIterate, kLbfgsGradient, kLbfgsDirection, kLbfgsPairs };

// Calls body(i) for 0 <= i < count, in any order and on any threads, and waits for all calls.
using ForEach = std::function<void(int64_t count, const std::function<void(int64_t index)>& body)>;

template <typename T>
struct LbfgsJob {
  const spec::TrainSpec& train;
  const NetworkShape& shape;
  std::span<const plan::Chunk> chunks;
  const ForEach& each;
};

// Processes one evaluation. `gradient` [parameters] is the sum over all rows at `parameters`.
// `mean_loss` and `inverse_weight` are over the same rows. If state.nonfinite is set, none of them
// is read, and the state must have begun. Converts `gradient` to that of the objective, and moves
// `parameters` unless the optimization is finished. `slots` are SlotCount(optimizer) vectors. Do
// not call again after a finished verdict.
template <typename T>
void AdvanceLbfgs(const LbfgsJob<T>& job, double mean_loss, double inverse_weight,
                  LbfgsState& state, T* parameters, T* gradient, T* const* slots);

}  // namespace espalier::model
