#include "tests/sim/member.h"

#include <utility>

#include "src/member/round.h"
#include "src/training/state_codec.h"
#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {

void SimMember::Post(member::MemberEvent event) {
  world_.checks.Passes(*this, event);
  bugs_.Distort(event);
  for (auto& action : core_.Step(std::move(event), world_.queue.now_us())) {
    todo_.push_back(std::move(action));
  }
  if (std::exchange(performing_, true)) return;
  while (!todo_.empty() && !worker_.Boundary()) {
    const member::MemberAction action = std::move(todo_.front());
    todo_.pop_front();
    if (!bugs_.PerformWrongly(action)) Do(action);
  }
  performing_ = false;
}

void SimMember::Stop() {
  ++life_;
  flight_ = staging_ = 0;
  todo_.clear();
  Do(member::CloseLinks{});
}

void SimMember::After(int64_t us, std::function<void()> f) {
  worker_.After(us, [this, life = life_, f = std::move(f)] {
    if (life == life_) f();
  });
}

void SimMember::InFlight(int64_t us, std::function<void()> f) {
  After(us, [this, flight = flight_, f = std::move(f)] {
    if (flight == flight_ && computing()) f();
  });
}

void SimMember::OnBroken(Generation generation, uint32_t member, Status why) {
  if (generation == point().generation) arriving_.Fail(why.Wrap("a link broke"));
  if (world_.bugs(Bug::kDropLinksAtOnce)) world_.peers.Close(point());
  Post(member::LinkBroke{generation, static_cast<int32_t>(member), std::move(why)});
}

void SimMember::OnMessage(collective::ReduceMessage message) {
  if (!bugs_.Drops(message)) Reduce(reducer_->OnMessage(std::move(message)));
}

// ---- rounds ----------------------------------------------------------------------------------

void SimMember::Reach(training::Action action) {
  action_ = std::move(action);
  Post(member::ReachedOf(state(), action_));
}

void SimMember::Contribute(bool stamped) {
  for (const auto& [us, bucket] : worker_.BucketTimes(own_sums_.size(), compute_us_)) {
    InFlight(us, [this, bucket = bucket, stamped] {
      if (worker_.Boundary(stamped)) return;
      Reduce(reducer_->OnOwn(bucket, own_sums_[bucket]));
    });
  }
  compute_us_ *= own_sums_.size() + 1;
}

void SimMember::Reduce(collective::ReduceActions actions) {
  for (collective::ReduceMessage& m : actions.send) {
    if (worker_.Boundary()) return;
    world_.peers.Send(point(), std::move(m));
  }
  if (!actions.error.ok()) arriving_.Fail(actions.error.Wrap("the reduce broke down"));
  if (!computing()) return;
  for (collective::BucketTotal& t : actions.totals) arriving_.Take(t.bucket, std::move(t.payload));
  bugs_.TakeEarly();
  if (arriving_.over()) InFlight(0, [this] { EndRound(); });
}

// Ends the wait for the totals.
void SimMember::EndRound() {
  if (worker_.Boundary()) return;
  flight_ = 0;
  auto totals = arriving_.Finish();
  if (!totals.ok()) return Post(member::Failed{totals.status()});
  totals_ = bugs_.Early(*std::move(totals));
  came_ = {toy_.Heard(action_, totals_.back(), place_->members()),
           static_cast<double>(compute_us_) / 1000 / place_->own_leaves()};
  Post(came_);
}

// ---- actions ---------------------------------------------------------------------------------

struct SimMember::Performer {
  SimMember& m;

