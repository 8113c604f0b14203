// JobMember: bringing the job state to the start of a generation.
#include <algorithm>
#include <chrono>
#include <utility>

#include "src/base/log.h"
#include "src/training/state_codec.h"
#include "src/worker/clock.h"
#include "src/worker/job_member.h"

namespace espalier::worker {
namespace {

constexpr auto kFetchRetry = std::chrono::milliseconds(10);
constexpr int64_t kFetchTimeoutMs = 60'000;
constexpr int64_t kStateSlackBytes = int64_t{256} << 20;  // allowance for history and metrics

}  // namespace

template <typename T>
Result<cluster::Proceed> TypedJobMember<T>::WaitForProceed(const TrainingOrder& order) {
  std::unique_lock lock(mutex_);
  const auto came = [&] { return proceed_ && proceed_->generation == order.order.generation; };
  changed_.wait(lock, [&] { return interrupted_ || came(); });
  if (interrupted_) return OrderCame();
  return *proceed_;
}

// Brings the state to the round that all members begin, or offers it to others.
template <typename T>
Status TypedJobMember<T>::Level(const TrainingOrder& order,
                                const espalier::cluster::Proceed& proceed) {
  const uint64_t round = machine_.state().round;
  const auto members = static_cast<int32_t>(order.order.members.size());
  if (proceed.holder >= members || round > proceed.round ||
      (proceed.holder == order.self && round != proceed.round)) {
    return FailedPrecondition(
        "the coordinator's Proceed names round " + std::to_string(proceed.round) + " of member " +
        std::to_string(proceed.holder) + ", this worker is at round " + std::to_string(round));
  }
  if (!unread_.ok() && round == proceed.round) {
    return unread_.Wrap(
        "the state to resume from cannot be read; submit the job again when it is readable");
  }
  if (round < proceed.round) {
    ESPALIER_RETURN_IF_ERROR(FetchState(order, proceed.holder, proceed.round));
    if (order.order.reverts) agreed_ = machine_.state();
  }
  if (proceed.fetched) OfferState(order);
  return Status::Ok();
}

template <typename T>
void TypedJobMember<T>::OfferState(const TrainingOrder& order) {
  const auto bytes = std::make_shared<const std::string>(training::EncodeState(machine_.state()));
  offered_ = rpc::MemberKey{order.order.incarnation, order.order.job, order.order.generation,
                            static_cast<uint32_t>(order.self)};
  rpc::StateOffer offer;
  for (const cluster::Member& m : order.order.members) offer.members.push_back(m.name);
  offer.encode = [bytes] { return bytes; };
  peers_.OfferState(*offered_, std::move(offer));
}

template <typename T>
Status TypedJobMember<T>::FetchState(const TrainingOrder& order, int32_t holder_index,
                                     std::optional<uint64_t> round) {
  const int64_t begin_us = NowUs();
  const cluster::Member& holder = order.order.members[holder_index];
  const rpc::MemberKey key{order.order.incarnation, order.order.job, order.order.generation,
                           static_cast<uint32_t>(holder_index)};
  rpc::StateFetch fetch;
  fetch.holder = holder.name;
  // The slots, the parameters, the best and the averaged ones, the accumulated gradient, and twice
  // those of all fits.
  const auto vectors =
      static_cast<int64_t>(machine_.state().slots.size()) + 4 + 2 * spec_.train.ensemble.fits;
  fetch.bytes_max =
      vectors * model::ParameterCount(machine_.plan().shape) * static_cast<int64_t>(sizeof(T)) +
      kStateSlackBytes;
  fetch.timeout_ms = kFetchTimeoutMs;
  fetch.cancelled = [this] { return interrupted(); };
  for (;;) {
    Result<std::string> bytes = peers_.FetchState(holder.address, key, fetch);
    if (interrupted()) return OrderCame();
    if (bytes.ok()) {
      ESPALIER_ASSIGN_OR_RETURN(training::TrainingState<T> state,
                                training::DecodeState<T>(*bytes, machine_.plan()));
      if (round && state.round != *round) {
        return FailedPrecondition("the state of " + holder.name + " is of round " +
                                  std::to_string(state.round) + ", expected " +
                                  std::to_string(*round));
      }
      machine_ = training::StepMachine<T>(machine_.plan(), std::move(state));
      LogInfo(ToString(key.job) + ": fetched the job state, " + std::to_string(bytes->size()) +
              " bytes of round " + std::to_string(machine_.state().round) + ", from " +
              holder.name + " in " + std::to_string((NowUs() - begin_us) / 1000) + " ms");
      return Status::Ok();
    }
    // The holder may not have received its Proceed yet. The time of a planned change is unknown.
    const bool early = bytes.status().code() == StatusCode::kNotFound &&
                       (!round || NowUs() - begin_us < kFetchTimeoutMs * 1000);
    if (!early) {
      if (exchange_) {  // reports the failure, unless it has already
        exchange_->OnBroken(key.generation, key.member, bytes.status());
      } else {
        broken_ = true;
        TellBroken(order.order, holder_index, bytes.status());
      }
      return bytes.status();
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kFetchRetry, [this] { return interrupted_; });
  }
}

template <typename T>
HeldState TypedJobMember<T>::Held() const {
  const training::TrainingState<T>& state = machine_.state();
  return {state.step, state.accepted, training::EncodeState(state)};
}

template <typename T>
HeldState TypedJobMember<T>::Agreed() const {
  if (!agreed_) return {};
  return {agreed_->step, agreed_->accepted, training::EncodeState(*agreed_)};
}

template <typename T>
void TypedJobMember<T>::Revert() {
  const int64_t from = machine_.state().step;
  if (agreed_) {
    machine_ = training::StepMachine<T>(machine_.plan(), *agreed_);
  } else {
    machine_ = training::StepMachine<T>(machine_.plan());
    machine_.Begin();
  }
  LogWarning("the members' states differ; from step " + std::to_string(from) + " back to step " +
             std::to_string(machine_.state().step) + ", on which all agreed");
}

template Result<cluster::Proceed> TypedJobMember<float>::WaitForProceed(const TrainingOrder& order);
template Status TypedJobMember<float>::Level(const TrainingOrder& order,
                                             const cluster::Proceed& proceed);
template void TypedJobMember<float>::OfferState(const TrainingOrder& order);
template Status TypedJobMember<float>::FetchState(const TrainingOrder& order, int32_t holder,
                                                  std::optional<uint64_t> round);
template HeldState TypedJobMember<float>::Held() const;
template HeldState TypedJobMember<float>::Agreed() const;
template void TypedJobMember<float>::Revert();
template Result<cluster::Proceed> TypedJobMember<double>::WaitForProceed(
    const TrainingOrder& order);
template Status TypedJobMember<double>::Level(const TrainingOrder& order,
                                              const cluster::Proceed& proceed);
template void TypedJobMember<double>::OfferState(const TrainingOrder& order);
template Status TypedJobMember<double>::FetchState(const TrainingOrder& order, int32_t holder,
                                                   std::optional<uint64_t> round);
template HeldState TypedJobMember<double>::Held() const;
template HeldState TypedJobMember<double>::Agreed() const;
template void TypedJobMember<double>::Revert();

}  // namespace espalier::worker
