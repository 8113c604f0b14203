#include "tests/sim/member.h"

#include <algorithm>
#include <utility>

#include "src/base/checksum.h"
#include "src/training/state_codec.h"
#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

constexpr int64_t kPaceSteps = 4;

member::MemberCoreOptions OptionsOf(const ToyJob& toy) {
  member::MemberCoreOptions options;
  options.leaves = toy.leaves();
  options.agreement_steps = kAgreementSteps;
  options.pace_steps = kPaceSteps;
  options.plan_tree = SharedTree;
  return options;
}

int64_t ChecksumOf(const training::TrainingState<Real>& state) {
  const size_t bytes = state.parameters.size() * sizeof(Real);
  uint32_t crc = Crc32c(state.parameters.data(), bytes);
  for (const auto& slot : state.slots) crc = Crc32c(slot.data(), bytes, crc);
  for (const auto* more : {&state.accumulated, &state.averaged}) {
    crc = Crc32c(more->data(), more->size() * sizeof(Real), crc);
  }
  return int64_t{crc} + 1;
}

}  // namespace

SimMember::SimMember(World& world, SimWorker& worker, ToyJob& toy, Hooks hooks)
    : world_(world),
      worker_(worker),
      toy_(toy),
      hooks_(std::move(hooks)),
      core_(OptionsOf(toy)),
      machine_(toy.plan()) {
  machine_.Begin();
}

void SimMember::Post(member::MemberEvent event) {
  Distort(event);
  for (auto& action : core_.Step(std::move(event), world_.queue.now_us())) {
    todo_.push_back(std::move(action));
  }
  if (std::exchange(performing_, true)) return;
  while (!todo_.empty() && !worker_.Boundary()) {
    const member::MemberAction action = std::move(todo_.front());
    todo_.pop_front();
    if (PerformWrongly(action)) continue;
    std::visit([this](const auto& a) { Perform(a); }, action);
  }
  performing_ = false;
}

void SimMember::Stop() {
  ++life_;
  ++staging_;
  flight_ = 0;
  todo_.clear();
  Perform(member::CloseLinks{});
}

void SimMember::After(int64_t us, std::function<void()> f) {
  worker_.After(us, [this, life = life_, f = std::move(f)] {
    if (life == life_) f();
  });
}

bool SimMember::recovering() const {
  return core_.phase() == Phase::kFinding || core_.phase() == Phase::kCovering ||
         core_.phase() == Phase::kReady;
}

// ---- links -----------------------------------------------------------------------------------

void SimMember::StandAt(const member::Place& place) {
  if (place.at() == cluster::JobPoint{point_.job, point_.generation}) return;
  moved_ = own_.end > 0;
  own_before_ = std::exchange(own_, place.own);
  std::vector<WorkerId>& workers = workers_of_[place.at().generation];
  for (const cluster::Member& m : place.start().members) workers.push_back(m.worker);
  point_ = {place.start().incarnation, place.at().job, place.at().generation,
            static_cast<uint32_t>(place.self())};
}

void SimMember::Perform(const member::CloseLinks&) {
  world_.peers.Withdraw(point_);
  Perform(member::CloseLinksAside{});
  if (std::exchange(linked_, false)) world_.peers.Close(point_);
  reducer_.reset();
}

void SimMember::Perform(const member::OpenLinks& action) {
  const member::Place& place = *action.place;
  StandAt(place);
  failure_ = {};
  reducer_ = std::make_unique<collective::TreeReducer>(
      collective::ReduceIdentity{point_.incarnation, point_.job, point_.generation},
      place.tree()[static_cast<size_t>(place.self())]);
  if (place.alone()) return;
  std::vector<uint32_t> partners;
  for (const auto& [a, b] : plan::EdgesOf(place.tree())) {
    if (a == place.self()) partners.push_back(static_cast<uint32_t>(b));
    if (b == place.self()) partners.push_back(static_cast<uint32_t>(a));
  }
  std::vector<SimWorker*> workers;
  for (const cluster::Member& m : place.start().members) {
    workers.push_back(&world_.AtAddress(m.address));
  }
  linked_ = true;
  world_.peers.Open(worker_, point_, workers, partners, this);
}

void SimMember::Perform(const member::SetLinksAside&) {
  Perform(member::CloseLinksAside{});
  if (std::exchange(linked_, false)) before_ = point_;
}

void SimMember::Perform(const member::CloseLinksAside&) {
  if (const auto point = std::exchange(before_, std::nullopt)) world_.peers.Close(*point);
}

