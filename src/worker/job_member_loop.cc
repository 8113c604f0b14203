// JobMember: the step loop of one generation, and the hooks for it.
#include <algorithm>
#include <utility>

#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/cluster/arrangement.h"
#include "src/training/state_codec.h"
#include "src/worker/async_trainer.h"
#include "src/worker/clock.h"
#include "src/worker/job_member.h"
#include "src/worker/reducer.h"

namespace espalier::worker {
namespace {

constexpr int64_t kPaceTellUs = 1'000'000;

}  // namespace

template <typename T>
Result<TrainerEnd> TypedJobMember<T>::TrainOn(const Place& place) {
  const cluster::StartTraining& start = place.order.order;
  TrainerOptions options;
  options.shuffle = spec_.data.shuffle;
  options.leaves = leaves_;
  options.own = place.own;
  options.members = static_cast<int32_t>(start.members.size());
  options.self = place.order.self;
  holder_ = start.members[plan::RootOf(place.tree)].worker;
  if (spec_.checkpoint) options.checkpoint_steps = spec_.checkpoint->every_steps.value_or(0);
  options.reduce_timeout_ms = hooks_.sum_timeout_ms;
  options.max_time_ms = spec_.train.max_time_ms.value_or(0);
  const auto evaluations = static_cast<int64_t>(machine_.state().history.size());
  options.history_told =
      static_cast<size_t>(std::max<int64_t>(0, evaluations - cluster::kHistoryRowsMax));
  if (begun_us_ == 0) begun_us_ = NowUs();
  options.begun_us = begun_us_;
  const std::unique_ptr<StepLoop> trainer = MakeLoop(place, options);
  {
    std::lock_guard lock(mutex_);
    if (interrupted_) return OrderCame();
    trainer_ = trainer.get();
    running_ = start.generation;
    if (switch_to_ > running_) trainer->SwitchTo(switch_to_);
    if (ends_early_ == running_) trainer->EndEarly();
  }
  auto end = CatchOutOfMemory([&] { return trainer->Run(); });
  {
    std::lock_guard lock(mutex_);
    trainer_ = nullptr;
  }
  if (!end.ok()) {
    // After a failed allocation the state may contain half of an update.
    if (end.status().code() == StatusCode::kResourceExhausted) differs_ = true;
    if (const auto d = trainer->divergence()) {
      broken_ = differs_ = true;
      hooks_.tell(cluster::StatesDiffer{start.job, start.generation, d->step, d->members});
    }
    return end;
  }
  if (end->finish) LogParts(start.job);
  return end;
}

template <typename T>
std::unique_ptr<StepLoop> TypedJobMember<T>::MakeLoop(const Place& place,
                                                      const TrainerOptions& options) {
  if (async()) {
    return std::make_unique<AsyncTrainer<T>>(machine_, options, row_source_, pool_,
                                             static_cast<AsyncExchange&>(*exchange_), times_,
                                             Hooks(place));
  }
  return std::make_unique<Trainer<T>>(machine_, options, row_source_, pool_,
                                      static_cast<Reducer&>(*exchange_), place.root, times_,
                                      Hooks(place));
}

template <typename T>
void TypedJobMember<T>::LogParts(JobId job) const {
  if (async()) {
    const spec::AsyncCounts& counts = machine_.state().async;
    return LogInfo(ToString(job) + ": no gradient was applied more than " +
                   std::to_string(counts.largest_lag) + " steps late, " +
                   std::to_string(counts.refused) + " were refused");
  }
  const StepParts& sums = times_.sums;
  const double steps = static_cast<double>(std::max<int64_t>(1, times_.steps));
  LogInfo(ToString(job) + ": a step's mean parts in ms: leaves " +
          std::to_string(sums.leaves_ms / steps) + ", gradients " +
          std::to_string(sums.gradients_ms / steps) + ", waiting for sums " +
          std::to_string(sums.wait_ms / steps) + ", update " +
          std::to_string(sums.update_ms / steps));
}

template <typename T>
TrainerHooks TypedJobMember<T>::Hooks(const Place& place) {
  TrainerHooks hooks;
  hooks.now_us = NowUs;
  const cluster::StartTraining& start = place.order.order;
  const JobId job = start.job;
  const Generation generation = start.generation;
  const bool root = place.root;
  const double epochs_total =
      spec::EpochLimit(spec_.train).value_or(0) * static_cast<double>(spec_.train.ensemble.fits);
  hooks.on_report = [this, job, generation, root, epochs_total](const StepReport& r) {
    hooks_.on_step(r.step);
    if (!root) return;
    spec::JobProgress p;
    p.step = r.step;
    p.steps_total = r.steps_total;
    p.epoch = r.epoch;
    p.epochs_total = epochs_total;
    p.loss = r.running.loss;
    p.accuracy = r.running.accuracy;
    p.learning_rate = r.learning_rate;
    p.rows_per_second = r.rows_per_second;
    p.phase = r.evaluating ? "evaluating" : "training";
    p.phase_share = r.evaluated_share;
    hooks_.tell(cluster::Progress{job, generation, std::move(p)});
  };
  if (root) {
    hooks.on_history = [this, job, generation](int64_t number, const spec::HistoryRow& row) {
      hooks_.tell(cluster::HistoryEntry{job, generation, row, number});
    };
    hooks.on_pace = [this, &start](const std::vector<double>& leaf_ms) {
      TellPace(start, leaf_ms);
    };
    hooks.agreement_due = [this, &place] {
      return hooks_.checkpoint_due(RootStateOf(place, machine_.state()));
    };
  }
  hooks.on_first_totals = [this] {
    Withdraw();
    before_.reset();
  };
  if (async()) {  // only one member has the state, so there is no comparison
    hooks.on_agreed = [this, &place] { hooks_.on_agreed(RootStateOf(place, machine_.state())); };
    hooks.offer_state = [this, &place] { OfferState(place.order); };
    hooks.fetch_state = [this, &place](uint64_t round) {
      return FetchState(place.order, plan::RootOf(place.tree), round);
    };
    if (hooks_.probe != nullptr) Probe(generation, hooks);
    return hooks;
  }
  const bool alone = place.tree.size() == 1;  // then its own state is the agreed one
  if (!alone) hooks.on_compare = [this] { compared_ = machine_.state(); };
  hooks.on_agreed = [this, &place, alone] {
    if (alone) {
      agreed_ = machine_.state();
    } else {
      agreed_ = std::exchange(compared_, std::nullopt);
    }
    if (place.root) hooks_.on_agreed(RootStateOf(place, *agreed_));
  };
  if (hooks_.probe != nullptr) Probe(generation, hooks);
  return hooks;
}

template <typename T>
void TypedJobMember<T>::Probe(Generation generation, TrainerHooks& hooks) {
  StepProbe* const probe = hooks_.probe;
  hooks.on_boundary = [this, probe] {
    training::TrainingState<T>& state = machine_.state();
    probe->OnBoundary(state.step, std::as_writable_bytes(std::span(state.parameters)));
  };
  hooks.on_leaf = [=](const training::GradientAction& step, int32_t leaf,
                      std::span<const int64_t> rows) {
    probe->OnLeaf(generation, step.step, step.epoch, leaf, rows);
  };
  hooks.on_commit = [=](int64_t step) { probe->OnCommit(generation, step); };
}

template <typename T>
RootState TypedJobMember<T>::RootStateOf(const Place& place,
                                         const training::TrainingState<T>& state) {
  return {place.order.order, place.order.self, state.step, state.accepted,
          [&state] { return training::EncodeState(state); }};
}

template <typename T>
void TypedJobMember<T>::TellPace(const cluster::StartTraining& order,
                                 const std::vector<double>& leaf_ms) {
  if (std::any_of(leaf_ms.begin(), leaf_ms.end(), [](double ms) { return !(ms > 0); })) return;
  if (NowUs() - pace_told_us_ < kPaceTellUs || !cluster::BetterOwnership(order.leaves, leaf_ms))
    return;
  pace_told_us_ = NowUs();
  hooks_.tell(cluster::Uneven{order.job, order.generation, machine_.state().step, leaf_ms});
}

#define ESPALIER_INSTANTIATE(T)                                                                  \
  template Result<TrainerEnd> TypedJobMember<T>::TrainOn(const Place& place);                    \
  template std::unique_ptr<StepLoop> TypedJobMember<T>::MakeLoop(const Place& place,             \
                                                                 const TrainerOptions& options); \
  template void TypedJobMember<T>::LogParts(JobId job) const;                                    \
  template TrainerHooks TypedJobMember<T>::Hooks(const Place& place);                            \
  template void TypedJobMember<T>::Probe(Generation generation, TrainerHooks& hooks);            \
  template RootState TypedJobMember<T>::RootStateOf(const Place& place,                          \
                                                    const training::TrainingState<T>& state);    \
  template void TypedJobMember<T>::TellPace(const cluster::StartTraining& order,                 \
                                            const std::vector<double>& leaf_ms);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::worker
