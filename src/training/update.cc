#include "src/training/update.h"

#include <algorithm>

#include "src/base/check.h"
#include "src/model/metrics.h"
#include "src/model/optimizer.h"

namespace espalier {

template <typename T>
bool UsesTotal(const UpdateAction& update, const TrainingState<T>& state) {
  return update.add || state.accumulated.empty();
}

template <typename T>
void AccumulateChunk(const UpdateAction& update, const Chunk& chunk, const T* total,
                     TrainingState<T>& state) {
  if (!update.add) return;
  T* sum = state.accumulated.data() + chunk.offset;
  for (int64_t i = 0; i < chunk.size; ++i) sum[i] += total[i];
}

template <typename T>
const T* UpdateGradient(const Chunk& chunk, const T* total, const TrainingState<T>& state) {
  return state.accumulated.empty() ? total : state.accumulated.data() + chunk.offset;
}

template <typename T>
void ApplyChunk(const TrainingPlan& plan, const UpdateAction& update, const Chunk& chunk,
                const T* total, double clip_scale, TrainingState<T>& state) {
  T* slots[kSlotsMax] = {};
  ESPALIER_CHECK(state.slots.size() <= kSlotsMax, std::to_string(state.slots.size()));
  for (size_t k = 0; k < state.slots.size(); ++k) slots[k] = state.slots[k].data();
  ApplyUpdate<T>(plan.train, plan.shape, chunk, state.parameters.data(), slots,
                 UpdateGradient(chunk, total, state), update.inverse_weight, clip_scale,
                 update.learning_rate, update.update);
  if (update.averaged > 0) {
    Average(plan.train.averaging, chunk, state.parameters.data(), update.averaged,
            state.averaged.data());
  }
  if (state.accumulated.empty()) return;
  T* sum = state.accumulated.data() + chunk.offset;
  std::fill(sum, sum + chunk.size, T{0});
}

template <typename T>
void Advance(const TrainingPlan& plan, const UpdateAction& update, std::span<const Chunk> chunks,
             const ForEach& each, TrainingState<T>& state) {
  std::vector<T*> slots;
  for (AlignedVector<T>& slot : state.slots) slots.push_back(slot.data());
  const double mean_loss = state.epoch_totals[kTotalLoss] * update.inverse_weight;
  AdvanceLbfgs<T>({plan.train, plan.shape, chunks, each}, mean_loss, update.inverse_weight,
                  state.lbfgs, state.parameters.data(), state.accumulated.data(), slots.data());
  std::fill(state.accumulated.begin(), state.accumulated.end(), T{0});
}

#define ESPALIER_INSTANTIATE(T)                                                                 \
  template bool UsesTotal<T>(const UpdateAction&, const TrainingState<T>&);                     \
  template void AccumulateChunk<T>(const UpdateAction&, const Chunk&, const T*,                 \
                                   TrainingState<T>&);                                          \
  template const T* UpdateGradient<T>(const Chunk&, const T*, const TrainingState<T>&);         \
  template void ApplyChunk<T>(const TrainingPlan&, const UpdateAction&, const Chunk&, const T*, \
                              double, TrainingState<T>&);                                       \
  template void Advance<T>(const TrainingPlan&, const UpdateAction&, std::span<const Chunk>,    \
                           const ForEach&, TrainingState<T>&);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier
