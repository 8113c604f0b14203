// JobMember: generations that begin by plan, during the training.
#include <algorithm>
#include <utility>

#include "src/base/memory.h"
#include "src/worker/job_member.h"

namespace espalier::worker {

template <typename T>
Status TypedJobMember<T>::Join(const Place& place) {
  const TrainingOrder& order = place.order;
  Disconnect();
  ESPALIER_RETURN_IF_ERROR(rows_.Cover(RangesOf(place.own), order.order.generation));
  ESPALIER_RETURN_IF_ERROR(Reserve(place));
  hooks_.tell(
      cluster::MemberReady{order.order.job, order.order.generation, machine_.state().round});
  ESPALIER_RETURN_IF_ERROR(FetchState(order, order.order.holder, std::nullopt));
  // Reports this first, because a link that breaks at once must not be reported before it.
  hooks_.tell(cluster::Switched{order.order.job, order.order.generation, machine_.state().round});
  Connect(place);
  return Status::Ok();
}

template <typename T>
Status TypedJobMember<T>::SwitchInto(const Place& before, const Place& place) {
  Withdraw();
  before_ = std::move(exchange_);
  rows_.Adopt(RangesOf(place.own));
  const cluster::StartTraining& start = place.order.order;
  hooks_.tell(cluster::Switched{start.job, start.generation, machine_.state().round});
  Connect(place);
  const auto joins = [&](const cluster::Member& m) {
    const auto& members = before.order.order.members;
    return std::none_of(members.begin(), members.end(),
                        [&](const cluster::Member& b) { return b.worker == m.worker; });
  };
  const bool joined = std::any_of(start.members.begin(), start.members.end(), joins);
  if (joined && start.holder == place.order.self) OfferState(place.order);
  return Status::Ok();
}

template <typename T>
void TypedJobMember<T>::Prepare(const TrainingOrder& order) {
  std::lock_guard lock(mutex_);
  prepared_.reset();
  const uint64_t number = ++preparation_;
  preparing_ = std::thread([this, order, number, last = std::move(preparing_)]() mutable {
    if (last.joinable()) last.join();
    const auto stopped = [this, number] { return preparation_ != number; };
    const cluster::StartTraining& start = order.order;
    const Status staged = CatchOutOfMemory([&]() -> Status {
      ESPALIER_ASSIGN_OR_RETURN(const Place place, PlaceIn(order));
      ESPALIER_RETURN_IF_ERROR(rows_.Stage(RangesOf(place.own), start.generation, stopped));
      return stopped() ? Status::Ok() : Reserve(place);
    });
    if (stopped()) return;
    if (!staged.ok()) {
      hooks_.tell(cluster::JobFailed{start.job, start.generation, staged});
      return;
    }
    {
      std::lock_guard lock(mutex_);
      prepared_ = order;
    }
    hooks_.tell(cluster::MemberReady{start.job, start.generation, 1});
  });
}

template <typename T>
void TypedJobMember<T>::StopPreparing() {
  std::thread last;
  {
    std::lock_guard lock(mutex_);
    ++preparation_;
    last = std::move(preparing_);
    prepared_.reset();
    switch_to_ = {};
  }
  if (last.joinable()) last.join();
}

template <typename T>
std::optional<TrainingOrder> TypedJobMember<T>::TakePrepared(Generation next) {
  std::lock_guard lock(mutex_);
  switch_to_ = {};
  if (!prepared_ || prepared_->order.generation != next) return std::nullopt;
  return std::exchange(prepared_, std::nullopt);
}

template <typename T>
void TypedJobMember<T>::SwitchTo(Generation next) {
  std::lock_guard lock(mutex_);
  if (next <= running_) return;  // a repeated order; it has begun already
  switch_to_ = next;
  if (trainer_ != nullptr) trainer_->SwitchTo(next);
}

template <typename T>
void TypedJobMember<T>::EndEarly(Generation generation) {
  std::lock_guard lock(mutex_);
  ends_early_ = generation;
  if (trainer_ != nullptr && generation == running_) trainer_->EndEarly();
}

template Status TypedJobMember<float>::Join(const Place& place);
template Status TypedJobMember<float>::SwitchInto(const Place& before, const Place& place);
template void TypedJobMember<float>::Prepare(const TrainingOrder& order);
template void TypedJobMember<float>::StopPreparing();
template std::optional<TrainingOrder> TypedJobMember<float>::TakePrepared(Generation next);
template void TypedJobMember<float>::SwitchTo(Generation next);
template void TypedJobMember<float>::EndEarly(Generation generation);
template Status TypedJobMember<double>::Join(const Place& place);
template Status TypedJobMember<double>::SwitchInto(const Place& before, const Place& place);
template void TypedJobMember<double>::Prepare(const TrainingOrder& order);
template void TypedJobMember<double>::StopPreparing();
template std::optional<TrainingOrder> TypedJobMember<double>::TakePrepared(Generation next);
template void TypedJobMember<double>::SwitchTo(Generation next);
template void TypedJobMember<double>::EndEarly(Generation generation);

}  // namespace espalier::worker
