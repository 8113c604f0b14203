// SimMember: the rounds of a generation, as in worker/trainer.cc.
#include <algorithm>
#include <utility>

#include "src/base/checksum.h"
#include "src/training/state_codec.h"
#include "tests/sim/member.h"
#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {

void SimMember::Train() {
  history_told_ = world_.bugs(Bug::kTellOnlyNewHistory) ? machine_.state().history.size() : 0;
  running_ = order_.generation;
  trained_ = true;
  state_ = State::kComputing;
  Go(machine_.Resume());
}

void SimMember::TellHistory() {
  const auto& rows = machine_.state().history;
  for (; history_told_ < rows.size() && root_; ++history_told_) {
    hooks_.tell(cluster::HistoryEntry{order_.job, order_.generation, rows[history_told_],
                                      static_cast<int64_t>(history_told_)});
  }
}

void SimMember::Go(training::Action action) {
  world_.checks.Reached(worker_, point_, toy_, machine_.state());
  TellHistory();
  if (auto* failed = std::get_if<training::FailAction>(&action)) return Finish(failed->error);
  if (auto* finish = std::get_if<training::FinishAction>(&action)) {
    finish_ = std::move(*finish);
    return Finish(Status::Ok());
  }
  if (interrupted_) return Finish(Cancelled("a newer order came"));
  if (next_) return EndGeneration(std::exchange(next_, {}));
  action_ = std::move(action);
  BeginRound();
}

void SimMember::BeginRound() {
  const collective::RoundShape shape = toy_.ShapeOf(action_);
  totals_.assign(shape.size(), {});
  early_.clear();
  missing_ = shape.size();
  state_ = State::kComputing;
  if (!rows_.Holds(own_)) world_.checks.Fail("a member begins a round without its rows");
  own_sums_ = toy_.Contribute(action_, WeightsFor(machine_, action_), Use());
  if (std::holds_alternative<training::GradientAction>(action_)) SayOwnWords();
  if (!alone_) Perform(reducer_->BeginRound(machine_.state().round, shape));
  if (worker_.alive()) Compute();
}

void SimMember::SayOwnWords() {
  const training::GradientAction& step = std::get<training::GradientAction>(action_);
  OwnWords words{self_, {}, leaf_ms_, 0};
  if (root_ && switch_to_ > running_) words.next = switch_to_;
  if (root_ && world_.bugs(Bug::kStampTwice) && order_.planned && !words.next) {
    words.next = order_.generation;
  }
  stamped_ = root_ && words.next;
  const training::TrainingState<Real>& state = machine_.state();
  if (step.step % kAgreementSteps == 0) compared_ = training::EncodeState(state);
  if (!alone_ && step.step % kAgreementSteps == 0) {
    const size_t bytes = state.parameters.size() * sizeof(Real);
    uint32_t crc = Crc32c(state.parameters.data(), bytes);
    for (const auto& slot : state.slots) crc = Crc32c(slot.data(), bytes, crc);
    for (const auto* more : {&state.accumulated, &state.averaged}) {
      crc = Crc32c(more->data(), more->size() * sizeof(Real), crc);
    }
    words.checksum = static_cast<double>(crc) + 1;  // never 0
  }
  toy_.Say(action_, words, own_sums_);
}

// Schedules one bucket after another, as the threads of the pool finish them.
void SimMember::Compute() {
  contributed_ = 0;
  const bool reversed = world_.dice.Once(4);
  const int64_t leaves = own_.end - own_.begin;
  compute_us_ = 0;
  for (size_t b = 0; b < own_sums_.size(); ++b) {
    compute_us_ += std::max<int64_t>(1, worker_.ComputeUs() * leaves / toy_.leaves());
    After(compute_us_,
          [this, bucket = reversed ? own_sums_.size() - 1 - b : b] { Contribute(bucket); });
  }
}

void SimMember::Contribute(size_t bucket) {
  if (worker_.Boundary()) return;
  if (stamped_ && world_.Strikes(Fault::kRootLostAtSwitch)) return worker_.Crash(true);
  if (alone_) {
    totals_[bucket] = own_sums_[bucket];
    --missing_;
  } else {
    Perform(reducer_->OnOwn(static_cast<uint32_t>(bucket), own_sums_[bucket]));
  }
  if (!worker_.alive() || ++contributed_ < own_sums_.size()) return;
  state_ = State::kTotals;
  Settle();
}

