// The part of one simulated worker in the training of a job: it performs the actions of the shipped
// member core (member/member_core.h) as events, like worker/job_member.h does on threads. The step
// machine, the copies of its state, the reducer, the totals and the commit are those of the worker.
//
// The checks (checks.h) see each event and each action. planted.h performs some actions wrongly, to
// prove that the checks find it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "src/collective/link.h"
#include "src/collective/round_totals.h"
#include "src/collective/tree_reducer.h"
#include "src/member/member_core.h"
#include "src/member/state_copies.h"
#include "tests/sim/peers.h"
#include "tests/sim/planted.h"
#include "tests/sim/rows.h"
#include "tests/sim/toy_job.h"

namespace espalier::sim {

class SimRunner;

class SimMember final : public collective::LinkListener {
 public:
  SimMember(World& world, SimWorker& worker, SimRunner& runner, ToyJob& toy)
      : world_(world), worker_(worker), runner_(runner), toy_(toy) {}

  // Passes in an event of the runner.
  void Post(member::MemberEvent event);
  // Ends the run and drops all its events.
  void Stop();

  const member::MemberCore& core() const { return core_; }
  // Returns the place in the generation whose actions are performed, or null before the first one.
  const member::PlaceRef& place() const { return place_; }
  MemberPoint point() const { return place_ ? PointOf(*place_) : MemberPoint{}; }
  member::StateCopies<Real>& states() { return states_; }
  const training::TrainingState<Real>& state() const { return states_.present(); }
  // Returns the action of the round in flight, or of the newest one.
  const training::Action& action() const { return action_; }
  bool computing() const { return flight_ != 0; }  // a round is in flight
  collective::TreeReducer* reducer() { return reducer_ ? &*reducer_ : nullptr; }

  void OnMessage(collective::ReduceMessage message) override;
  void OnBroken(Generation generation, uint32_t member, Status why) override;

 private:
  friend class Checks;
  friend class PlantedBugs;
  struct Performer;  // one function for each action

  void Do(const member::MemberAction& action);
  // Runs `f` after `us`, unless Stop was called, or another round is in flight.
  void After(int64_t us, std::function<void()> f);
  void InFlight(int64_t us, std::function<void()> f);
  void Reach(training::Action action);
  void Contribute(bool stamped);
  void Reduce(collective::ReduceActions actions);
  void EndRound();

  World& world_;
  SimWorker& worker_;
  SimRunner& runner_;
  ToyJob& toy_;
  PlantedBugs bugs_{*this};
  member::MemberCore core_{toy_.member_options()};
  member::StateCopies<Real> states_{toy_.plan()};
  SimRows rows_{world_, worker_};
  std::deque<member::MemberAction> todo_;
  bool performing_ = false;
  uint64_t life_ = 0, staging_ = 0;  // staging_: number of the newest StageRows; 0: stopped

  member::PlaceRef place_;
  MemberPoint aside_;  // previous generation, whose links are open until all switch
  std::optional<collective::TreeReducer> reducer_;
  collective::RoundTotals arriving_;

  // The present round.
  training::Action action_;
  Contribution own_sums_;
  std::vector<collective::Payload> totals_;
  member::TotalsCame came_;            // of the newest round with totals
  uint64_t flight_ = 0, flights_ = 0;  // number of the round in flight; 0: none
  int64_t compute_us_ = 0;
};

}  // namespace espalier::sim
