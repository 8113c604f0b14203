// JobMember: the hooks of its trainers, and the loop of asynchronous training.
#include <algorithm>
#include <utility>

#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "src/training/state_codec.h"
#include "src/worker/clock.h"
#include "src/worker/job_member.h"

namespace espalier::worker {

template <typename T>
TrainerOptions JobMember<T>::OptionsOf(const member::Place& place) const {
  TrainerOptions options;
  options.shuffle = spec_.data.shuffle;
  options.leaves = leaves_;
  options.own = place.own;
  options.members = place.members();
  options.self = place.self();
  options.reduce_timeout_ms = hooks_.sum_timeout_ms;
  return options;
}

template <typename T>
std::function<void(const StepReport&)> JobMember<T>::ReportsOf(const member::Place& place) {
  const double epochs_total =
      spec::EpochLimit(spec_.train).value_or(0) * static_cast<double>(spec_.train.ensemble.fits);
  return [this, at = place.at(), root = place.root(), epochs_total](const StepReport& r) {
    hooks_.on_step(r.step);
    if (!root) return;
    spec::JobProgress p;
    p.step = r.step;
    p.steps_total = r.steps_total;
    p.epoch = r.epoch;
    p.epochs_total = epochs_total;
    p.fit = r.fit;
    p.fits = r.fits;
    p.fit_epoch = r.fit_epoch;
    p.loss = r.running.loss;
    p.accuracy = r.running.accuracy;
    p.learning_rate = r.learning_rate;
    p.rows_per_second = r.rows_per_second;
    p.phase = r.evaluating ? "evaluating" : "training";
    p.phase_share = r.evaluated_share;
    hooks_.report(cluster::Progress{at.job, at.generation, std::move(p)});
  };
}

template <typename T>
TrainerHooks JobMember<T>::HooksOf(const member::PlaceRef& place) {
  TrainerHooks hooks;
  hooks.now_us = NowUs;
  hooks.on_report = ReportsOf(*place);
  if (place->root()) {
    hooks.checkpoint_due = [this, place] {
      return hooks_.checkpoint_due(RootStateOf(*place, machine_.state()));
    };
  }
  StepProbe* const probe = hooks_.probe;
  if (probe == nullptr) return hooks;
  const Generation generation = place->at().generation;
  hooks.on_boundary = [this, probe] {
    probe->OnBoundary(machine_.state().step, std::as_bytes(std::span(machine_.state().parameters)));
  };
  hooks.on_leaf = [=](const training::GradientAction& step, int32_t leaf,
                      std::span<const int64_t> rows) {
    probe->OnLeaf(generation, step.step, step.epoch, leaf, rows);
  };
  hooks.on_commit = [=](int64_t step) { probe->OnCommit(generation, step); };
  return hooks;
}

// Makes the trainer, which needs the rows of the own leaves.
template <typename T>
void JobMember<T>::Perform(const member::NextRound& action) {
  links_.trainer =
      std::make_unique<Trainer<T>>(machine_, OptionsOf(*action.place), row_source_, pool_,
                                   *links_.reducer, times_, HooksOf(action.place));
  {
    MutexLock lock(mutex_);
    trainer_ = links_.trainer.get();
    if (!abort_.ok()) trainer_->Abort(abort_);
  }
  Post(links_.trainer->NextRound());
}

template <typename T>
void JobMember<T>::Perform(const member::ReportHistory& action) {
  const cluster::JobPoint at = action.place->at();
  const std::vector<spec::HistoryRow>& rows = machine_.state().history;
  for (size_t i = action.first; i < rows.size(); ++i) {
    hooks_.report(cluster::HistoryEntry{at.job, at.generation, rows[i], static_cast<int64_t>(i)});
  }
}

template <typename T>
void JobMember<T>::LogParts(JobId job) const {
  if (async()) {
    const spec::AsyncCounts& counts = machine_.state().async;
    return LogInfo(ToString(job) + ": no gradient was applied more than " +
                   Counted(counts.largest_lag, "step") +
                   " late; refused: " + HumanCount(counts.refused));
  }
  const StepParts& sums = times_.sums;
  const double steps = static_cast<double>(std::max<int64_t>(1, times_.steps));
  LogInfo(ToString(job) + ": mean time per step, in ms: leaves " +
          std::to_string(sums.leaves_ms / steps) + ", gradients " +
          std::to_string(sums.gradients_ms / steps) + ", waiting for sums " +
          std::to_string(sums.wait_ms / steps) + ", update " +
          std::to_string(sums.update_ms / steps));
}

// ---- asynchronous training -------------------------------------------------------------------

template <typename T>
AsyncHooks JobMember<T>::AsyncHooksOf(const member::PlaceRef& place) {
  AsyncHooks hooks;
  hooks.now_us = NowUs;
  hooks.on_report = ReportsOf(*place);
  // The job's thread is in the loop, so it performs what the core orders here.
  hooks.on_all_began = [this] {
    Perform(member::WithdrawState{});
    Perform(member::CloseLinksAside{});
  };
  if (place->root()) {
    hooks.on_history = [this, at = place->at()](int64_t number, const spec::HistoryRow& row) {
      hooks_.report(cluster::HistoryEntry{at.job, at.generation, row, number});
    };
    hooks.checkpoint_due = [this, place] {
      return hooks_.checkpoint_due(RootStateOf(*place, machine_.state()));
    };
    // Only one member has the state, so the members compare nothing.
    hooks.on_checkpoint = [this, place] {
      hooks_.on_agreed(RootStateOf(*place, machine_.state()));
    };
  }
  hooks.offer_state = [this, place] { Perform(member::OfferState{place}); };
  hooks.fetch_state = [this, place](uint64_t round) { return FetchRound(*place, round); };
  if (StepProbe* const probe = hooks_.probe) {
    hooks.on_leaf = [probe, generation = place->at().generation](
                        const training::GradientAction& step, int32_t leaf,
                        std::span<const int64_t> rows) {
      probe->OnLeaf(generation, step.step, step.epoch, leaf, rows);
    };
  }
  return hooks;
}

template <typename T>
void JobMember<T>::Perform(const member::RunLoop& action) {
  const member::Place& place = *action.place;
  holder_ = place.start().members[static_cast<size_t>(plan::RootOf(place.tree()))].worker;
  if (begun_us_ == 0) begun_us_ = NowUs();
  const auto evaluations = static_cast<int64_t>(machine_.state().history.size());
  AsyncOptions options{OptionsOf(place)};
  options.max_time_ms = spec_.train.max_time_ms.value_or(0);
  options.begun_us = begun_us_;
  options.history_reported =
      static_cast<size_t>(std::max<int64_t>(0, evaluations - cluster::kHistoryRowsMax));
  AsyncTrainer<T> loop(machine_, options, row_source_, pool_, *links_.exchange, times_,
                       AsyncHooksOf(action.place));
  {
    MutexLock lock(mutex_);
    loop_ = &loop;
    if (end_job_) loop.EndEarly();
    if (end_loop_) loop.SwitchTo(end_loop_);
  }
  const auto end = CatchOutOfMemory([&]() -> Result<AsyncEnd> {
    {
      MutexLock lock(mutex_);
      if (!abort_.ok()) return abort_;
    }
    return loop.Run();
  });
  {
    MutexLock lock(mutex_);
    loop_ = nullptr;
  }
  if (!end.ok()) return Post(member::LoopEnded{end.status()});
  finish_ = end->finish;
  Post(member::LoopEnded{{}, end->finish.has_value(), end->next, machine_.state().round});
}

template <typename T>
Status JobMember<T>::FetchRound(const member::Place& place, uint64_t round) {
  const member::MemberCoreOptions limits;
  const int32_t holder = plan::RootOf(place.tree());
  for (const int64_t begin_us = NowUs();;) {
    const member::StateFetched fetched = Fetch(place, holder, round);
    if (interrupted()) return member::OrderCame();
    if (fetched.status.ok()) {
      ESPALIER_RETURN_IF_ERROR(fetched.decoded);
      if (fetched.round == round) return Status::Ok();
      return FailedPrecondition("the holder's state is of round " + std::to_string(fetched.round) +
                                ", expected " + std::to_string(round));
    }
    if (fetched.status.code() != StatusCode::kNotFound ||
        NowUs() - begin_us > limits.fetch_limit_us) {
      Post(member::LinkBroke{place.at().generation, holder, fetched.status});
      return fetched.status;
    }
    Pause(limits.fetch_retry_us);
  }
}

#define ESPALIER_INSTANTIATE(T)                                                                  \
  template TrainerOptions JobMember<T>::OptionsOf(const member::Place&) const;                   \
  template std::function<void(const StepReport&)> JobMember<T>::ReportsOf(const member::Place&); \
  template TrainerHooks JobMember<T>::HooksOf(const member::PlaceRef&);                          \
  template void JobMember<T>::Perform(const member::NextRound&);                                 \
  template void JobMember<T>::Perform(const member::ReportHistory&);                             \
  template void JobMember<T>::LogParts(JobId) const;                                             \
  template AsyncHooks JobMember<T>::AsyncHooksOf(const member::PlaceRef&);                       \
  template void JobMember<T>::Perform(const member::RunLoop&);                                   \
  template Status JobMember<T>::FetchRound(const member::Place&, uint64_t);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::worker
