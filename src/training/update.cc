#include "src/training/update.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <vector>

#include "src/base/check.h"
#include "src/model/metrics.h"
#include "src/model/optimizer.h"
#include "src/model/vector_math.h"

namespace espalier::training {

template <typename T>
bool UsesTotal(const UpdateAction& update, const TrainingState<T>& state) {
  return update.add || state.accumulated.empty();
}

template <typename T>
void AccumulateChunk(const UpdateAction& update, const plan::Chunk& chunk, const T* total,
                     TrainingState<T>& state) {
  if (!update.add) return;
  T* sum = state.accumulated.data() + chunk.offset;
  for (int64_t i = 0; i < chunk.size; ++i) sum[i] += total[i];
}

template <typename T>
const T* UpdateGradient(const plan::Chunk& chunk, const T* total, const TrainingState<T>& state) {
  return state.accumulated.empty() ? total : state.accumulated.data() + chunk.offset;
}

template <typename T>
void ApplyChunk(const TrainingPlan& plan, const UpdateAction& update, const plan::Chunk& chunk,
                const T* total, double clip_scale, TrainingState<T>& state) {
  T* slots[model::kSlotsMax] = {};
  ESPALIER_CHECK(state.slots.size() <= model::kSlotsMax, std::to_string(state.slots.size()));
  for (size_t k = 0; k < state.slots.size(); ++k) slots[k] = state.slots[k].data();
  model::ApplyUpdate<T>(plan.train, plan.shape, chunk, state.parameters.data(), slots,
                        UpdateGradient(chunk, total, state), update.inverse_weight, clip_scale,
                        update.learning_rate, update.update, update.decay_share);
  if (update.averaged > 0) {
    model::Average(plan.train.averaging, chunk, state.parameters.data(), update.averaged,
                   state.averaged.data());
  }
  if (state.accumulated.empty()) return;
  T* sum = state.accumulated.data() + chunk.offset;
  std::fill(sum, sum + chunk.size, T{0});
}

template <typename T>
void Advance(const TrainingPlan& plan, const UpdateAction& update,
             std::span<const plan::Chunk> chunks, const model::ForEach& each,
             TrainingState<T>& state) {
  std::vector<T*> slots;
  for (AlignedVector<T>& slot : state.slots) slots.push_back(slot.data());
  const double mean_loss = state.epoch_totals[model::kTotalLoss] * update.inverse_weight;
  model::AdvanceLbfgs<T>({plan.train, plan.shape, chunks, each}, mean_loss, update.inverse_weight,
                         state.lbfgs, state.parameters.data(), state.accumulated.data(),
                         slots.data());
  std::fill(state.accumulated.begin(), state.accumulated.end(), T{0});
}

// Calls ApplyChunk for all chunks. If gradient descent ends once an update moves the parameters too
// little, the state records whether this update did so. As in Spark, the first update does not
// count, because it has no earlier one for comparison.
template <typename T>
void Apply(const TrainingPlan& plan, const UpdateAction& update,
           std::span<const plan::Chunk> chunks,
           const std::function<const T*(int64_t chunk)>& total_of, double clip_scale,
           const model::ForEach& each, TrainingState<T>& state) {
  const auto count = static_cast<int64_t>(chunks.size());
  const double tolerance = plan.train.optimizer.step_tolerance;
  const bool judges = tolerance > 0 && update.update > 1;
  std::vector<double> moved(chunks.size(), 0.0), norms(chunks.size(), 0.0);
  each(count, [&](int64_t c) {
    const T* now = state.parameters.data() + chunks[c].offset;
    const std::vector<T> before(now, now + (judges ? chunks[c].size : 0));
    ApplyChunk(plan, update, chunks[c], total_of(c), clip_scale, state);
    if (!judges) return;
    moved[c] = model::SquaredDistance(chunks[c], before.data(), now);
    norms[c] = model::SquaredNorm(chunks[c], now, 1.0);
  });
  if (!judges) return;
  const double norm = std::sqrt(std::accumulate(norms.begin(), norms.end(), 0.0));
  state.descent.converged =
      std::sqrt(std::accumulate(moved.begin(), moved.end(), 0.0)) < tolerance * std::max(norm, 1.0);
}

template <typename T>
bool PerformUpdate(const TrainingPlan& plan, const UpdateAction& update,
                   std::span<const plan::Chunk> chunks,
                   const std::function<const T*(int64_t chunk)>& total_of,
                   const model::ForEach& each, TrainingState<T>& state) {
  const auto count = static_cast<int64_t>(chunks.size());
  std::atomic<bool> finite{true};
  if (UsesTotal(update, state)) {
    each(count, [&](int64_t c) {
      if (!model::AllFinite(total_of(c), chunks[c].size)) finite = false;
    });
  }
  if (!finite) return false;
  std::vector<double> squares(chunks.size(), 0.0);
  const bool clips = update.apply && plan.train.clip_norm > 0;
  if (clips || update.add) {
    each(count, [&](int64_t c) {
      AccumulateChunk(update, chunks[c], total_of(c), state);
      if (!clips) return;
      squares[c] = model::SquaredNorm<T>(chunks[c], UpdateGradient(chunks[c], total_of(c), state),
                                         update.inverse_weight);
    });
  }
  double norm_squared = 0;
  for (double s : squares) norm_squared += s;
  const double clip_scale = model::ClipScale(norm_squared, plan.train.clip_norm);
  if (update.apply && plan.Searches()) {
    Advance<T>(plan, update, chunks, each, state);
  } else if (update.apply) {
    Apply<T>(plan, update, chunks, total_of, clip_scale, each, state);
  }
  return true;
}

#define ESPALIER_INSTANTIATE(T)                                                                    \
  template bool UsesTotal<T>(const UpdateAction&, const TrainingState<T>&);                        \
  template void AccumulateChunk<T>(const UpdateAction&, const plan::Chunk&, const T*,              \
                                   TrainingState<T>&);                                             \
  template const T* UpdateGradient<T>(const plan::Chunk&, const T*, const TrainingState<T>&);      \
  template void ApplyChunk<T>(const TrainingPlan&, const UpdateAction&, const plan::Chunk&,        \
                              const T*, double, TrainingState<T>&);                                \
  template void Advance<T>(const TrainingPlan&, const UpdateAction&, std::span<const plan::Chunk>, \
                           const model::ForEach&, TrainingState<T>&);                              \
  template bool PerformUpdate<T>(                                                                  \
      const TrainingPlan&, const UpdateAction&, std::span<const plan::Chunk>,                      \
      const std::function<const T*(int64_t)>&, const model::ForEach&, TrainingState<T>&);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::training
