// Trainer: the numbers that members add about themselves to a step's totals.
#include <map>
#include <utility>

#include "src/base/checksum.h"
#include "src/worker/trainer.h"

namespace espalier::worker {

template <typename T>
bool Trainer<T>::Compares(int64_t step) const {
  return compares_next_ || step % options_.agreement_steps == 0 ||
         (options_.checkpoint_steps > 0 && step % options_.checkpoint_steps == 0);
}

template <typename T>
void Trainer<T>::AddOwnNumbers(const training::GradientAction& step) {
  double* const own =
      work_.own_stats() + work_.StatsSize() - kMemberNumbers * (options_.members - options_.self);
  own[0] = leaf_ms_;
  own[1] = 0;
  if (!Compares(step.step)) return;
  if (hooks_.on_compare) hooks_.on_compare();
  if (options_.members == 1) return;
  const training::TrainingState<T>& state = machine_.state();
  const size_t bytes = state.parameters.size() * sizeof(T);
  uint32_t crc = Crc32c(state.parameters.data(), bytes);
  for (const AlignedVector<T>& slot : state.slots) crc = Crc32c(slot.data(), bytes, crc);
  for (const AlignedVector<T>* more :
       {&state.accumulated, &state.averaged, &state.ensemble.weights}) {
    crc = Crc32c(more->data(), more->size() * sizeof(T), crc);
  }
  own[1] = static_cast<double>(crc) + 1;  // never 0
}

template <typename T>
Status Trainer<T>::HearMembers(const training::GradientAction& step, const double* numbers) {
  const bool compares = Compares(step.step);
  if (options_.members == 1) {
    if (compares && hooks_.on_agreed) hooks_.on_agreed();
    return Status::Ok();
  }
  pace_sum_.resize(options_.members);
  for (int32_t m = 0; m < options_.members; ++m) pace_sum_[m] += numbers[kMemberNumbers * m];
  if (++pace_steps_ == options_.pace_steps) {
    for (double& p : pace_sum_) p /= static_cast<double>(pace_steps_);
    if (is_root_ && hooks_.on_pace) hooks_.on_pace(pace_sum_);
    pace_sum_.assign(options_.members, 0);
    pace_steps_ = 0;
  }
  return compares ? Compare(step, numbers + 1) : Status::Ok();
}

template <typename T>
Status Trainer<T>::Compare(const training::GradientAction& step, const double* checksums) {
  std::map<double, int32_t> votes;
  for (int32_t m = 0; m < options_.members; ++m) ++votes[checksums[kMemberNumbers * m]];
  if (votes.size() == 1) {
    if (hooks_.on_agreed) hooks_.on_agreed();
    return Status::Ok();
  }
  Divergence found{step.step, {}};
  for (const auto& [checksum, count] : votes) {
    if (2 * count <= options_.members) continue;
    for (int32_t m = 0; m < options_.members; ++m) {
      if (checksums[kMemberNumbers * m] != checksum) found.members.push_back(m);
    }
  }
  divergence_ = std::move(found);
  totals_.clear();
  return Status(StatusCode::kDataLoss,
                "the members' job states differ before step " + std::to_string(step.step + 1));
}

template bool Trainer<float>::Compares(int64_t step) const;
template void Trainer<float>::AddOwnNumbers(const training::GradientAction& step);
template Status Trainer<float>::HearMembers(const training::GradientAction& step,
                                            const double* numbers);
template Status Trainer<float>::Compare(const training::GradientAction& step,
                                        const double* checksums);
template bool Trainer<double>::Compares(int64_t step) const;
template void Trainer<double>::AddOwnNumbers(const training::GradientAction& step);
template Status Trainer<double>::HearMembers(const training::GradientAction& step,
                                             const double* numbers);
template Status Trainer<double>::Compare(const training::GradientAction& step,
                                         const double* checksums);

}  // namespace espalier::worker
