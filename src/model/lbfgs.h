// L-BFGS (Nocedal and Wright, "Numerical Optimization", 2nd edition, algorithm 7.5), as a machine:
// it is given the loss of all rows and its gradient at the point it asked for, and moves the
// parameters to the next one. So an iteration may take several evaluations, and everything between
// them is in the job state.
//
// The objective is the mean loss plus, of each parameter p that decays, weight_decay p^2 / 2 +
// l1 |p|. The direction is -H g, with H from the `history` newest pairs of a step and the change of
// the gradient along it, scaled by s.y / y.y of the newest; pairs without positive curvature are
// left out. Along it:
//
//   strong_wolfe  model/line_search.h, from the learning rate on (at the first iteration from the
//                 learning rate / |g|). When a search fails, or its step is below 1e-10 / |g|, the
//                 pairs are dropped and one along -g is made; when that fails too, it is over.
//   none          steps of the learning rate (the first one: times min(1, 1 / sum |g_i|)), whatever
//                 they lead to: PyTorch's LBFGS without a line search.
//
// It has converged, as Breeze's has, when |g| <= max(tolerance |objective|, 1e-8), or when the
// objectives of the last 20 iterations lie within tolerance |first objective|.
//
// Dot products are double, over fixed tiles and chunks, whoever computes them.
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

// What the parameters are now.
enum class LbfgsVerdict : uint8_t {
  kSearching,  // another point on the way; the newest iterate is as it was
  kMoved,      // a first point on the way from a new iterate, which may be the start
  kConverged,  // over: the newest iterate is new
  kStuck,      // over: no better point was found from the newest iterate
};

// Its numbers: part of the job state.
struct LbfgsState {
  LineSearch search;
  bool begun = false;  // the start has been evaluated: there is an iterate
  double first_objective = 0;
  double objective = 0;            // of the newest iterate
  std::vector<double> objectives;  // of the newest iterates but the start, at most kLbfgsMemory
  int64_t iterations = 0;
  int64_t pairs = 0, newest = 0;  // how many there are, and the place of the newest
  bool failed = false;            // the search before this one
  bool nonfinite = false;         // the evaluation asked for: set by whoever computes it
  LbfgsVerdict verdict = LbfgsVerdict::kSearching;
};
inline constexpr size_t kLbfgsMemory = 20;

// Its flat vectors, as optimizer slots: those of the newest iterate, the direction from it, then
// each pair's step and change of the gradient.
enum LbfgsSlot : size_t { kLbfgsIterate, kLbfgsGradient, kLbfgsDirection, kLbfgsPairs };

// Calls body(i) for 0 <= i < count, in any order and on any threads, and waits.
using ForEach = std::function<void(int64_t count, const std::function<void(int64_t index)>& body)>;

template <typename T>
struct LbfgsJob {
  const spec::TrainSpec& train;
  const NetworkShape& shape;
  std::span<const plan::Chunk> chunks;
  const ForEach& each;
};

// `gradient` [parameters] is the sum over all rows at `parameters`, `mean_loss` and
// `inverse_weight` are over the same rows; with state.nonfinite none of them is looked at, and the
// state must have begun. Turns `gradient` into that of the objective, and moves `parameters`, but
// not when it is over. `slots` are SlotCount(optimizer) vectors. A verdict that is over is the last
// one: not called again.
template <typename T>
void AdvanceLbfgs(const LbfgsJob<T>& job, double mean_loss, double inverse_weight,
                  LbfgsState& state, T* parameters, T* gradient, T* const* slots);

}  // namespace espalier::model