void SimMember::OnBroken(Generation generation, uint32_t member, Status why) {
  if (generation == point_.generation && failure_.ok()) failure_ = why.Wrap("a link broke");
  if (world_.bugs(Bug::kDropLinksAtOnce) && std::exchange(linked_, false)) {
    world_.peers.Close(point_);
  }
  Post(member::LinkBroke{generation, static_cast<int32_t>(member), std::move(why)});
}

void SimMember::OnMessage(collective::ReduceMessage message) {
  if (!reducer_ || message.job != point_.job || message.generation != point_.generation) return;
  if (message.round > machine_.state().round) {
    world_.fired(Fault::kEarlyRound);
    if (world_.bugs(Bug::kDropEarlyMessages)) return;
  }
  Reduce(reducer_->OnMessage(std::move(message)));
}

void SimMember::Inject(const collective::ReduceMessage& message) {
  if (!reducer_ || reducer_->failed()) return;
  const collective::ReduceActions actions = reducer_->OnMessage(message);
  world_.checks.Ignored(worker_, actions);
}

// ---- rows and states -------------------------------------------------------------------------

void SimMember::Perform(const member::CoverRows& action) {
  StandAt(*action.place);
  const int64_t us = rows_.Holds(own_) ? 200 : 1000 + world_.dice.Below(200'000);
  After(us * worker_.disk().slow, [this, place = action.place] {
    if (place->start().planned && world_.Strikes(Fault::kPreparationFails)) {
      return Post(member::RowsCovered{Unavailable("its rows cannot be read")});
    }
    // The rows of a first generation fit in memory. A joiner's rows may have to be spilled.
    if (place->start().planned) {
      if (const Status room = worker_.Room(); !room.ok()) return Post(member::RowsCovered{room});
    }
    rows_.Cover(place->own);
    if (place->root()) hooks_.reserve_output(place->order);
    Post(member::RowsCovered{{}, machine_.state().round});
  });
}

void SimMember::Perform(const member::StageRows& action) {
  const int64_t us = 1000 + world_.dice.Below(200'000);
  After(us * worker_.disk().slow, [this, action, staging = ++staging_] {
    if (staging != staging_) return;
    if (const Status room = worker_.Room(); !room.ok()) {
      return Post(member::RowsStaged{action.number, room});
    }
    if (world_.Strikes(Fault::kPreparationFails)) {
      return Post(member::RowsStaged{action.number, Unavailable("its rows cannot be read")});
    }
    if (!world_.bugs(Bug::kSwitchWithoutRows)) rows_.Stage(action.place->own);
    if (action.place->root()) hooks_.reserve_output(action.place->order);
    Post(member::RowsStaged{action.number, {}});
  });
}

void SimMember::Perform(const member::AdoptRows& action) {
  world_.checks.Switches(worker_, point_, action.place->at().generation);
  rows_.Adopt(action.place->own);
  const std::vector<WorkerId>& before = workers_of_[point_.generation];
  const auto& members = action.place->start().members;
  const bool joined = std::any_of(members.begin(), members.end(), [&](const cluster::Member& m) {
    return std::find(before.begin(), before.end(), m.worker) == before.end();
  });
  world_.fired(joined                           ? Fault::kGrew
               : before.size() > members.size() ? Fault::kShrank
                                                : Fault::kLeavesMoved);
}

void SimMember::Perform(const member::FindState& action) {
  hooks_.find_state(action.place->start());
  Post(member::StateFound{});
}

void SimMember::GoOnFrom(training::TrainingState<Real> state) {
  agreed_ = training::EncodeState(state);
  machine_ = training::StepMachine<Real>(machine_.plan(), std::move(state));
}

void SimMember::Perform(const member::Revert&) {
  machine_ = training::StepMachine<Real>(machine_.plan());
  machine_.Begin();
  if (!agreed_.empty()) {
    machine_ = training::StepMachine<Real>(machine_.plan(),
                                           *training::DecodeState<Real>(agreed_, machine_.plan()));
  }
  world_.checks.Restored(worker_, toy_, point_, machine_.state());
}

void SimMember::Perform(const member::FetchState& action) {
  After(action.delay_us, [this, action] {
    MemberPoint point = point_;
    point.member = static_cast<uint32_t>(action.holder);
    const cluster::Member& holder = action.place->start().members[point.member];
    world_.peers.Fetch(worker_, world_.AtAddress(holder.address), point,
                       [this, life = life_](const Result<std::string>& bytes) {
                         if (life == life_) TakeState(bytes);
                       });
  });
}

void SimMember::TakeState(const Result<std::string>& bytes) {
  if (!bytes.ok()) return Post(member::StateFetched{bytes.status()});
  auto state = training::DecodeState<Real>(*bytes, machine_.plan());
  if (!state.ok()) return Post(member::StateFetched{{}, state.status()});
  Forget(*state);
  world_.fired(core_.joining() ? Fault::kJoined : Fault::kStateFetched);
  machine_ = training::StepMachine<Real>(machine_.plan(), *std::move(state));
  Post(member::StateFetched{{}, {}, machine_.state().round});
}

void SimMember::Perform(const member::OfferState&) {
  world_.peers.Offer(point_,
                     std::make_shared<const std::string>(training::EncodeState(machine_.state())));
}

void SimMember::Perform(const member::WithdrawState&) { world_.peers.Withdraw(point_); }

void SimMember::Perform(const member::AgreeOnPresent&) {
  agreed_ = training::EncodeState(machine_.state());
}

void SimMember::Perform(const member::HoldCompared&) {
  compared_ = training::EncodeState(machine_.state());
}

bool SimMember::FlipBit() {
  if (flight_ == 0) return false;
  auto& parameters = machine_.state().parameters;
  auto* bytes = reinterpret_cast<uint8_t*>(parameters.data());
  // A high bit of the mantissa. A flipped exponent gives infinite numbers, which other checks find.
  // The effect of a low bit can disappear by rounding before the next comparison.
  const auto at = static_cast<size_t>(world_.dice.Below(static_cast<int64_t>(parameters.size())));
  bytes[at * sizeof(Real) + 2] ^= static_cast<uint8_t>(1 << world_.dice.Below(7));
  return true;
}

// ---- rounds ----------------------------------------------------------------------------------

void SimMember::Perform(const member::NextRound&) {
  history_before_ = machine_.state().history.size();
  Reach(machine_.Resume());
}

void SimMember::Reach(training::Action action) {
  world_.checks.Reached(worker_, point_, toy_, machine_.state());
  action_ = std::move(action);
  member::RoundReached reached;
  reached.round = machine_.state().round;
  reached.step = machine_.state().step;
  reached.evaluations = machine_.state().history.size();
  using Kind = member::RoundReached::Kind;
  if (std::holds_alternative<training::EvaluateAction>(action_)) reached.kind = Kind::kEvaluation;
  if (std::holds_alternative<training::FinishAction>(action_)) reached.kind = Kind::kFinish;
  if (const auto* failed = std::get_if<training::FailAction>(&action_)) {
    reached.kind = Kind::kFail;
    reached.error = failed->error;
  }
  Post(std::move(reached));
}

void SimMember::Perform(const member::ReportHistory& action) {
  const auto& rows = machine_.state().history;
  for (size_t i = action.first; i < rows.size(); ++i) {
    hooks_.report(
        cluster::HistoryEntry{point_.job, point_.generation, rows[i], static_cast<int64_t>(i)});
  }
}

void SimMember::Perform(const member::RunRound& action) {
  const collective::RoundShape shape = toy_.ShapeOf(action_);
  flight_ = ++flights_;
  stamped_ = false;
  totals_.assign(shape.size(), {});
  early_.clear();
  missing_ = shape.size();
  if (!rows_.Holds(own_)) world_.checks.Fail("a member begins a round without its rows");
  own_sums_ = toy_.Contribute(action_, WeightsFor(machine_, action_), Use());
  if (linked_) Reduce(reducer_->BeginRound(machine_.state().round, shape));
  if (flight_ == 0) return;
  compute_us_ = std::max<int64_t>(1, worker_.ComputeUs() * (own_.end - own_.begin) / toy_.leaves());
  if (!std::holds_alternative<training::GradientAction>(action_)) return Contribute();
  member::LeavesDone done;
  if (action.checksum) done.state_checksum = ChecksumOf(machine_.state());
  done.checkpoint_due = core_.place()->root() && hooks_.checkpoint_due(machine_.state().step);
  After(compute_us_, [this, done, flight = flight_] {
    if (flight == flight_) Post(done);
  });
}

void SimMember::Perform(const member::SendSums& action) {
  if (flight_ == 0) return;
  stamped_ = action.root && action.root->next;
  toy_.Say(action_, action, core_.place()->self(), own_sums_);
  Contribute();
}

// Schedules one bucket after another, as the threads of the pool finish them.
void SimMember::Contribute() {
  const bool reversed = world_.dice.Once(4);
  const int64_t part_us = compute_us_;
  int64_t us = 0;
  for (size_t i = 0; i < own_sums_.size(); ++i) {
    const size_t bucket = reversed ? own_sums_.size() - 1 - i : i;
    us += part_us;
    After(us, [this, bucket, flight = flight_] {
      if (flight != flight_ || worker_.Boundary()) return;
      if (stamped_ && world_.Strikes(Fault::kRootLostAtSwitch)) return worker_.Crash(true);
      if (linked_) return Reduce(reducer_->OnOwn(static_cast<uint32_t>(bucket), own_sums_[bucket]));
      Reduce({{}, {{static_cast<uint32_t>(bucket), own_sums_[bucket]}}, {}});
    });
  }
  compute_us_ += us;
}

void SimMember::Reduce(collective::ReduceActions actions) {
  for (collective::ReduceMessage& m : actions.send) {
    if (worker_.Boundary()) return;
    world_.peers.Send(point_, std::move(m));
  }
  if (!actions.error.ok() && failure_.ok()) failure_ = actions.error.Wrap("the reduce broke down");
  if (flight_ == 0) return;
  for (collective::BucketTotal& t : actions.totals) {
    totals_[t.bucket] = std::move(t.payload);
    --missing_;
  }
  TakeEarly();
  if (missing_ == 0 || !failure_.ok()) {
    After(0, [this, flight = flight_] {
      if (flight == flight_) EndRound();
    });
  }
}

// Ends the wait for the totals. Complete totals count even after a failure.
void SimMember::EndRound() {
  if (worker_.Boundary()) return;
  flight_ = 0;
  if (missing_ > 0) return Post(member::Failed{failure_});
  if (!early_.empty()) totals_ = std::exchange(early_, {});
  world_.checks.Counted(worker_, toy_, action_, totals_.back());
  member::TotalsCame came;
  if (std::holds_alternative<training::GradientAction>(action_)) {
    came.signals = toy_.Heard(action_, totals_.back(), members());
    came.leaf_ms =
        static_cast<double>(compute_us_) / 1000 / static_cast<double>(own_.end - own_.begin);
  }
  signals_ = came.signals;
  Post(std::move(came));
}

void SimMember::Perform(const member::AbortRound& action) {
  if (failure_.ok()) failure_ = action.why;
  After(20 + world_.dice.Below(500), [this, flight = flight_] {
    if (flight == flight_ && flight_ != 0) EndRound();
  });
}

void SimMember::Perform(const member::Commit&) {
  if (CommitWrongly()) return;
  const std::vector<double> stats = toy_.Stats(action_, totals_.back());
  if (!std::holds_alternative<training::GradientAction>(action_)) {
    return Reach(machine_.OnEvaluation(stats));
  }
  training::Action next = machine_.OnGradient(stats);
  if (const auto* update = std::get_if<training::UpdateAction>(&next)) return Update(*update);
  Reach(std::move(next));
}

void SimMember::Update(const training::UpdateAction& update) {
  training::Action after = toy_.Apply(machine_, update, totals_);
  hooks_.on_step(machine_.state().step);
  if (core_.place()->root() && world_.dice.Once(8)) {
    cluster::Progress p;
    p.job = point_.job;
    p.generation = point_.generation;
    p.progress.step = machine_.state().step;
    p.progress.phase = "training";
    hooks_.report(p);
  }
  Reach(std::move(after));
}

// ---- reports ---------------------------------------------------------------------------------

void SimMember::Perform(const member::Report& action) {
  if (const auto* broken = std::get_if<cluster::LinkBroken>(&action.message)) {
    const std::vector<WorkerId>& workers = workers_of_[broken->generation];
    const auto other = std::find(workers.begin(), workers.end(), broken->other) - workers.begin();
    world_.checks.Complains(worker_, point_, static_cast<uint32_t>(other));
  }
  if (std::holds_alternative<cluster::StatesDiffer>(action.message)) {
    world_.fired(Fault::kDivergence);
  }
  hooks_.report(action.message);
}

void SimMember::Perform(const member::EndRun& action) {
  if (action.left) {
    world_.checks.Leaves(worker_, point_, signals_->root.next);
    world_.fired(Fault::kLeft);
  }
  hooks_.on_end(action);
}

}  // namespace espalier::sim
