// The part of one simulated worker in the training of a job: it performs the actions of the shipped
// member core (member/member_core.h) as events, like worker/job_member.h does on threads. The step
// machine, the reducer and the sums are real. planted.cc performs some actions wrongly, to prove
// that the checks find it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/cluster/messages.h"
#include "src/collective/link.h"
#include "src/collective/tree_reducer.h"
#include "src/member/member_core.h"
#include "src/training/step_machine.h"
#include "tests/sim/held_leaves.h"
#include "tests/sim/peers.h"
#include "tests/sim/toy_job.h"

namespace espalier::sim {

class SimWorker;
class World;

// Steps between two comparisons of the members' states.
inline constexpr int64_t kAgreementSteps = 4;

class SimMember final : public collective::LinkListener {
 public:
  struct Hooks {
    std::function<void(cluster::FromWorker)> report;
    std::function<void(int64_t step)> on_step;
    // Called in a generation that all members begin together. It may call GoOnFrom.
    std::function<void(const cluster::StartTraining&)> find_state;
    // Called at the future root before it is ready.
    std::function<void(const member::TrainingOrder&)> reserve_output;
    // Called at the root: whether to write the state after `step` steps soon, and the state that
    // all members had then.
    std::function<bool(int64_t step)> checkpoint_due;
    std::function<void(const std::string& bytes)> on_agreed;
    std::function<void(const member::EndRun&)> on_end;
  };
  SimMember(World& world, SimWorker& worker, ToyJob& toy, Hooks hooks);

  // Passes in an event of the runner.
  void Post(member::MemberEvent event);
  // Ends the run and drops all its events.
  void Stop();
  // Sets the state to begin with instead of a new model. Call it within find_state.
  void GoOnFrom(training::TrainingState<Real> state);

  const training::StepMachine<Real>& machine() const { return machine_; }
  const std::string& agreed() const { return agreed_; }
  bool differs() const { return core_.differs(); }
  const MemberPoint& point() const { return point_; }
  plan::LeafSpan own() const { return own_; }
  int64_t members() const { return core_.place() ? core_.place()->members() : 0; }
  bool running() const { return core_.phase() != Phase::kIdle; }
  bool recovering() const;
  bool joining() const { return core_.joining(); }
  bool fetching() const { return core_.phase() == Phase::kFetching; }
  bool preparing() const { return core_.staging(); }
  const training::FinishAction& finish() const { return std::get<training::FinishAction>(action_); }
  // Injects a stale message as if it came on a link.
  void Inject(const collective::ReduceMessage& message);
  // Flips one bit of a parameter, like faulty memory. Returns false if it cannot at this moment.
  bool FlipBit();

  void OnMessage(collective::ReduceMessage message) override;
  void OnBroken(Generation generation, uint32_t member, Status why) override;

 private:
  using Phase = member::MemberCore::Phase;

  void Perform(const member::CloseLinks&);
  void Perform(const member::OpenLinks& action);
  void Perform(const member::SetLinksAside&);
  void Perform(const member::CloseLinksAside&);
  void Perform(const member::FindState& action);
  void Perform(const member::Revert&);
  void Perform(const member::CoverRows& action);
  void Perform(const member::StageRows& action);
  void Perform(const member::StopStaging&) { ++staging_; }
  void Perform(const member::AdoptRows& action);
  void Perform(const member::FetchState& action);
  void Perform(const member::OfferState&);
  void Perform(const member::WithdrawState&);
  void Perform(const member::AgreeOnPresent&);
  void Perform(const member::HoldCompared&);
  void Perform(const member::AgreeOnCompared&) { agreed_ = compared_; }
  void Perform(const member::OfferCheckpoint&) { hooks_.on_agreed(agreed_); }
  void Perform(const member::ReportHistory& action);
  void Perform(const member::NextRound&);
  void Perform(const member::RunRound& action);
  void Perform(const member::SendSums& action);
  void Perform(const member::AbortRound& action);
  void Perform(const member::Commit&);
  void Perform(const member::RunLoop&) {}  // no simulated job trains asynchronously
  void Perform(const member::EndLoop&) {}
  void Perform(const member::Report& action);
  void Perform(const member::EndRun& action);
  // planted.cc
  void Distort(member::MemberEvent& event);
  bool PerformWrongly(const member::MemberAction& action);
  bool PerformStateWrongly(const member::MemberAction& action);
  bool ReportWrongly(const member::MemberAction& action);
  bool CommitWrongly();
  void TakeEarly();
  void Forget(training::TrainingState<Real>& state) const;
  LeafUse Use() const;

  // Runs `f` after `us`, unless Stop was called.
  void After(int64_t us, std::function<void()> f);
  void StandAt(const member::Place& place);
  void Reach(training::Action action);
  void TakeState(const Result<std::string>& bytes);
  void Contribute();
  void Reduce(collective::ReduceActions actions);
  void EndRound();
  void Update(const training::UpdateAction& update);

  World& world_;
  SimWorker& worker_;
  ToyJob& toy_;
  const Hooks hooks_;
  member::MemberCore core_;
  training::StepMachine<Real> machine_;
  HeldLeaves rows_;
  std::string compared_, agreed_;  // encoded; agreed_: newest state that all members had, or empty
  std::string stale_;              // older state, which a bug offers
  std::deque<member::MemberAction> todo_;
  bool performing_ = false;
  uint64_t life_ = 0, staging_ = 0;

  // The present generation.
  MemberPoint point_;
  plan::LeafSpan own_, own_before_;
  bool moved_ = false;  // own_before_ is of an earlier generation
  bool linked_ = false;
  std::optional<MemberPoint> before_;  // previous generation, whose links are open until all switch
  std::map<Generation, std::vector<WorkerId>> workers_of_;  // members of all generations so far
  std::unique_ptr<collective::TreeReducer> reducer_;
  std::optional<training::StepSignals> signals_;  // of the newest total
  size_t history_before_ = 0;                     // evaluations before this generation

  // The present round.
  training::Action action_;
  Contribution own_sums_;
  std::vector<collective::Payload> totals_, early_;  // early_: applied by a bug
  uint64_t flight_ = 0;                              // number of the round in flight; 0: none
  uint64_t flights_ = 0;
  size_t missing_ = 0;
  bool stamped_ = false;
  Status failure_;  // why the round cannot be completed
  int64_t compute_us_ = 0;
};

}  // namespace espalier::sim
