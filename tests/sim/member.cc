#include "tests/sim/member.h"

#include <algorithm>
#include <utility>

#include "src/training/state_codec.h"
#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

constexpr int64_t kFetchRetryUs = 10'000, kFetchLimitUs = 60'000'000;

Status Interrupted() { return Cancelled("a newer order came"); }

}  // namespace

SimMember::SimMember(World& world, SimWorker& worker, ToyJob& toy, Hooks hooks)
    : world_(world), worker_(worker), toy_(toy), hooks_(std::move(hooks)), machine_(toy.plan()) {
  machine_.Begin();
}

void SimMember::Disconnect() {
  world_.peers.Withdraw(point_);
  if (std::exchange(linked_, false)) world_.peers.Close(point_);
  reducer_.reset();
}

void SimMember::Stop() {
  ++run_;
  state_ = State::kIdle;
  Disconnect();
}

void SimMember::After(int64_t us, std::function<void()> f) {
  worker_.After(us, [this, run = run_, f = std::move(f)] {
    if (run == run_ && state_ != State::kIdle) f();
  });
}

void SimMember::End(Status status) {
  state_ = State::kIdle;
  hooks_.on_end(std::move(status), broken_, root_);
}

// ---- a generation begins ---------------------------------------------------------------------

void SimMember::Run(const StartTraining& order, int32_t self) {
  ++run_;
  if (own_.end > 0) {
    own_before_ = own_;
    moved_ = true;
  }
  order_ = order;
  self_ = self;
  Connect();
  Load();
}

void SimMember::Connect() {
  Disconnect();
  std::vector<LeafSpan> intervals;
  for (const LeafInterval& i : order_.leaves) intervals.push_back({i.begin, i.end});
  const TreePlace& place = TreeOf(intervals, toy_.leaves())[static_cast<size_t>(self_)];
  own_ = intervals[static_cast<size_t>(self_)];
  root_ = place.is_root();
  alone_ = intervals.size() == 1;
  broken_ = false;
  failure_ = {};
  point_ = {order_.incarnation, order_.job, order_.generation, static_cast<uint32_t>(self_)};
  reducer_ = std::make_unique<TreeReducer>(
      ReduceIdentity{order_.incarnation, order_.job, order_.generation}, place);
  if (alone_) return;
  std::vector<uint32_t> partners;
  for (const auto& [a, b] : EdgesOf(TreeOf(intervals, toy_.leaves()))) {
    if (a == self_) partners.push_back(static_cast<uint32_t>(b));
    if (b == self_) partners.push_back(static_cast<uint32_t>(a));
  }
  std::vector<SimWorker*> workers;
  for (const Member& m : order_.members) workers.push_back(&world_.AtAddress(m.address));
  linked_ = true;
  world_.peers.Open(worker_, point_, workers, partners, this);
}