  void operator()(const member::CloseLinks&) {
    (*this)(member::WithdrawState{});
    (*this)(member::CloseLinksAside{});
    m.world_.peers.Close(m.point());
    m.reducer_.reset();
  }
  void operator()(const member::OpenLinks& action) {
    m.place_ = action.place;
    m.arriving_ = {};
    m.reducer_.emplace(
        collective::ReduceIdentity{m.point().incarnation, m.point().job, m.point().generation},
        m.place_->tree()[static_cast<size_t>(m.place_->self())]);
    if (!m.place_->alone()) m.world_.peers.Open(m.worker_, *m.place_, &m);
  }
  void operator()(const member::SetLinksAside&) {
    (*this)(member::CloseLinksAside{});
    m.aside_ = m.point();
  }
  void operator()(const member::CloseLinksAside&) {
    m.world_.peers.Close(std::exchange(m.aside_, {}));
  }
  void operator()(const member::CoverRows& action) {
    m.place_ = action.place;
    m.After(m.rows_.CoverUs(m.place_->own), [&m = m, place = action.place] {
      m.Post(
          member::RowsCovered{m.runner_.Reserve(m.rows_.Cover(*place), *place), m.state().round});
    });
  }
  void operator()(const member::StageRows& action) {
    m.staging_ = action.number;
    m.After(m.rows_.StageUs(), [&m = m, action] {
      if (m.staging_ != action.number) return;
      m.Post(member::RowsStaged{action.number,
                                m.runner_.Reserve(m.rows_.Stage(*action.place), *action.place)});
    });
  }
  void operator()(const member::StopStaging&) { m.staging_ = 0; }
  void operator()(const member::AdoptRows& action) { m.rows_.Adopt(action.place->own); }
  void operator()(const member::FindState& action) {
    m.runner_.FindState(action.place->start());
    m.Post(member::StateFound{});
  }
  void operator()(const member::FetchState& action) {
    m.After(action.delay_us, [&m = m, action] {
      const auto take = [&m, action, life = m.life_](const Result<std::string>& bytes) {
        if (life == m.life_) m.Post(m.states_.Take(m.bugs_.Distorted(bytes), action.round));
      };
      m.world_.peers.Fetch(m.worker_, *action.place, action.holder, take);
    });
  }
  void operator()(const member::OfferState&) {
    m.world_.peers.Offer(m.point(), training::EncodeState(m.state()));
  }
  void operator()(const member::WithdrawState&) { m.world_.peers.Withdraw(m.point()); }
  void operator()(const member::Revert& action) { m.states_.Perform(action); }
  void operator()(const member::AgreeOnPresent& action) { m.states_.Perform(action); }
  void operator()(const member::HoldCompared& action) { m.states_.Perform(action); }
  void operator()(const member::AgreeOnCompared& action) { m.states_.Perform(action); }
  void operator()(const member::OfferCheckpoint&) { m.runner_.Agreed(*m.states_.agreed()); }
  void operator()(const member::NextRound&) { m.Reach(m.states_.machine().Resume()); }
  void operator()(const member::RunRound& action) {
    const collective::RoundShape shape = m.toy_.ShapeOf(m.action_);
    m.flight_ = ++m.flights_;
    m.arriving_.Begin(shape.size());
    m.own_sums_ =
        m.toy_.Contribute(m.action_, WeightsFor(m.states_.machine(), m.action_), m.bugs_.Use());
    m.Reduce(m.reducer_->BeginRound(m.state().round, shape));
    if (!m.computing()) return;
    m.compute_us_ = m.worker_.ComputeUs(m.place_->own_leaves(), m.toy_.leaves());
    if (!std::holds_alternative<training::GradientAction>(m.action_)) return m.Contribute(false);
    member::LeavesDone done;
    if (action.checksum) done.state_checksum = training::ChecksumOf(m.state());
    done.checkpoint_due = m.place_->root() && m.runner_.CheckpointDue(m.state().step);
    m.InFlight(m.compute_us_, [&m = m, done] { m.Post(done); });
  }
  void operator()(const member::SendSums& action) {
    if (!m.computing()) return;
    m.toy_.Say(m.action_, action, m.place_->self(), m.own_sums_);
    m.Contribute(action.root && action.root->next);
  }
  void operator()(const member::AbortRound& action) {
    m.arriving_.Fail(action.why);
    m.InFlight(20 + m.world_.dice.Below(500), [&m = m] { m.EndRound(); });
  }
  void operator()(const member::Commit&) {
    const std::vector<double> numbers = m.toy_.Stats(m.action_, m.totals_.back());
    const auto update = [&m = m](const training::UpdateAction& action) {
      return m.runner_.Stepped(m.toy_.Apply(m.states_.machine(), action, m.totals_));
    };
    m.Reach(member::CommitRound(m.states_.machine(), m.action_, numbers.data(), update));
  }
  void operator()(const member::RunLoop&) {}  // no simulated job trains asynchronously
  void operator()(const member::EndLoop&) {}
  void operator()(const member::ReportHistory& action) { m.runner_.ReportHistory(action); }
  void operator()(const member::Report& action) { m.runner_.Report(action.message); }
  void operator()(const member::EndRun& action) { m.runner_.Ended(action); }
};

void SimMember::Do(const member::MemberAction& action) {
  std::visit(Performer{*this}, action);
  world_.checks.Performed(*this, action);
}

}  // namespace espalier::sim
