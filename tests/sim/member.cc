#include "tests/sim/member.h"

#include <utility>

#include "src/training/state_codec.h"
#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

Status Interrupted() { return Cancelled("a newer order came"); }

}  // namespace

SimMember::SimMember(World& world, SimWorker& worker, ToyJob& toy, Hooks hooks)
    : world_(world), worker_(worker), toy_(toy), hooks_(std::move(hooks)), machine_(toy.plan()) {
  machine_.Begin();
}

void SimMember::GoOnFrom(training::TrainingState<Real> state) {
  agreed_ = training::EncodeState(state);
  machine_ = training::StepMachine<Real>(machine_.plan(), std::move(state));
}

void SimMember::Disconnect() {
  world_.peers.Withdraw(point_);
  CloseBefore();
  if (std::exchange(linked_, false)) world_.peers.Close(point_);
  reducer_.reset();
}

void SimMember::Stop() {
  ++run_;
  StopPreparing();
  state_ = State::kIdle;
  Disconnect();
}

void SimMember::After(int64_t us, std::function<void()> f) {
  worker_.After(us, [this, run = run_, f = std::move(f)] {
    if (run == run_ && state_ != State::kIdle) f();
  });
}

void SimMember::Finish(Status status, bool left) {
  StopPreparing();
  state_ = State::kIdle;
  const bool broken = broken_ || std::exchange(diverged_, false);
  hooks_.on_end({std::move(status), broken, left, joining_, root_, order_.generation,
                 MemberOrder{order_, self_}});
}

// ---- a generation begins ---------------------------------------------------------------------

void SimMember::Run(const MemberOrder& order) {
  ++run_;
  StopPreparing();
  Disconnect();
  if (order.order.reverts && trained_ && !world_.bugs(Bug::kDoNotGoBack)) GoBack();
  differs_ = false;
  Place(order);
  joining_ = order.order.planned && !world_.bugs(Bug::kJoinAsIfAtFirst);
  if (!joining_) Connect();
  Load();
}

void SimMember::Place(const MemberOrder& order) {
  if (own_.end > 0) {
    own_before_ = own_;
    moved_ = true;
  }
  order_ = order.order;
  self_ = order.self;
  const cluster::LeafInterval& own = order_.leaves[static_cast<size_t>(self_)];
  own_ = {own.begin, own.end};
  root_ = IsRoot(order);
  alone_ = order_.leaves.size() == 1;
  broken_ = false;
  failure_ = {};
  next_ = {};
  stamped_ = false;
  pace_sum_.assign(order_.leaves.size(), 0);
  pace_steps_ = 0;
  point_ = {order_.incarnation, order_.job, order_.generation, static_cast<uint32_t>(self_)};
}

bool SimMember::IsRoot(const MemberOrder& order) const {
  std::vector<plan::LeafSpan> intervals;
  for (const cluster::LeafInterval& i : order.order.leaves) intervals.push_back({i.begin, i.end});
  return TreeOf(intervals, toy_.leaves())[static_cast<size_t>(order.self)].is_root();
}

void SimMember::Connect() {
  std::vector<plan::LeafSpan> intervals;
  for (const cluster::LeafInterval& i : order_.leaves) intervals.push_back({i.begin, i.end});
  reducer_ = std::make_unique<collective::TreeReducer>(
      collective::ReduceIdentity{order_.incarnation, order_.job, order_.generation},
      TreeOf(intervals, toy_.leaves())[static_cast<size_t>(self_)]);
  if (alone_) return;
  std::vector<uint32_t> partners;
  for (const auto& [a, b] : plan::EdgesOf(TreeOf(intervals, toy_.leaves()))) {
    if (a == self_) partners.push_back(static_cast<uint32_t>(b));
    if (b == self_) partners.push_back(static_cast<uint32_t>(a));
  }
  std::vector<SimWorker*> workers;
  for (const cluster::Member& m : order_.members) workers.push_back(&world_.AtAddress(m.address));
  linked_ = true;
  world_.peers.Open(worker_, point_, workers, partners, this);
}

void SimMember::Load() {
  state_ = State::kLoading;
  After(rows_.Holds(own_) ? 200 : 1000 + world_.dice.Below(200'000), [this] { Loaded(); });
}

void SimMember::Loaded() {
  if (interrupted_) return Finish(Interrupted());
  if (joining_ && world_.Strikes(Fault::kPreparationFails)) {
    return Finish(Unavailable("its rows cannot be read"));
  }
  rows_.Cover(own_);
  if (root_) hooks_.reserve_output({order_, self_});
  hooks_.tell(cluster::MemberReady{order_.job, order_.generation, machine_.state().round});
  if (order_.planned && !joining_) return Train();  // only with Bug::kJoinAsIfAtFirst
  if (joining_) {
    state_ = State::kFetching;
    return FetchState(static_cast<uint32_t>(order_.holder), world_.queue.now_us());
  }
  state_ = State::kWaiting;
  if (world_.bugs(Bug::kBeginBeforeLevel)) return Train();
  if (proceed_ && proceed_->generation == order_.generation) Level(*proceed_);
}

void SimMember::Proceed(const espalier::cluster::Proceed& proceed) {
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

// ---- interruption and broken links -----------------------------------------------------------

void SimMember::Interrupt() {
  interrupted_ = true;
  if (failure_.ok()) failure_ = Interrupted();
  if (state_ == State::kIdle) return;
  After(20 + world_.dice.Below(500), [this] {
    if (!interrupted_) return;
    if (state_ == State::kTotals) return Settle();
    if (state_ != State::kComputing) Finish(Interrupted());
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
  if (interrupted_) return;  // for a newer generation, others close their links of this one
  world_.checks.Complains(worker_, point_, member);
  hooks_.tell(
      cluster::LinkBroken{order_.job, order_.generation, order_.members[member].worker, why});
}

void SimMember::OnMessage(collective::ReduceMessage message) {
  if (!reducer_ || message.job != order_.job || message.generation != order_.generation) return;
  if (message.round > machine_.state().round) {
    world_.fired(Fault::kEarlyRound);
    if (world_.bugs(Bug::kDropEarlyMessages)) return;
  }
  Perform(reducer_->OnMessage(std::move(message)));
  if (state_ == State::kTotals) Settle();
}

void SimMember::Inject(const collective::ReduceMessage& message) {
  if (!reducer_ || reducer_->failed()) return;
  const collective::ReduceActions actions = reducer_->OnMessage(message);
  world_.checks.Ignored(worker_, actions);
}

}  // namespace espalier::sim
