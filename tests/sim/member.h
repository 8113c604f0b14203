// The part of one simulated worker in the training of a job. It performs as events what
// worker/job_member.cc and worker/trainer.cc do on threads. The step machine, the reducer and the
// sums are real.
//
// An interruption takes effect between rounds or while the member waits, but never between the
// total and the update. The member commits complete totals.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/cluster/messages.h"
#include "src/collective/link.h"
#include "src/collective/tree_reducer.h"
#include "src/training/step_machine.h"
#include "tests/sim/held_leaves.h"
#include "tests/sim/peers.h"
#include "tests/sim/toy_job.h"

namespace espalier::sim {

class SimWorker;
class World;

// Steps between two comparisons of the members' states.
inline constexpr int64_t kAgreementSteps = 4;

// An order to take part in a generation as order.members[self].
struct MemberOrder {
  cluster::StartTraining order;
  int32_t self = 0;
};

class SimMember final : public collective::LinkListener {
 public:
  // The end of a run. With an OK status, the job is trained or continues without this member.
  struct End {
    Status status;
    bool broken = false;   // a link broke or states differed; the next generation recovers
    bool left = false;     // the job continues without this member
    bool joining = false;  // the member had not begun yet
    bool root = false;
    Generation generation;  // generation in which the run ended
    MemberOrder order;      // order of that generation
  };
  struct Hooks {
    std::function<void(cluster::FromWorker)> tell;
    std::function<void(int64_t step)> on_step;
    // Called at the future root before it is ready.
    std::function<void(const MemberOrder&)> reserve_output;
    // Called at the root with the state that all members had before a step.
    std::function<void(int64_t step, const std::string& bytes)> on_agreed;
    std::function<void(const End&)> on_end;
  };
  SimMember(World& world, SimWorker& worker, ToyJob& toy, Hooks hooks);

  void Run(const MemberOrder& order);
  void Interrupt();
  void Rearm() { interrupted_ = false; }
  void Proceed(const espalier::cluster::Proceed& proceed);
  // Loads the rows of the generation that follows the running one. Reports MemberReady.
  void Prepare(const MemberOrder& order);
  // Ends the present generation. Call it at the root.
  void SwitchTo(Generation next);
  // Ends the run and drops all its events.
  void Stop();
  // Sets the state to begin with instead of a new model. Call it before the first run.
  void GoOnFrom(training::TrainingState<Real> state);

  const training::StepMachine<Real>& machine() const { return machine_; }
  const std::string& agreed() const { return agreed_; }
  bool differs() const { return differs_; }  // states differed in the last run
  ToyJob& toy() { return toy_; }
  const MemberPoint& point() const { return point_; }
  plan::LeafSpan own() const { return own_; }
  int64_t members() const { return static_cast<int64_t>(order_.members.size()); }
  bool running() const { return state_ != State::kIdle; }
  bool recovering() const { return state_ == State::kLoading || state_ == State::kWaiting; }
  bool joining() const { return joining_ && running(); }
  bool fetching() const { return state_ == State::kFetching; }
  bool preparing() const { return preparing_; }
  bool stamped() const { return stamped_; }  // at the root: the current round is the last one
  const training::FinishAction& finish() const { return *finish_; }
  // Injects a stale message as if it came on a link.
  void Inject(const collective::ReduceMessage& message);
  // Flips one bit of a parameter, like faulty memory. Returns false if it cannot at this moment.
  bool FlipBit();

  void OnMessage(collective::ReduceMessage message) override;
  void OnBroken(Generation generation, uint32_t member, Status why) override;

 private:
  enum class State : uint8_t { kIdle, kLoading, kWaiting, kFetching, kComputing, kTotals };

  // member.cc: the begin and the end of a generation.
  void Place(const MemberOrder& order);
  bool IsRoot(const MemberOrder& order) const;
  void Connect();
  void Disconnect();
  void Load();
  void Loaded();
  void TellBroken(uint32_t member, const Status& why);
  void Finish(Status status, bool left = false);
  // Runs `f` after `us`, unless this run has ended by then.
  void After(int64_t us, std::function<void()> f);

  // member_state.cc: how all members get the same state.
  void Level(const espalier::cluster::Proceed& proceed);
  void OfferState();
  void FetchState(uint32_t holder, int64_t since_us);
  void Fetched(uint32_t holder, int64_t since_us, const Result<std::string>& bytes);
  void TakeState(const std::string& bytes);
  void ForgetWhatABugForgets(training::TrainingState<Real>& state) const;
  // Returns false if the members' states differ.
  bool Agree(const training::GradientAction& step);
  void GoBack();

  // member_planned.cc: generations that begin by plan, and the pace of members.
  void Prepared(const MemberOrder& order);
  void StopPreparing();
  void EndGeneration(Generation next);
  void SwitchInto(const MemberOrder& next);
  void CloseBefore();
  void HearPace();
  void TellPace();

  // member_rounds.cc: the rounds of a generation.
  void Train();
  void Go(training::Action action);
  void BeginRound();
  void SayOwnWords();
  void Compute();
  void Contribute(size_t bucket);
  LeafUse Use() const;
  void Perform(collective::ReduceActions actions);
  void Settle();
  void ApplyEarly();
  void Commit();
  void CommitGradient(const std::vector<double>& stats);
  void Update(const training::UpdateAction& update);
  void TellHistory();

  World& world_;
  SimWorker& worker_;
  ToyJob& toy_;
  const Hooks hooks_;
  training::StepMachine<Real> machine_;
  HeldLeaves rows_;
  bool differs_ = false;
  std::string compared_, agreed_;  // agreed_: newest state that all members had, or empty
  std::string stale_;              // older state, which a bug offers

  // The present generation.
  State state_ = State::kIdle;
  uint64_t run_ = 0;  // number of runs
  cluster::StartTraining order_;
  int32_t self_ = 0;
  MemberPoint point_;
  plan::LeafSpan own_, own_before_;
  bool moved_ = false;  // own_before_ is of an earlier generation
  bool root_ = false, alone_ = false, broken_ = false, interrupted_ = false;
  bool trained_ = false;   // has begun a round
  bool joining_ = false;   // joins by plan and has not begun yet
  bool diverged_ = false;  // the members' states differed
  bool linked_ = false;
  std::optional<MemberPoint> before_;  // previous generation, whose links are open until all switch
  std::unique_ptr<collective::TreeReducer> reducer_;
  std::optional<espalier::cluster::Proceed> proceed_;
  size_t history_told_ = 0;

  // Planned changes.
  uint64_t preparation_ = 0;  // number of preparations; older ones stop
  bool preparing_ = false;
  std::optional<MemberOrder> prepared_;
  Generation running_, switch_to_, next_;  // next_: from the root's stamp
  bool stamped_ = false;
  double leaf_ms_ = 0;
  std::vector<double> pace_sum_;
  int64_t pace_steps_ = 0, pace_told_us_ = -1'000'000'000, compute_us_ = 0;

  // The present round.
  training::Action action_;
  Contribution own_sums_;
  std::vector<collective::Payload> totals_, early_;  // early_: applied by a bug
  size_t missing_ = 0, contributed_ = 0;
  Status failure_;
  std::optional<training::FinishAction> finish_;
};

}  // namespace espalier::sim