LeafUse SimMember::Use() const {
  LeafUse use{own_};
  use.in_order_of_arrival = world_.bugs(Bug::kSumInOrderOfArrival);
  if (!moved_) return use;
  const plan::LeafSpan before = own_before_;
  const int32_t leaves = toy_.leaves();
  if (world_.bugs(Bug::kSkipMovedLeaf)) {
    use.rows_of = [before](int32_t l) { return l >= before.begin && l < before.end ? l : -1; };
  }
  if (world_.bugs(Bug::kRowsOfOldOwnership)) {
    const int32_t shift = before.begin - own_.begin;
    use.rows_of = [shift, leaves](int32_t l) { return std::clamp(l + shift, 0, leaves - 1); };
  }
  if (world_.bugs(Bug::kCountMovedLeafTwice)) {
    if (before.begin < own_.begin) use.counted_too = before.begin;
    if (before.end > own_.end) use.counted_too = before.end - 1;
  }
  return use;
}

void SimMember::Perform(collective::ReduceActions actions) {
  for (collective::ReduceMessage& m : actions.send) {
    if (worker_.Boundary()) return;
    world_.peers.Send(point_, std::move(m));
  }
  for (collective::BucketTotal& t : actions.totals) {
    totals_[t.bucket] = std::move(t.payload);
    --missing_;
  }
  if (!actions.error.ok() && failure_.ok()) failure_ = actions.error.Wrap("the reduce broke down");
}

// Ends the wait for the totals. Commits complete totals even after a failure.
void SimMember::Settle() {
  if (worker_.Boundary()) return;
  if (missing_ == 0) return Commit();
  if (world_.bugs(Bug::kApplyBeforeWholeTotal) && totals_.back().data != nullptr) ApplyEarly();
  if (!failure_.ok()) Finish(failure_);
}

// Fills missing buckets with zeros, so that a bug can apply an incomplete total.
void SimMember::ApplyEarly() {
  const collective::RoundShape shape = toy_.ShapeOf(action_);
  early_ = totals_;
  for (size_t b = 0; b < early_.size(); ++b) {
    const auto size = static_cast<size_t>(shape[b].floats + 2 * shape[b].doubles);
    if (early_[b].data == nullptr)
      early_[b] = collective::MakePayload(AlignedVector<Real>(size, Real{0}));
  }
}

void SimMember::Commit() {
  if (!early_.empty()) totals_ = std::exchange(early_, {});
  // The total proves that every member has begun the generation.
  world_.peers.Withdraw(point_);
  CloseBefore();
  world_.checks.Counted(worker_, toy_, action_, totals_.back());
  std::vector<double> stats = toy_.Stats(action_, totals_.back());
  if (std::holds_alternative<training::GradientAction>(action_)) return CommitGradient(stats);
  if (world_.bugs(Bug::kEvaluateOwnRows)) stats = toy_.Stats(action_, own_sums_.back());
  Go(machine_.OnEvaluation(stats));
}

void SimMember::CommitGradient(const std::vector<double>& stats) {
  HearPace();
  if (!Agree(std::get<training::GradientAction>(action_))) return;
  next_ = toy_.Heard(action_, totals_.back()).next;
  if (next_ && world_.bugs(Bug::kSwitchBeforeUpdate) && !root_) {
    return Go(machine_.Resume());
  }
  if (world_.bugs(Bug::kOfferOlderState)) stale_ = training::EncodeState(machine_.state());
  training::Action next = machine_.OnGradient(stats);
  const auto* update = std::get_if<training::UpdateAction>(&next);
  if (update == nullptr) return Go(std::move(next));
  if (!world_.bugs(Bug::kInterruptBeforeUpdate)) return Update(*update);
  state_ = State::kLoading;  // a state in which an interruption takes effect
  After(5000, [this, u = *update] {
    if (!failure_.ok()) return Finish(failure_);
    Update(u);
  });
}

void SimMember::Update(const training::UpdateAction& update) {
  training::Action after = toy_.Apply(machine_, update, totals_);
  hooks_.on_step(machine_.state().step);
  if (root_ && world_.dice.Once(8)) {
    espalier::cluster::Progress p;
    p.job = order_.job;
    p.generation = order_.generation;
    p.progress.step = machine_.state().step;
    p.progress.phase = "training";
    hooks_.tell(p);
  }
  Go(std::move(after));
}

}  // namespace espalier::sim