void SimMember::Load() {
  state_ = State::kLoading;
  const Range rows = toy_.RowsOf(FileRole::kTrain, own_);
  const bool all_held = std::any_of(held_.begin(), held_.end(), [&](const Range& h) {
    return h.begin <= rows.begin && rows.end <= h.end;
  });
  After(all_held ? 200 : 1000 + world_.dice.Below(200'000), [this] { Loaded(); });
}

void SimMember::Loaded() {
  if (interrupted_) return End(Interrupted());
  held_ = {toy_.RowsOf(FileRole::kTrain, own_)};
  state_ = State::kWaiting;
  hooks_.tell(MemberReady{order_.job, order_.generation, machine_.state().round});
  if (world_.bugs(Bug::kBeginBeforeLevel)) return Train();
  if (proceed_ && proceed_->generation == order_.generation) Level(*proceed_);
}

void SimMember::Proceed(const espalier::Proceed& proceed) {
  proceed_ = proceed;
  if (world_.bugs(Bug::kFetchFromBehind) && proceed.holder != self_) {
    const auto members = static_cast<int32_t>(std::max<size_t>(1, order_.members.size()));
    proceed_->holder = (proceed.holder + 1) % members;
  }
  if (state_ == State::kWaiting && proceed.generation == order_.generation && !interrupted_) {
    After(50, [this] {
      if (state_ == State::kWaiting) Level(*proceed_);
    });
  }
}

// Brings the state to the round that all begin, or lets others fetch it.
void SimMember::Level(const espalier::Proceed& proceed) {
  if (interrupted_) return End(Interrupted());
  const uint64_t round = machine_.state().round;
  const bool lax = world_.bugs(Bug::kFetchFromBehind);
  if (!lax && (round > proceed.round || (proceed.holder == self_ && round != proceed.round))) {
    return End(FailedPrecondition("the coordinator's Proceed names round " +
                                  std::to_string(proceed.round) + ", this worker is at round " +
                                  std::to_string(round)));
  }
  if (round >= proceed.round || lax) OfferState();
  if (round >= proceed.round || (lax && proceed.holder == self_)) return Train();
  if (world_.bugs(Bug::kSkipFetch)) {
    machine_.state().round = proceed.round;
    return Train();
  }
  state_ = State::kFetching;
  FetchState(world_.queue.now_us());
}

void SimMember::OfferState() {
  if (!proceed_->fetched && !world_.bugs(Bug::kFetchFromBehind)) return;
  world_.peers.Offer(point_, std::make_shared<const std::string>(EncodeState(machine_.state())));
}

void SimMember::FetchState(int64_t since_us) {
  const auto holder = static_cast<uint32_t>(proceed_->holder);
  MemberPoint point = point_;
  point.member = holder;
  SimWorker& there = world_.AtAddress(order_.members[holder].address);
  world_.peers.Fetch(worker_, there, point,
                     [this, run = run_, since_us, holder](Result<std::string> bytes) {
                       if (run != run_ || state_ != State::kFetching) return;
                       if (interrupted_) return End(Interrupted());
                       if (bytes.ok()) return TakeState(*bytes);
                       const bool early = bytes.status().code() == StatusCode::kNotFound &&
                                          world_.queue.now_us() - since_us < kFetchLimitUs;
                       if (early)
                         return After(kFetchRetryUs, [this, since_us] {
                           if (interrupted_) return End(Interrupted());
                           FetchState(since_us);
                         });
                       OnBroken(order_.generation, holder, bytes.status());
                       End(bytes.status());
                     });
}

void SimMember::TakeState(const std::string& bytes) {
  auto state = DecodeState<Real>(bytes, machine_.plan());
  if (!state.ok()) return End(state.status());
  if (state->round != proceed_->round && !world_.bugs(Bug::kFetchFromBehind)) {
    return End(FailedPrecondition("the state is of round " + std::to_string(state->round)));
  }
  ForgetWhatABugForgets(*state);
  world_.fired(Fault::kStateFetched);
  machine_ = StepMachine<Real>(machine_.plan(), *std::move(state));
  OfferState();
  Train();
}

void SimMember::ForgetWhatABugForgets(TrainingState<Real>& state) const {
  if (world_.bugs(Bug::kForgetSlots)) {
    for (auto& slot : state.slots) std::fill(slot.begin(), slot.end(), Real{0});
  }
  if (world_.bugs(Bug::kForgetBest)) {
    state.best_parameters.clear();
    state.best_value.reset();
    state.evaluations_without_gain = 0;
  }
}

// ---- interruption and broken links -----------------------------------------------------------

void SimMember::Interrupt() {
  interrupted_ = true;
  if (failure_.ok()) failure_ = Interrupted();
  if (state_ == State::kIdle) return;
  After(20 + world_.dice.Below(500), [this] {
    if (!interrupted_) return;
    if (state_ == State::kTotals) return Settle();
    if (state_ != State::kComputing) End(Interrupted());
  });
}

void SimMember::OnBroken(Generation generation, uint32_t member, Status why) {
  if (generation != order_.generation) return;
  if (!std::exchange(broken_, true)) TellBroken(member, why);
  if (failure_.ok()) failure_ = why.Wrap("a link broke");
  if (world_.bugs(Bug::kDropLinksAtOnce) && std::exchange(linked_, false)) {
    world_.peers.Close(point_);
  }
  if (state_ == State::kTotals)
    After(20, [this] {
      if (state_ == State::kTotals) Settle();
    });
}

void SimMember::TellBroken(uint32_t member, const Status& why) {
  if (interrupted_) return;  // a newer generation: others drop their links of this one
  world_.checks.Complains(worker_, point_, member);
  hooks_.tell(LinkBroken{order_.job, order_.generation, order_.members[member].worker, why});
}

void SimMember::OnMessage(ReduceMessage message) {
  if (!reducer_ || message.job != order_.job || message.generation != order_.generation) return;
  if (message.round > machine_.state().round) {
    world_.fired(Fault::kEarlyRound);
    if (world_.bugs(Bug::kDropEarlyMessages)) return;
  }
  Perform(reducer_->OnMessage(std::move(message)));
  if (state_ == State::kTotals) Settle();
}

void SimMember::Inject(const ReduceMessage& message) {
  if (!reducer_ || reducer_->failed()) return;
  const ReduceActions actions = reducer_->OnMessage(message);
  world_.checks.Ignored(worker_, actions);
}

// ---- rounds ----------------------------------------------------------------------------------

void SimMember::Train() {
  history_told_ = 0;
  state_ = State::kComputing;
  Go(machine_.Resume());
}

void SimMember::TellHistory() {
  const auto& rows = machine_.state().history;
  for (; history_told_ < rows.size() && root_; ++history_told_) {
    hooks_.tell(HistoryEntry{order_.job, order_.generation, rows[history_told_]});
  }
}

void SimMember::Go(Action action) {
  world_.checks.Reached(worker_, point_, toy_, machine_.state());
  TellHistory();
  if (auto* failed = std::get_if<FailAction>(&action)) return End(failed->error);
  if (auto* finish = std::get_if<FinishAction>(&action)) {
    finish_ = std::move(*finish);
    return End(Status::Ok());
  }
  if (interrupted_) return End(Interrupted());
  action_ = std::move(action);
  BeginRound();
}

void SimMember::BeginRound() {
  const RoundShape shape = toy_.ShapeOf(action_);
  totals_.assign(shape.size(), {});
  early_.clear();
  missing_ = shape.size();
  state_ = State::kComputing;
  own_sums_ = toy_.Contribute(action_, machine_.state().parameters, Use());
  if (!alone_) Perform(reducer_->BeginRound(machine_.state().round, shape));
  Compute();
}

// Bucket after bucket, as the pool's threads finish them.
void SimMember::Compute() {
  contributed_ = 0;
  const bool reversed = world_.dice.Once(4);
  int64_t us = 0;
  for (size_t b = 0; b < own_sums_.size(); ++b) {
    us += worker_.ComputeUs();
    After(us, [this, bucket = reversed ? own_sums_.size() - 1 - b : b] { Contribute(bucket); });
  }
}

void SimMember::Contribute(size_t bucket) {
  if (worker_.Boundary()) return;
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
  const LeafSpan before = own_before_;
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

void SimMember::Perform(ReduceActions actions) {
  for (ReduceMessage& m : actions.send) {
    if (worker_.Boundary()) return;
    world_.peers.Send(point_, std::move(m));
  }
  for (BucketTotal& t : actions.totals) {
    totals_[t.bucket] = std::move(t.payload);
    --missing_;
  }
  if (!actions.error.ok() && failure_.ok()) failure_ = actions.error.Wrap("the reduce broke down");
}

// What the trainer's wait comes to: complete totals are committed whatever else happened.
void SimMember::Settle() {
  if (worker_.Boundary()) return;
  if (missing_ == 0) return Commit();
  if (world_.bugs(Bug::kApplyBeforeWholeTotal) && totals_.back().data != nullptr) ApplyEarly();
  if (!failure_.ok()) End(failure_);
}

// As if the step had been applied with what is there of its total.
void SimMember::ApplyEarly() {
  const RoundShape shape = toy_.ShapeOf(action_);
  early_ = totals_;
  for (size_t b = 0; b < early_.size(); ++b) {
    const auto size = static_cast<size_t>(shape[b].floats + 2 * shape[b].doubles);
    if (early_[b].data == nullptr) early_[b] = MakePayload(AlignedVector<Real>(size, Real{0}));
  }
}

void SimMember::Commit() {
  if (!early_.empty()) totals_ = std::exchange(early_, {});
  world_.peers.Withdraw(point_);  // every member has begun
  world_.checks.Counted(worker_, toy_, action_, totals_.back());
  std::vector<double> stats = toy_.Stats(action_, totals_.back());
  if (std::holds_alternative<GradientAction>(action_)) return CommitGradient(stats);
  if (world_.bugs(Bug::kEvaluateOwnRows)) stats = toy_.Stats(action_, own_sums_.back());
  Go(machine_.OnEvaluation(stats));
}

void SimMember::CommitGradient(const std::vector<double>& stats) {
  Action next = machine_.OnGradient(stats);
  const auto* update = std::get_if<UpdateAction>(&next);
  if (update == nullptr) return Go(std::move(next));
  if (world_.bugs(Bug::kInterruptBeforeUpdate)) {
    state_ = State::kLoading;  // a moment in which an interruption counts
    return After(5000, [this, u = *update] {
      if (!failure_.ok()) return End(failure_);
      Action after = toy_.Apply(machine_, u, totals_);
      hooks_.on_step(machine_.state().step);
      Go(std::move(after));
    });
  }
  Action after = toy_.Apply(machine_, *update, totals_);
  hooks_.on_step(machine_.state().step);
  if (root_ && world_.dice.Once(8)) {
    espalier::Progress p;
    p.job = order_.job;
    p.generation = order_.generation;
    p.step = machine_.state().step;
    p.phase = "training";
    hooks_.tell(p);
  }
  Go(std::move(after));
}

}  // namespace espalier::sim
